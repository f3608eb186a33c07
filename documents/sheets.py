"""CSV and Excel sheets: a sheet is one or more tables, separated by empty rows."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from ..retrievers.errors import InputError
from ..signatures.letters import tidy
from .blocks import Block, TableBlock
from .bookcheck import check_book
from .formats import show_number, without_exponent
from .grid import MAX_CELLS, MAX_ROWSPAN, Grid, GridBuilder
from .numbers import Style, is_year, parse_number
from .tablerun import goes_on, headed_columns


class SheetCell(NamedTuple):
    """A cell with text at a grid column (from 0); ``indent`` in points."""

    column: int
    text: str
    indent: float = 0.0
    rowspan: int = 1
    colspan: int = 1
    place: str = ""
    silent: str = ""


NO_VALUE = "formulas without a stored value (open and save the workbook in a spreadsheet once)"

_SAMPLE = 20_000
"""Characters from which a text's delimiter is found out."""

Row = tuple[int, list[SheetCell]]
"""A row that has text, with its number."""


def read_csv_table(text: str, path: Path) -> list[Block]:
    """The tables of a CSV or TSV text; the delimiter (comma, semicolon, tab, bar) is detected.

    Raises:
        InputError: it is not CSV, or has too many cells.
    """
    rows: list[Row] = []
    dialect = _dialect(text[:_SAMPLE])
    reader = csv.reader(io.StringIO(text), **dialect)
    cells = 0
    try:
        for number, row in enumerate(reader):
            cells += len(row)
            if cells > MAX_CELLS:
                raise InputError(f"has more than {MAX_CELLS:,} cells", file=path)
            if found := [_plain_cell(i, t) for i, t in enumerate(row) if tidy(t).strip()]:
                rows.append((number, found))
    except csv.Error as e:
        raise InputError(f"is not CSV: {e}", file=path, line=reader.line_num) from e
    return [*_tables(rows, str(path), points_rare=dialect["delimiter"] in ";\t")]


def _dialect(sample: str) -> dict[str, Any]:
    """The delimiter that splits most rows alike. If a comma and another delimiter both do, the comma is a
    decimal comma. (``csv.Sniffer`` takes apostrophes for quotes, and is quadratic.)
    """
    lines = sample.splitlines(keepends=True)
    if len(sample) == _SAMPLE and len(lines) > 1:
        del lines[-1:]
    best, most = ",", 0
    for delimiter in "\t;|,":
        spaced = f'{delimiter} "' in sample
        reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=spaced)
        try:
            widths = Counter(len(row) for row in reader if len(row) > 1)
        except csv.Error:
            continue
        alike = max(widths.values(), default=0)
        if alike > most:
            best, most = delimiter, alike
    return {"delimiter": best, "skipinitialspace": f'{best} "' in sample}


_EXPONENT = re.compile(r"[-+]?\d(?:\.\d{1,20}[eE][-+]?|[eE][-+])\d{1,2}")
"""A number with an exponent; ``1E5`` may be a code."""


def _plain_cell(column: int, text: str) -> SheetCell:
    lead = len(text) - len(text.lstrip()) if column == 0 else 0
    if _EXPONENT.fullmatch(text.strip()):  # as pandas writes them
        text = without_exponent(text.strip())
    return SheetCell(column, " ".join(tidy(text).split()), 4.0 * lead)


def read_workbook(path: Path, on_unread: Callable[[str, str, str], None]) -> list[Block]:
    """The visible tables of an Excel workbook (.xlsx, .xlsm), sheet by sheet; formulas by their stored value.

    ``on_unread`` is called with reason, place and text of hidden sheets.

    Raises:
        InputError: not a workbook, or too large (:mod:`.bookcheck` checks before loading).
    """
    from openpyxl.reader.excel import ExcelReader

    unvalued = check_book(path)
    try:
        reader = ExcelReader(path, data_only=True, keep_links=False)
        reader.read()
    except (KeyError, ValueError, TypeError, AttributeError, zipfile.BadZipFile, SyntaxError, OSError) as e:
        raise InputError(f"cannot be read as a workbook: {e}", file=path) from e
    parts = {sheet.name: rel.target.lstrip("/") for sheet, rel in reader.parser.find_sheets()}
    blocks: list[Block] = []
    for sheet in reader.wb.worksheets:
        if sheet.sheet_state != "visible":
            on_unread("hidden sheets", sheet.title, "")
        else:
            formulas = unvalued.get(parts.get(sheet.title, ""), {})
            blocks += _tables(_sheet_rows(sheet, formulas), f"{path}: sheet {sheet.title!r}", sheet.title)
    return blocks


