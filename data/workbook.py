"""The lines of a workbook's first sheet, like those of a CSV file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile

from ..retrievers.errors import InputError
from ..retrievers.files import Row


def read_workbook_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield (line number, cells by heading) below the heading line; empty lines are skipped.

    Raises:
        InputError: it is missing, not a workbook, or too large when unpacked.
    """
    from openpyxl import load_workbook

    from ..documents.bookcheck import check_book

    check_book(path)
    try:
        sheet = load_workbook(path, data_only=True, keep_links=False).worksheets[0]
    except (
        OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, SyntaxError, BadZipFile,
    ) as e:  # fmt: skip
        raise InputError(f"is no workbook: {e}", file=path) from e
    rows: dict[int, dict[int, str]] = {}
    for (row, column), cell in sorted(sheet._cells.items()):  # its own iterators make a cell of every place
        if cell.value is not None:
            rows.setdefault(row, {})[column] = str(cell.value)
    names = rows.pop(1, {})
    for line, cells in rows.items():
        yield line, {name: cells.get(column, "") for column, name in names.items()}
