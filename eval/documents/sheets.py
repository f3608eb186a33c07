"""CSV and Excel sheets: one sheet is one or more tables, parted by empty rows."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from ...retrievers.errors import InputError, MissingExtra
from .bookcheck import check_book
from .grid import MAX_CELLS, Grid, GridBuilder
from .html import Block, TableBlock


def read_csv_table(text: str, path: Path) -> list[Block]:
    """The tables of a CSV or TSV text; its delimiter (comma, semicolon, tab, bar) is found out.

    Raises:
        InputError: it is not CSV, or has too many cells.
    """
    sample = text[:20_000]
    try:
        dialect: Any = csv.Sniffer().sniff(sample, delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel_tab if "\t" in sample else csv.excel
    rows: list[list[str]] = []
    reader = csv.reader(io.StringIO(text), dialect)
    cells = 0
    try:
        for row in reader:
            cells += len(row)
            if cells > MAX_CELLS:
                raise InputError(f"has more than {MAX_CELLS:,} cells", file=path)
            rows.append(row)
    except csv.Error as e:
        raise InputError(f"is not CSV: {e}", file=path, line=reader.line_num) from e
    return [*_tables(rows, str(path))]


def read_workbook(path: Path) -> list[Block]:
    """The visible tables of an Excel workbook (.xlsx, .xlsm), sheet by sheet; formulas by their last value.

    Raises:
        MissingExtra: openpyxl is not installed.
        InputError: not a workbook, or it would become too much (:mod:`.bookcheck`, before it is loaded).
    """
    try:
        import openpyxl
    except ImportError as e:
        raise MissingExtra("openpyxl", "excel") from e
    check_book(path)
    try:
        book = openpyxl.load_workbook(path, data_only=True, keep_links=False)
    except (KeyError, ValueError, TypeError, AttributeError, zipfile.BadZipFile, SyntaxError, OSError) as e:
        raise InputError(f"cannot be read as a workbook: {e}", file=path) from e
    blocks: list[Block] = []
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            continue
        if (sheet.max_row or 0) * (sheet.max_column or 0) > 4 * MAX_CELLS:
            raise InputError(f"the sheet {sheet.title!r} has too many cells", file=path)
        width = sheet.max_column or 0  # worked out over all cells: asked once, not for every row
        hidden = {c for c in range(1, width + 1) if _hidden_column(sheet, c)}
        rows = [
            _sheet_row(cells, hidden)
            for r, cells in enumerate(sheet.iter_rows(max_col=width), 1)
            if not sheet.row_dimensions[r].hidden
        ]
        blocks += _tables(rows, f"{path}: sheet {sheet.title!r}", sheet.title)
    return blocks


def _sheet_row(cells: Sequence[Any], hidden: AbstractSet[int]) -> list[Any]:
    return [
        _Shown(_text(c), float(c.alignment.indent or 0) if c.alignment else 0.0)
        for column, c in enumerate(cells, 1)
        if column not in hidden
    ]


def _hidden_column(sheet: Any, column: int) -> bool:
    from openpyxl.utils import get_column_letter

    letter = get_column_letter(column)
    return letter in sheet.column_dimensions and bool(sheet.column_dimensions[letter].hidden)


class _Shown(str):
    """A cell's text with its indent (in spreadsheet steps)."""

    indent: float

    def __new__(cls, text: str, indent: float) -> _Shown:
        made = super().__new__(cls, text)
        made.indent = indent
        return made


def _text(cell: Any) -> str:
    """A cell as the sheet shows it: its number format's percent, currency and grouping are kept."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        if hasattr(value, "strftime"):
            return str(value.strftime("%B %-d, %Y"))
        return str(value)
    form = str(cell.number_format or "General")
    if "%" in form:
        return f"{value * 100:.{_places(form)}f}%"
    if form == "General":
        return f"{value:.15g}" if isinstance(value, float) else str(value)
    grouped = f"{abs(value):,.{_places(form)}f}" if "," in form else f"{abs(value):.{_places(form)}f}"
    sign = "$" if "$" in form else ("€" if "€" in form else "")
    return f"({sign}{grouped})" if value < 0 else f"{sign}{grouped}"


def _places(form: str) -> int:
    point = form.split(";")[0].partition(".")[2]
    return len(point) - len(point.lstrip("0"))


def _tables(rows: Sequence[Sequence[str]], what: str, title: str = "") -> Iterator[Block]:
    """The runs of rows between empty ones. A run of one cell a row is the text above the next table."""
    above = [title] if title else []
    run: list[Sequence[str]] = []
    for row in (*rows, []):
        if any(str(c).strip() for c in row):
            run.append(row)
            continue
        if run and all(sum(bool(str(c).strip()) for c in r) == 1 for r in run):
            above += [" ".join(str(c).strip() for c in r if str(c).strip()) for r in run]
        elif run:
            yield TableBlock(_grid(run, what), " ".join(above))
            above = [title] if title else []
        run = []


def _grid(rows: Sequence[Sequence[str]], what: str) -> Grid:
    builder = GridBuilder(what)
    for row in rows:
        builder.row()
        for i, text in enumerate(row):
            lead = len(text) - len(text.lstrip()) if i == 0 else 0
            builder.cell(" ".join(text.split()), indent=4.0 * lead + 8.0 * getattr(text, "indent", 0.0))
    return builder.build()
