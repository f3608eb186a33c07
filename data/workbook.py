"""The lines of a workbook's first sheet, as of a CSV file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile

from ..retrievers.errors import InputError
from ..retrievers.files import Row


def read_workbook_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield (line number, cells by heading) below the heading line; empty lines are passed over.

    Raises:
        InputError: it is missing, no workbook, or would become too large.
    """
    from openpyxl import load_workbook

    from ..documents.bookcheck import check_book

    check_book(path)
    try:
        rows = load_workbook(path, read_only=True, data_only=True).worksheets[0].iter_rows(values_only=True)
        names = [str(n or "") for n in next(rows, ())]
        for line, cells in enumerate(rows, 2):
            if any(c is not None for c in cells):
                yield line, {n: "" if c is None else str(c) for n, c in zip(names, cells, strict=False) if n}
    except (OSError, ValueError, KeyError, IndexError, BadZipFile) as e:
        raise InputError(f"is no workbook: {e}", file=path) from e
