"""A table as a grid: cells with their places, spans and marks, whatever the file format was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ...retrievers.errors import InputError
from .numbers import CURRENCY, Number, is_placeholder, is_year, parse_number

MAX_CELLS = 400_000
"""Cells of one table; a larger one is refused, which bounds memory."""

MAX_COLUMNS = 16_384
"""Grid columns of one table (a spreadsheet's own limit)."""


@dataclass(frozen=True)
class Mark:
    """An inline-XBRL tag around a number: ``text[start:end]`` of the cell or paragraph is its value."""

    name: str
    start: int
    end: int
    unit: str = ""


@dataclass(frozen=True)
class Cell:
    """One cell at grid row ``row`` and columns ``col`` to ``col + colspan - 1``.

    ``text`` has its white space normalised. ``plain`` is the same without superscripts (footnote
    marks). ``indent`` is in points, 0 where the document says nothing.
    """

    text: str
    row: int
    col: int
    rowspan: int = 1
    colspan: int = 1
    plain: str = ""
    indent: float = 0.0
    bold: bool = False
    marks: tuple[Mark, ...] = ()

    @property
    def end(self) -> int:
        """The first column after the cell."""
        return self.col + self.colspan

    @cached_property
    def number(self) -> Number | None:
        return parse_number(self.plain or self.text)

    @cached_property
    def year(self) -> bool:
        return is_year(self.plain or self.text)

    @cached_property
    def placeholder(self) -> bool:
        return is_placeholder(self.text)

    @cached_property
    def worded(self) -> bool:
        """Whether it holds letters: a label or a heading."""
        return self.number is None and any(c.isalpha() for c in self.text) and not self.placeholder

    @property
    def figure(self) -> bool:
        """Whether it holds a value: a number that is not a bare year, or a tagged number."""
        return bool(self.marks) or (self.number is not None and not self.year)


@dataclass
class Grid:
    """The rows of a table; ``rows[r]`` holds the non-empty cells that stand in row ``r``, left to right
    (a cell that spans rows stands in each of them)."""

    rows: list[list[Cell]] = field(default_factory=list)

    def __iter__(self) -> Iterator[list[Cell]]:
        return iter(self.rows)

    def signs(self, cell: Cell) -> tuple[bool, bool]:
        """Whether a currency sign and a percent sign stand with a value: in its cell or in the next one."""
        row = [c for c in self.rows[cell.row] if c.row == cell.row]
        left = next((c.text for c in row if c.end == cell.col), "")
        right = next((c.text for c in row if c.col == cell.end), "")
        text = cell.text
        money = any(c in text for c in CURRENCY) or (len(left) <= 3 and any(c in left for c in CURRENCY))
        percent = "%" in text or (len(right) <= 3 and "%" in right)
        return money, percent

    @cached_property
    def values(self) -> list[Cell]:
        """The cells that hold values, once each, in reading order."""
        return [c for r, row in enumerate(self.rows) for c in row if c.row == r and c.figure]


class GridBuilder:
    """Places cells one after the other, honouring row and column spans.

    Raises:
        InputError: the table has more than :data:`MAX_CELLS` cells or :data:`MAX_COLUMNS` columns.
    """

    def __init__(self, what: str = "the table") -> None:
        self.what = what
        self._rows: list[list[Cell]] = []
        self._blocked: dict[int, list[tuple[int, int]]] = {}
        self._col = 0
        self._count = 0

    def row(self) -> None:
        """Begin the next row."""
        done = len(self._rows) - 1
        self._blocked.pop(done, None)
        self._rows.append([])
        self._col = 0

    def cell(
        self,
        text: str,
        rowspan: int = 1,
        colspan: int = 1,
        plain: str = "",
        indent: float = 0.0,
        bold: bool = False,
        marks: Sequence[Mark] = (),
    ) -> None:
        """Place the next cell of the row at the first free column."""
        if not self._rows:
            self.row()
        self._count += 1
        if self._count > MAX_CELLS:
            raise InputError(f"{self.what} has more than {MAX_CELLS:,} cells")
        row = len(self._rows) - 1
        colspan, rowspan = max(1, min(colspan, 1000)), max(1, min(rowspan, 65_534))
        col = self._free(row, colspan)
        self._col = col + colspan
        if self._col > MAX_COLUMNS:
            raise InputError(f"{self.what} has more than {MAX_COLUMNS:,} columns")
        made = Cell(text, row, col, rowspan, colspan, plain or text, indent, bold, tuple(marks))
        if text:
            self._rows[row].append(made)
        for below in range(row + 1, row + min(rowspan, 200)):
            self._blocked.setdefault(below, []).append((col, col + colspan))

    def _free(self, row: int, colspan: int) -> int:
        col = self._col
        for start, end in sorted(self._blocked.get(row, [])):
            if start < col + colspan and end > col:
                col = end
        return col

    def build(self) -> Grid:
        """The finished grid; a spanning cell is listed in every row that it covers."""
        rows = [list(r) for r in self._rows]
        for row in self._rows:
            for cell in row:
                for below in range(cell.row + 1, min(cell.row + cell.rowspan, len(rows), cell.row + 200)):
                    rows[below].append(cell)
        return Grid([sorted(r, key=lambda c: c.col) for r in rows])


def grid_of(rows: Sequence[Sequence[str]], what: str = "the table") -> Grid:
    """A grid from plain rows of texts; leading spaces of a row's first cell count as its indent."""
    builder = GridBuilder(what)
    for row in rows:
        builder.row()
        for i, text in enumerate(row):
            lead = len(text) - len(text.lstrip()) if i == 0 else 0
            builder.cell(" ".join(text.split()), indent=4.0 * lead)
    return builder.build()