class _Hidden:
    """The hidden columns or rows of a sheet, as ranges."""

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self.ends: list[int] = []
        starts: list[int] = []
        for first, last in sorted(ranges):
            if self.ends and first <= self.ends[-1] + 1:
                self.ends[-1] = max(self.ends[-1], last)
            else:
                starts.append(first)
                self.ends.append(last)
        self.starts = starts
        self.sums = [0, *accumulate(e - s + 1 for s, e in zip(starts, self.ends, strict=True))]

    def before(self, place: int) -> int:
        """The number of visible ones before ``place`` (counted from 1)."""
        at = bisect_left(self.ends, place)
        inside = max(0, place - self.starts[at]) if at < len(self.ends) else 0
        return place - 1 - self.sums[at] - inside


def _sheet_rows(sheet: Any, formulas: Mapping[str, str]) -> list[Row]:
    """The visible rows of a sheet with text; ``formulas`` are those without a value, by cell.

    Only existing cells are read: a sheet of three cells may extend over millions of positions, and openpyxl's
    iterators make a cell for each.
    """
    for column in sheet.column_dimensions.values():
        column.reindex()
    columns = _Hidden((c.min, c.max) for c in sheet.column_dimensions.values() if c.hidden)
    hidden = _Hidden((r, r) for r, about in sheet.row_dimensions.items() if about.hidden)
    merged = {(m.min_row, m.min_col): (m.max_row, m.max_col) for m in sheet.merged_cells.ranges}
    rows: dict[int, list[SheetCell]] = {}
    for (row, column), cell in sorted(sheet._cells.items()):
        formula = formulas.get(cell.coordinate, "")
        shown = formula or tidy(_text(cell))
        text = " ".join(shown.split())
        if not text:
            continue
        bottom, right = merged.get((row, column), (row, column))
        top, left = hidden.before(row), columns.before(column)
        rowspan, colspan = hidden.before(bottom + 1) - top, columns.before(right + 1) - left
        if rowspan and colspan:
            indent = 8.0 * float(cell.alignment.indent or 0) if cell.alignment else 0.0
            indent += 4.0 * (len(shown) - len(shown.lstrip()))
            place = f"{sheet.title}!{cell.coordinate}"
            silent = NO_VALUE if formula else ""
            rows.setdefault(top, []).append(SheetCell(left, text, indent, rowspan, colspan, place, silent))
    return sorted(rows.items())


def _text(cell: Any) -> str:
    """A cell as the sheet shows it, with its number format's percent, currency and grouping."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, date):
        return f"{value:%B} {value.day}, {value.year}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return show_number(value, str(cell.number_format or "General"))


def _tables(rows: Sequence[Row], what: str, title: str = "", points_rare: bool = False) -> Iterator[Block]:
    """The tables of a sheet. Empty rows part them, but for one without headings of its own whose values
    stand below those of the table before: it goes on with that table. A run of one text a row is the text
    above the next table, or a row of the table that goes on.

    A row that a merged cell with text reaches into is not empty.
    """
    table: list[Row] = []
    above: list[str] = []
    texts: list[Row] = []
    headed: set[int] = set()
    for run in _runs(rows):
        if all(len(cells) == 1 and _is_text(cells[0]) for _, cells in run):
            texts += run
            continue
        grid = _grid(run, what, points_rare)
        if headed and goes_on(grid, headed):
            table += [*texts, *run]
        else:
            above = yield from _told(_grid(table, what, points_rare), [title, *above])
            above += [cells[0].text for _, cells in texts]
            table, headed = list(run), headed_columns(grid)
        texts = []
    yield from _told(_grid(table, what, points_rare), [title, *above])


def _told(grid: Grid, above: Sequence[str]) -> Generator[Block, None, list[str]]:
    """A table, if it has any value; else its texts, which belong above the next one."""
    if any(c.number is not None or c.silent for row in grid for c in row if not c.year):
        yield TableBlock(grid, " ".join(filter(None, above)))
        return []
    return [cell.text for row in grid for cell in row]


def _runs(rows: Sequence[Row]) -> Iterator[list[Row]]:
    run: list[Row] = []
    last = -1
    for number, cells in rows:
        if run and number > last + 1:
            yield run
            run = []
        run.append((number, cells))
        last = max(last, *(number + min(c.rowspan, MAX_ROWSPAN) - 1 for c in cells))
    if run:
        yield run


def _is_text(cell: SheetCell) -> bool:
    """Whether a lone cell is text, not a number however it is written. A year in the first column is part of
    a title; beyond it, it heads its column."""
    if cell.silent or (cell.column and is_year(cell.text)):
        return False
    text = cell.text
    return is_year(text) or all(parse_number(text, style) is None for style in Style)


def _grid(rows: Sequence[Row], what: str, points_rare: bool) -> Grid:
    builder = GridBuilder(what, points_rare)
    at = rows[0][0] if rows else 0
    for number, cells in rows:
        for _ in range(at, number + 1):
            builder.row()
        at = number + 1
        for cell in cells:
            builder.cell(
                cell.text,
                cell.rowspan,
                cell.colspan,
                indent=cell.indent,
                col=cell.column,
                place=cell.place,
                silent=cell.silent,
            )
    return builder.build()
