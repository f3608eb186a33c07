"""Tags files (tags.csv): their lines, written and read back as precedents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..data.workbook import read_workbook_rows
from ..documents.source import find_encoding, open_bytes
from ..programs.serialize import Serializer
from ..retrievers.concept_ids import strip_namespace
from ..retrievers.errors import InputError
from ..retrievers.files import Row, read_csv, require
from ..retrievers.precedents.index import Tagged
from ..signatures.types import Fact, SourceContext
from .log import log_note
from .same_filing import content_prefix
from .tag import Tag

PROVENANCE = (
    "modality",
    "row_header",
    "column_header",
    "mention_start",
    "context_id",
    "filing_id",
    "company",
    "taxonomy_year",
)
"""Columns that every tags file ends with. They make a reviewed file a file of precedents: where each fact
stands, and of which source context, filing, company and year it is. ``mention_start`` is the value's place
in the column ``locus``."""

READ = ("scale", "unit", "stated", "place")
"""What a document's reader learned of each value beside its headers: the power of ten that its figure stands
for, its unit, where both were said, and what the source calls its place. No method sees them."""

COLUMNS = (
    "fact_id",
    "locus",
    "value",
    "datatype",
    "concept",
    "label",
    "score",
    "margin",
    "confidence",
    "evidence",
    "runner_up_concepts",
    "labelled",
    *READ,
    *PROVENANCE,
)
"""Columns of a tags CSV. ``margin`` is the score's distance to the next concept. ``confidence`` is the
calibrated probability that ``concept`` is right; empty where the program has no calibration for the taxonomy.
``evidence`` says in words what ``concept`` rests on. ``labelled`` is ``no`` where a row of a table has no
label of its own (its ``row_header`` then only stands for one), else empty. A reviewed file is a file of
precedents: correct ``concept``, or empty it where the fact should not be used."""


def locus_of(fact: Fact, serializer: Serializer) -> str:
    """A fact's locus in one line."""
    if fact.modality == "table":
        return " / ".join(h for h in (fact.row_header, fact.column_header) if h)
    return serializer.mention_window(fact)


def provenance(fact: Fact, serializer: Serializer) -> dict[str, object]:
    """The cells of :data:`PROVENANCE`."""
    place: object = None
    if fact.modality == "text" and fact.mention_start is not None:
        before = fact.context.text[max(0, fact.mention_start - serializer.before) : fact.mention_start]
        place = locus_of(fact, serializer).find(" ".join(fact.value.split()), len(" ".join(before.split())))
    return {
        "modality": fact.modality,
        "row_header": fact.row_header,
        "column_header": fact.column_header,
        "mention_start": place,
        "context_id": fact.context.context_id,
        "filing_id": fact.filing_id,
        "company": fact.company,
        "taxonomy_year": fact.taxonomy_year,
    }


def tag_cells(tag: Tag, serializer: Serializer, top: int, unlabelled: bool = False) -> dict[str, object]:
    """The cells of a tag's line, with the first ``top`` concepts of its ranking."""
    fact = tag.fact
    return {
        "fact_id": fact.fact_id,
        "locus": locus_of(fact, serializer),
        "value": fact.value,
        "datatype": fact.datatype,
        "concept": tag.concept,
        "label": tag.label,
        "score": tag.score,
        "margin": tag.margin,
        "confidence": None if tag.confidence is None else round(tag.confidence, 4),
        "evidence": tag.evidence,
        "runner_up_concepts": "; ".join(tag.ranking.ids[1:top]),
        "labelled": "no" if unlabelled else "",
        **{name: getattr(fact, name) for name in READ},
        **provenance(fact, serializer),
    }


def read_tags(path: Path, on_note: Callable[[str], None] = log_note) -> Iterator[Tagged]:
    """The tagged facts of a reviewed tags file; lines without a concept are skipped.

    A spreadsheet may have saved it with semicolons or tabs, or in Windows-1252 or UTF-16. Only the columns
    ``fact_id``, ``value``, ``concept`` and ``locus`` (or the headers) are needed. If there is a column
    ``state``, as ``abduce review`` writes it, only accepted or corrected lines count.

    Args:
        path: the file (.csv, .tsv, .xlsx).
        on_note: called with one line if it is not UTF-8.

    Raises:
        InputError: names the file, line and field of the error.
    """
    for line, row in read_rows_of(path, on_note):
        concept = _text(row, "concept").strip()
        if concept and str(row.get("state", "accepted")).strip() in ("accepted", "corrected"):
            yield Tagged(tagged_fact(row, path, line), strip_namespace(concept))


