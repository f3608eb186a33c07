"""Reviewed tags as files: CSV and Excel with state, note and flag, which are read back as precedents."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...retrievers.errors import InputError
from ...retrievers.files import csv_cell, csv_text, write_bytes, write_text
from ...retrievers.taxonomy import Taxonomy
from ..decisions import DECIDED, Decision
from ..tags import Tags
from ..tags_file import COLUMNS

REVIEW = ("state", "note", "flag")
"""Columns that a reviewed tags file ends with; ``flag`` is ``yes`` or empty."""

TOP = 10
"""Concepts of each ranking that are written."""

ENDINGS = (".csv", ".xlsx")

MAX_CELL = 32_767
"""Characters that Excel takes in a cell."""


def reviewed_rows(tags: Tags, decisions: Mapping[str, Decision]) -> Iterator[dict[str, object]]:
    """The lines of a reviewed tags file. ``concept`` is the decided concept, or else the suggestion; it is
    empty for a rejected fact.
    """
    for row in tags.rows(TOP):
        decision = decisions.get(str(row["fact_id"]), Decision(str(row["fact_id"])))
        if decision.state == "rejected":
            row |= {"concept": "", "label": ""}
        elif decision.concept and (decision.state in DECIDED or decision.state == "suggested"):
            row |= {"concept": decision.concept, "label": _label(decision.concept, tags.taxonomy)}
        state = "" if decision.state in ("open", "suggested") else decision.state
        yield row | {"state": state, "note": decision.note, "flag": "yes" if decision.flag else ""}


def _label(concept: str, taxonomy: Taxonomy) -> str:
    return taxonomy[concept].label if concept in taxonomy else ""


def write_reviewed(path: Path, tags: Tags, decisions: Mapping[str, Decision]) -> None:
    """Write a reviewed tags file, in one step.

    Raises:
        InputError: the file name does not end in .csv or .xlsx, or it cannot be written.
    """
    columns = [*COLUMNS, *REVIEW]
    rows = reviewed_rows(tags, decisions)
    if path.suffix.lower() == ".csv":
        write_text(path, csv_text(columns, ([row[c] for c in columns] for row in rows)))
    elif path.suffix.lower() == ".xlsx":
        write_bytes(path, _workbook(columns, rows))
    else:
        raise InputError(f"reviewed tags are written as {' or '.join(ENDINGS)}", file=path)


def _workbook(columns: list[str], rows: Iterator[dict[str, object]]) -> bytes:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import IllegalCharacterError

    book = Workbook(write_only=True)
    sheet = book.create_sheet("tags")
    sheet.freeze_panes = "A2"
    sheet.append(columns)
    for row in rows:
        line = []
        for name in columns:
            value = row[name]
            if not isinstance(value, int | float):
                value = csv_cell(value)[:MAX_CELL]
            try:
                made = WriteOnlyCell(sheet, value=value)
            except IllegalCharacterError:
                made = WriteOnlyCell(sheet, value="".join(c for c in str(value) if c >= " " or c in "\t\n"))
            if isinstance(value, str):
                made.data_type = "s"  # never a formula
            line.append(made)
        sheet.append(line)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()
