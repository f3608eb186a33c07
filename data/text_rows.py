"""Tables whose rows are texts to tag: titles, descriptions, notes. One row is one fact.

The fact of a row is a mention that is its whole source context. JSONL lines with ``text`` need no settings;
for other tables the text columns must be named.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from ..retrievers.concept_ids import strip_namespace
from ..retrievers.errors import InputError
from ..retrievers.files import Row, first_of, read_rows, refuse_duplicate
from ..signatures.types import Fact, SourceContext
from .columns import Columns
from .example import Example, fingerprint
from .kept import FactInputs
from .parquet import read_parquet
from .workbook import read_workbook_rows

JSONL = frozenset({".jsonl", ".ndjson"})
KINDS = JSONL | {".csv", ".tsv", ".xlsx", ".parquet"}
"""What rows are read from."""

IDS = ("fact_id", "id")
TEXT = "text"


def is_text_rows(path: Path, columns: Columns) -> bool:
    """Whether a file is such a table: text columns are named, or its first line has ``text`` and no
    ``value``.

    Raises:
        InputError: text columns are named, but it is not a table.
    """
    kind = _kind(path)
    if columns.text and kind not in KINDS:
        raise InputError(f"has no text columns: it is none of {', '.join(sorted(KINDS))}", file=path)
    if columns.text or kind not in JSONL:
        return bool(columns.text)
    first = next(read_rows(path, []), None)
    return first is not None and TEXT in first[1] and "value" not in first[1]


def read_text_rows(
    path: Path, columns: Columns, bad: list[InputError] | None = None, need_gold: bool = False
) -> Iterator[Example]:
    """Yield the rows of a table.

    The id is ``fact_id`` or ``id``, or the line number; ``gold`` and ``company`` are optional. ``columns``
    names other headings.

    Args:
        path: the table (JSONL, CSV, TSV, Excel, Parquet).
        columns: the column names.
        bad: if given, bad rows are appended here and skipped.
        need_gold: a row without ``gold`` is bad.

    Raises:
        InputError: no such column, or names the file, line and field of the error.
    """
    rows = _rows(path, bad)
    first = next(rows, None)
    if first is None:
        return
    texts = tuple(columns.text) or (TEXT,)
    if _kind(path) not in JSONL:
        named = [columns.names[n] for n in ("fact_id", "gold", "company") if n in columns.names]
        for heading in (*texts, *named):
            if heading not in first[1]:
                raise InputError(f"no column {heading!r}; there are {', '.join(first[1])}", file=path)
    seen: dict[str, int] = {}
    for line, row in itertools.chain([first], rows):
        try:
            example = _example(row, path, line, texts, columns, need_gold)
            refuse_duplicate(seen, example.id, path, line, "fact_id")
        except InputError as e:
            if bad is None:
                raise
            bad.append(e)
            continue
        yield example


def _kind(path: Path) -> str:
    return next((s.lower() for s in reversed(path.suffixes) if s.lower() != ".gz"), "")


def _rows(path: Path, bad: list[InputError] | None) -> Iterator[tuple[int, Row]]:
    kind = _kind(path)
    if kind == ".xlsx":
        return read_workbook_rows(path)
    return read_parquet(path) if kind == ".parquet" else iter(read_rows(path, bad))


def _example(
    row: Row, path: Path, line: int, texts: tuple[str, ...], columns: Columns, need_gold: bool
) -> Example:
    parts = [_cell(row, heading, path, line) for heading in texts]
    text = "\n".join(part for part in parts if part)
    if not text:
        raise InputError("is empty", file=path, line=line, field=texts[0])
    id_field = columns.names.get("fact_id") or first_of(row, IDS)
    id_ = (_cell(row, id_field, path, line) if id_field else "") or str(line)
    gold_field = columns.names.get("gold", "gold")
    gold = strip_namespace(_cell(row, gold_field, path, line))
    if need_gold and not gold:
        raise InputError("is missing", file=path, line=line, field=gold_field)
    company = _cell(row, columns.names.get("company", "company"), path, line)
    fact = Fact(
        fact_id=id_,
        value=text,
        modality="text",
        mention_start=0,
        mention_end=len(text),
        company=company or None,
        context=SourceContext(context_id=id_, text=text),
    )
    groups = {"modality": "text", "datatype": "none"}
    return Example(id_, FactInputs.of(fact), gold, id_, groups, fingerprint([{"fact": fact}, gold]))


def _cell(row: Row, heading: str, path: Path, line: int) -> str:
    value = row.get(heading)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"must be a text, not {type(value).__name__}", file=path, line=line, field=heading)
    return str(value).strip()