def is_tags(path: Path) -> bool:
    """Whether a table (.csv, .tsv, .xlsx) has the headings of a tags file."""
    wanted = ("fact_id", "concept", "value")
    if path.suffix.lower() == ".xlsx":
        first = next(read_workbook_rows(path), None)
        return first is not None and all(name in first[1] for name in wanted)
    with open_bytes(path) as stream:
        heading = stream.read(4096).split(b"\n", 1)[0].replace(b"\0", b"")
    return all(name.encode() in heading for name in wanted)


def read_rows_of(path: Path, on_note: Callable[[str], None] = log_note) -> Iterator[tuple[int, Row]]:
    """The lines of a tags file, (number, cells by column); see :func:`read_tags`."""
    if path.suffix.lower() == ".xlsx":
        lines = read_workbook_rows(path)
    else:
        encoding = find_encoding(path)
        if not encoding.startswith("utf-8"):
            on_note(f"{path} is not UTF-8; it was read as {encoding}")
        lines = read_csv(path, encoding)
    for line, row in lines:
        if "concept" not in row:
            fields = ", ".join(list(row)[:5])
            raise InputError(f"tags need a column 'concept'; there are {fields}", file=path, line=line)
        yield line, row


def _text(row: Row, name: str) -> str:
    return str(row.get(name) or "").removeprefix("'")


def tagged_fact(row: Row, path: Path, line: int) -> Fact:
    """The fact of a line. The file has its headers or surrounding text, but not its source context."""
    fact_id = require(row, "fact_id", path, line).removeprefix("'")
    value = require(row, "value", path, line).removeprefix("'")
    context_id = _text(row, "context_id") or f"{path}:{line}"
    names = ("datatype", "unit", "stated", "place", "filing_id", "company", "taxonomy_year")
    given: dict[str, Any] = {name: _text(row, name) for name in names if _text(row, name)}
    if scale := _text(row, "scale").strip():
        given["scale"] = _power(scale, path, line)
    if "filing_id" not in given and (prefix := content_prefix(fact_id, context_id)):
        given["filing_id"] = prefix
    if row.get("modality") == "text":
        locus, value = _text(row, "locus"), " ".join(value.split())
        start = _place(locus, value, _text(row, "mention_start"))
        if start < 0:
            raise InputError(f"does not contain the value {value!r}", file=path, line=line, field="locus")
        context = SourceContext(context_id=context_id, text=locus)
        span: dict[str, Any] = {"mention_start": start, "mention_end": start + len(value)}
        return Fact(fact_id=fact_id, value=value, context=context, modality="text", **span, **given)
    headers: dict[str, Any] = {n: _text(row, n) for n in ("row_header", "column_header") if _text(row, n)}
    if not headers:
        whole, above = require(row, "locus", path, line).removeprefix("'"), ""
        if row.get("modality") == "table" and " / " in whole:
            whole, _, above = whole.rpartition(" / ")
        headers = {name: h for name, h in (("row_header", whole), ("column_header", above)) if h.strip()}
    context = SourceContext(context_id=context_id, text="", modality="table")
    return Fact(fact_id=fact_id, value=value, context=context, **headers, **given)


def _power(text: str, path: Path, line: int) -> int:
    """A power of ten; a spreadsheet may have written it as ``6.0``."""
    whole = text.removesuffix(".0")
    if not (whole.removeprefix("-").isascii() and whole.removeprefix("-").isdigit()) or len(whole) > 4:
        raise InputError(f"{text!r} is no power of ten such as 6", file=path, line=line, field="scale")
    return int(whole)


def _place(locus: str, value: str, told: str) -> int:
    """The value's offset in its locus, or -1."""
    place = int(told) if told.isascii() and told.isdigit() else -1
    return place if place >= 0 and locus.startswith(value, place) else locus.find(value)
