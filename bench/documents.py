"""Reading documents: facts against the tags of real pages, by kind of failure; units; speed and peak memory.

Every filing is read twice: as it is, and as its twin without tags. What is visible and tagged is counted by
lxml alone. A number that two tags of one concept enclose is one number; a tag without text is none.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from abduce.documents.document import Document
from abduce.documents.read import read_document
from abduce.signatures.types import Fact
from lxml import etree

IX = "{http://www.xbrl.org/2013/inlineXBRL}"
XBRLI = "{http://www.xbrl.org/2003/instance}"
EVALUATED = {
    "aapl-10q-2025-06": "F136",
    "nvda-10k-2025-01": "F157",
    "orcl-10q-2024-08": "F133",
    "txg-10k-2024-12": "F018",
    "unp-10k-2024-12": "F164",
}
"""Filings of which some facts are in the evaluation sets."""

RUN = """
import re, sys, time
from abduce.documents.read import read_document
start = time.process_time()
read_document(sys.argv[1])
status = open("/proc/self/status").read()  # of this process alone: ru_maxrss would begin with its parent's
print(time.process_time() - start, re.search(r"VmHWM:\\s+(\\d+)", status)[1])
"""


@dataclass(frozen=True)
class Tag:
    """A visible ``ix:nonFraction``."""

    concept: str
    text: str
    scale: int
    unit: str
    table: bool

    @property
    def printed(self) -> bool:
        """Whether it is a number in digits (not a dash, not a word)."""
        return any(map(str.isdigit, self.text))


def measure(data: Path) -> dict[str, Any]:
    """Precision, recall, units, headers, speed."""
    folder = data / "finance" / "filings"
    counts: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    cost: dict[str, list[float]] = {}
    documents: dict[str, Document] = {}
    for path in sorted(folder.glob("*.htm.gz")):
        name = path.name.removesuffix(".htm.gz")
        page = gzip.decompress(path.read_bytes())
        documents[name] = document = read_document(path)
        _tags(list(_visible(page)), document, counts, wrong)
        _twin(page, document, counts, wrong)
        done = subprocess.run(
            [sys.executable, "-c", RUN, str(path)], capture_output=True, text=True, check=True
        )
        cost[name] = [round(float(x), 2) for x in done.stdout.split()]
    _headers(data, documents, counts)
    return {
        "tagged_in_tables": counts["table there"],
        "tagged_in_tables_read": _share(counts, "table read", "table there"),
        "tagged_in_text": counts["text there"],
        "tagged_in_text_read": _share(counts, "text read", "text there"),
        "scale_right_monetary": _share(counts, "scale USD right", "scale USD"),
        "scale_right_shares": _share(counts, "scale shares right", "scale shares"),
        "scale_right_per_share": _share(counts, "scale USD/shares right", "scale USD/shares"),
        "scale_right_percent": _share(counts, "scale pure right", "scale pure"),
        "unit_right": _share(counts, "unit right", "unit"),
        "untagged_tables_recall": _share(counts, "twin table hit", "twin table there"),
        "untagged_tables_facts_without_tag": counts["twin table extra"],
        "untagged_text_recall": _share(counts, "twin text hit", "twin text there"),
        "untagged_text_facts_without_tag": counts["twin text extra"],
        "facts_without_tag_of_tagged_tables": counts["extra beside tags"],
        "column_header_agrees": _share(counts, "column", "evaluated"),
        "innermost_row_header_agrees": _share(counts, "innermost", "evaluated"),
        "row_header_chain_agrees": _share(counts, "row", "evaluated"),
        "row_header_chain_has_no_other_section": _share(counts, "no other section", "evaluated"),
        "failures": dict(wrong.most_common()),
        "processor_seconds_and_peak_kb": cost,
    }


def _share(counts: Counter[str], part: str, whole: str) -> float:
    return round(counts[part] / max(1, counts[whole]), 4)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _visible(page: bytes) -> Iterator[Tag]:
    """What is tagged and shown, in the order of the page."""
    root = etree.fromstring(page, etree.XMLParser(huge_tree=True))
    units = {u.get("id"): _unit(u) for u in root.iter(XBRLI + "unit")}
    for element in root.iter(IX + "nonFraction"):
        above = [element, *element.iterancestors()]
        if any(_hidden(e) for e in above):
            continue
        text = _squeezed("".join(element.itertext()))
        outer = element.getparent()
        alike = outer.tag == element.tag and outer.get("name") == element.get("name")
        if text and not (alike and _squeezed("".join(outer.itertext())) == text):
            yield Tag(
                element.get("name").partition(":")[2],
                text,
                int(element.get("scale") or 0),
                units.get(element.get("unitRef"), ""),
                any(e.tag.endswith("}table") for e in above),
            )


def _hidden(element: Any) -> bool:
    if element.tag in (IX + "hidden", IX + "header"):
        return True
    return "display:none" in element.get("style", "").replace(" ", "")


def _unit(unit: Any) -> str:
    parts = [m.text.strip().rpartition(":")[2] for m in unit.iter(XBRLI + "measure")]
    return "/".join(parts)


def _tags(tags: list[Tag], document: Document, counts: Counter[str], wrong: Counter[str]) -> None:
    """What is read of what is tagged, and with which units."""
    found: dict[tuple[str, str], deque[Fact]] = defaultdict(deque)
    for fact in document.facts:
        if fact.fact_id in document.gold:
            found[document.gold[fact.fact_id], _squeezed(fact.value)].append(fact)
    for tag in tags:
        where = "table" if tag.table else "text"
        counts[f"{where} there"] += 1
        facts = found[tag.concept, tag.text]
        if not facts:
            wrong[f"tagged in {where}, not read"] += 1
            continue
        fact = facts.popleft()
        counts[f"{where} read"] += 1
        if not tag.printed:
            continue
        counts[f"scale {tag.unit}"] += 1
        right = fact.scale == tag.scale
        counts[f"scale {tag.unit} right"] += right
        if not right:
            wrong[f"scale of {tag.unit} in {where}: {fact.scale} for {tag.scale}"] += 1
        if tag.unit in ("USD", "shares", "USD/shares"):
            counts["unit"] += 1
            counts["unit right"] += fact.unit == tag.unit
            if fact.unit != tag.unit:
                wrong[f"unit in {where}: {fact.unit} for {tag.unit}"] += 1


def _twin(page: bytes, document: Document, counts: Counter[str], wrong: Counter[str]) -> None:
    """What is read of the page without its tags."""
    text = re.sub(r"<ix:header>.*?</ix:header>", "", page.decode(), flags=re.DOTALL)
    text = re.sub(
        r"</?ix:(?:nonFraction|nonNumeric|continuation|exclude|footnote|fraction)\b[^>]*>", "", text
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "twin.htm"
        path.write_text(text, encoding="utf-8")
        twin = read_document(path)
    read = Counter(map(_place, twin.facts))
    tagged = {f.context.context_id for f in document.facts if f.fact_id in document.gold}
    seen: Counter[Any] = Counter()
    for fact in document.facts:
        if fact.fact_id not in document.gold:
            counts["extra beside tags"] += fact.modality == "table" and fact.context.context_id in tagged
            continue
        if not any(map(str.isdigit, fact.value)):
            wrong[f"untagged {fact.modality}: dashes and words that stand for numbers"] += 1
            continue
        place = _place(fact)
        if seen[place] and read[place] <= seen[place]:
            continue  # a second tag of one number
        seen[place] += 1
        counts[f"twin {fact.modality} there"] += 1
        hit = read[place] >= seen[place]
        counts[f"twin {fact.modality} hit"] += hit
        wrong[f"untagged {fact.modality}: numbers not read"] += not hit
    for place, n in read.items():
        counts[f"twin {place[0]} extra"] += max(0, n - seen[place])


def _place(fact: Fact) -> tuple[Any, ...]:
    value = fact.value.strip("()-")
    if fact.modality == "table":
        return ("table", value, fact.context.text, fact.row_index, fact.col_index)
    start, end = fact.mention_start or 0, fact.mention_end or 0
    text = fact.context.text
    return ("text", value, text[max(0, start - 60) : start], text[end : end + 60])


def _headers(data: Path, documents: dict[str, Document], counts: Counter[str]) -> None:
    """Agreement with the evaluation facts that were drawn from the same filings."""
    with gzip.open(data / "finance" / "facts_test.jsonl.gz", "rt") as stream:
        facts = [json.loads(line) for line in stream]
    for name, filing in EVALUATED.items():
        if name not in documents:
            continue
        document = documents[name]
        places = {
            (f.value, document.gold.get(f.fact_id), f.row_index, f.col_index): f for f in document.facts
        }
        for want in facts:
            if want["filing_id"] != filing or want["modality"] != "table":
                continue
            counts["evaluated"] += 1
            got = places.get((want["value"], want["gold"], want["row_index"], want["col_index"]))
            if got is None:
                continue
            ours, theirs = (got.row_header or "").split(" | "), want["row_header"].split(" | ")
            counts["column"] += (got.column_header or "") == want["column_header"]
            counts["row"] += ours == theirs
            counts["innermost"] += ours[-1] == theirs[-1]
            counts["no other section"] += set(ours) <= set(theirs)
