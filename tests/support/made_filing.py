"""A small inline-XBRL filing, its taxonomy, and its tags."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from abduce import Tagger, Tags


def page(
    year: int,
    rows: Sequence[str],
    first: int = 100,
    company: str = "Acme Inc.",
    kind: str = "10-K",
    tagged: bool = True,
    extra: str = "",
    text: str = "",
    only: Collection[int] | None = None,
) -> str:
    """A filing of two columns; a row's tag is T0, T1, ... ``only`` are the rows that are in, by number."""
    cover = {"EntityRegistrantName": company, "DocumentType": kind, "DocumentPeriodEndDate": f"{year}-12-31"}
    about = "".join(
        f'<ix:nonNumeric name="dei:{k}" contextRef="c">{v}</ix:nonNumeric>' for k, v in cover.items()
    )

    def number(i: int, shift: int) -> str:
        value = str(first + 10 * i + shift)
        tag = f'<ix:nonFraction name="us-gaap:T{i}" contextRef="c" unitRef="usd">{value}</ix:nonFraction>'
        return f"<td>{tag if tagged else value}</td>"

    body = "".join(
        f"<tr><td>{label}</td>{number(i, 0)}{number(i, -7)}</tr>"
        for i, label in enumerate(rows)
        if only is None or i in only
    )
    hidden = f"<div style='display:none'>{about}</div>" if tagged else ""
    return f"""<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"><body>
{hidden}{extra}<p>In millions</p><table><tr><td></td><td>{year}</td><td>{year - 1}</td></tr>{body}</table>
{text}</body></html>"""


def write_concepts(folder: Path, count: int) -> None:
    """``concepts.jsonl`` with T0, T1, ..."""
    concepts = [
        {"id": f"T{i}", "label": f"concept {i} of 2024 and 2023", "datatype": "monetaryItemType"}
        for i in range(count)
    ]
    (folder / "concepts.jsonl").write_text("\n".join(map(json.dumps, concepts)))


def tag(
    folder: Path, document: str, *precedents: str | Path, top: int = 10, out: str = "", **options: Any
) -> Tags:
    """The tags of a document of the folder; ``precedents`` are files of the folder, ``options`` those of the
    tagger. ``out`` is a file to write."""
    options.setdefault("taxonomy", folder / "concepts.jsonl")
    with Tagger(precedents=[folder / p for p in precedents], **options) as tagger:
        tags = tagger.tag(folder / document)
    if out:
        tags.to_csv(folder / out, top)
    return tags
