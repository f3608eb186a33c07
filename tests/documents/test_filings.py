"""The six whole filings of the data folder: tagged values are found, with headers."""

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from abduce.documents.read import read_document
from abduce.tagging.precedents import read_precedents
from lxml import etree

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "finance"
pytestmark = pytest.mark.skipif(
    not (DATA / "filings").is_dir(), reason="the data folder is not beside the project"
)

SAME = {"aapl-10q-2025-06": "F136", "nvda-10k-2025-01": "F157", "orcl-10q-2024-08": "F133"}
SAME |= {"txg-10k-2024-12": "F018", "unp-10k-2024-12": "F164"}
"""Filings of which some facts are in the evaluation sets."""


@pytest.fixture(scope="module")
def documents():
    return {p.name.split(".")[0]: read_document(p) for p in sorted((DATA / "filings").glob("*.htm.gz"))}


def tags_in_tables(path):
    """(concept, printed value) of every visible ``ix:nonFraction`` inside a table, read by lxml alone."""
    ix = "{http://www.xbrl.org/2013/inlineXBRL}"
    root = etree.fromstring(gzip.decompress(path.read_bytes()), etree.XMLParser(huge_tree=True))

    def hidden(element):
        return element.tag in (ix + "hidden", ix + "header") or "display:none" in element.get(
            "style", ""
        ).replace(" ", "")

    for element in root.iter(ix + "nonFraction"):
        above = [element, *element.iterancestors()]
        if any(e.tag.endswith("}table") for e in above) and not any(map(hidden, above)):
            yield element.get("name").partition(":")[2], squeezed("".join(element.itertext()))


def squeezed(text):
    return "".join(text.split())


def test_tagged_values_in_tables_are_read_with_a_label_of_their_own(documents):
    there, read, labelled = 0, 0, 0
    for path in sorted((DATA / "filings").glob("*.htm.gz")):
        document = documents[path.name.split(".")[0]]
        wanted = Counter(tags_in_tables(path))
        cells = [f for f in document.facts if f.fact_id in document.gold and f.modality == "table"]
        found = Counter((document.gold[f.fact_id], squeezed(f.value)) for f in cells)
        with_label = Counter(
            (document.gold[f.fact_id], squeezed(f.value))
            for f in cells
            if f.row_header and f.fact_id not in document.unlabelled
        )
        there += wanted.total()
        read += (wanted & found).total()
        labelled += (wanted & with_label).total()
        assert (wanted & with_label).total() / wanted.total() >= 0.97, path.name
    assert there == 5_363
    assert read / there >= 0.99
    assert labelled / there >= 0.99
    assert not any(d.counts["unlabelled"] > 5 for d in documents.values())


def test_companies_and_years(documents):
    assert {d.company for d in documents.values()} >= {"Apple Inc.", "NVIDIA CORP", "Oracle Corporation"}
    assert documents["ko-10q-2025-06"].taxonomy_year == "2025"


def test_headers_agree_with_the_evaluation_facts(documents):
    with gzip.open(DATA / "facts_test.jsonl.gz", "rt") as stream:
        facts = [json.loads(line) for line in stream]
    counts = Counter()
    for name, filing in SAME.items():
        document = documents[name]
        places = defaultdict(list)
        for fact in document.facts:
            places[fact.value, document.gold.get(fact.fact_id)].append(fact)
        for want in facts:
            if want["filing_id"] != filing or want["modality"] != "table":
                continue
            found = places[want["value"], want["gold"]]
            near = [f for f in found if (f.row_index, f.col_index) == (want["row_index"], want["col_index"])]
            counts["facts"] += 1
            counts["found"] += bool(near)
            counts["row"] += any(f.row_header == want["row_header"] for f in near)
            counts["innermost"] += any(
                f.row_header.split(" | ")[-1] == want["row_header"].split(" | ")[-1] for f in near
            )
            counts["column"] += any((f.column_header or "") == want["column_header"] for f in near)
            counts["no other section"] += any(
                set(f.row_header.split(" | ")) <= set(want["row_header"].split(" | ")) for f in near
            )
    assert counts["facts"] > 250
    for part in ("found", "innermost", "column"):
        assert counts[part] / counts["facts"] >= 0.99, counts
    assert counts["no other section"] / counts["facts"] >= 0.98, counts
    assert counts["row"] / counts["facts"] >= 0.92, counts  # theirs go on behind the total of a section


def test_a_filing_is_a_file_of_precedents():
    path = DATA / "filings" / "aapl-10q-2025-06.htm.gz"
    tagged = list(read_precedents(path))
    assert len(tagged) > 600
    assert all(t.fact.company == "Apple Inc." for t in tagged)
