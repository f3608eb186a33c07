"""A table as a grid: cells with positions, spans and marks, for every file format."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..retrievers.errors import InputError
from .currencies import SIGNS
from .numbers import Number, Style, is_placeholder, is_year, parse_numbers, style_of
from .years import has_figure

MAX_CELLS = 400_000
"""Cells of one table, the places that cells spanning rows cover included; a larger one is refused, which
bounds memory."""

MAX_COLUMNS = 16_384
"""Grid columns of one table (a spreadsheet's own limit)."""

MAX_ROWSPAN = 200
"""Rows that one cell may span; a longer span is cut."""


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

    ``text`` has normalised white space. ``plain`` is the text without superscripts (footnote marks).
    ``indent`` is in points, 0 if unknown. ``place`` is the source's name for the cell (``B4``). ``silent``
    says why a number in it is not a value (a reference to a note, a page number).
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
    style: Style = Style.PLAIN
    place: str = ""
    silent: str = ""

    @property
    def end(self) -> int:
        """The first column after the cell."""
        return self.col + self.colspan

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        """Its number, or the two ends of a range."""
        return () if self.silent else parse_numbers(self.plain or self.text, self.style)

    @cached_property
    def number(self) -> Number | None:
        return self.numbers[0] if self.numbers else None

    @cached_property
    def year(self) -> bool:
        return is_year(self.plain or self.text)

    @cached_property
    def placeholder(self) -> bool:
        return bool(self.silent) or is_placeholder(self.text)

    @cached_property
    def worded(self) -> bool:
        """Whether it has letters: a label or a heading."""
        return self.number is None and any(c.isalpha() for c in self.text) and not self.placeholder

    @property
    def figure(self) -> bool:
        """Whether it is a value anywhere in a table: a number that is not a bare year, or a tagged one."""
        return bool(self.marks) or (self.number is not None and not self.year)

    @cached_property
    def loose(self) -> bool:
        """Whether its number may also be a label or a heading (``1-3 years``), depending on position."""
        return self.number is not None and self.number.loose and not self.marks

    @cached_property
    def unknown(self) -> bool:
        """Whether it has digits that are not in a number, a date, a period or a ranked name."""
        text = self.plain or self.text
        return self.number is None and not self.placeholder and has_figure(text)

    @property
    def yearlike(self) -> bool:
        """Whether it has an untagged bare number such as 2024: a year or a value, depending on position."""
        return self.year and self.number is not None and not self.marks


@dataclass
class Grid:
    """The rows of a table; ``rows[r]`` holds the non-empty cells of row ``r``, left to right (a cell that
    spans rows is in each of them).
    """

    rows: list[list[Cell]] = field(default_factory=list)

    def __iter__(self) -> Iterator[list[Cell]]:
        return iter(self.rows)

    def signs(self, cell: Cell) -> tuple[str, bool]:
        """The currency sign of a value (or nothing), and whether it has a percent sign: in its cell or the
        next.
        """
        row = self.rows[cell.row]
        at = bisect_left(row, cell.col, key=lambda c: c.col)
        left = self._beside(cell, at - 1)
        right = self._beside(cell, at + 1)
        text = cell.text
        beside = left if len(left) <= 3 else ""
        money = next((c for c in (*text, *beside) if c in SIGNS), "")
        percent = "%" in text or (len(right) <= 3 and "%" in right)
        return money, percent

    def _beside(self, cell: Cell, at: int) -> str:
        """The text at place ``at`` of a cell's row, where it touches the cell and begins in that row."""
        row = self.rows[cell.row]
        if not 0 <= at < len(row) or row[at].row != cell.row:
            return ""
        other = row[at]
        return other.text if cell.col in (other.end, other.col - cell.colspan) else ""


class GridBuilder:
    """Places cells one after another with row and column spans; ``points_rare``: see :func:`style_of`.

    Raises:
        InputError: the table has more than :data:`MAX_CELLS` cells or :data:`MAX_COLUMNS` columns.
    """

    def __init__(self, what: str = "the table", points_rare: bool = False) -> None:
        self.what = what
        self.points_rare = points_rare
        self._rows: list[list[Cell]] = []
        self._spans: list[tuple[int, int, int, Cell | None]] = []
        """What reaches into the row from above, left to right: first column, column after, last row, and the
        cell if it has text."""
        self._begun: list[tuple[int, int, int, Cell | None]] = []
        """The same of the cells of this row that go on below."""
        self._next = 0
        self._col = 0
        self._count = 0

    def row(self) -> None:
        """Begin the next row."""
        row = len(self._rows)
        if self._spans or self._begun:
            self._spans = sorted((s for s in (*self._spans, *self._begun) if s[2] >= row), key=lambda s: s[0])
            self._begun = []
            self._add(len(self._spans))
        self._rows.append([s[3] for s in self._spans if s[3] is not None])
        self._next = 0
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
        col: int = 0,
        place: str = "",
        silent: str = "",
    ) -> None:
        """Place the row's next cell in the first free column, at ``col`` or right of it."""
        if not self._rows:
            self.row()
        self._add(1)
        row = len(self._rows) - 1
        colspan, rowspan = max(1, min(colspan, 1000)), max(1, min(rowspan, MAX_ROWSPAN))
        col = self._free(max(col, self._col), colspan)
        self._col = col + colspan
        if self._col > MAX_COLUMNS:
            raise InputError(f"{self.what} has more than {MAX_COLUMNS:,} columns")
        made = Cell(
            text,
            row,
            col,
            rowspan,
            colspan,
            plain or text,
            indent,
            bold,
            tuple(marks),
            place=place,
            silent=silent,
        )
        if text:
            self._rows[row].append(made)
        if rowspan > 1:
            self._begun.append((col, self._col, row + rowspan - 1, made if text else None))

    def _add(self, cells: int) -> None:
        self._count += cells
        if self._count > MAX_CELLS:
            raise InputError(f"{self.what} has more than {MAX_CELLS:,} cells")

    def _free(self, col: int, colspan: int) -> int:
        while self._next < len(self._spans):
            start, end, _, _ = self._spans[self._next]
            if start >= col + colspan:
                break
            col = max(col, end)
            self._next += 1
        return col

    def build(self) -> Grid:
        """The finished grid; a spanning cell is listed in every row that it covers."""
        rows = [_whole(sorted(row, key=lambda c: c.col)) for row in self._rows]
        style = style_of((c.text for r, row in enumerate(rows) for c in row if c.row == r), self.points_rare)
        if style is Style.PLAIN:
            return Grid(rows)
        kept: dict[int, Cell] = {}  # a cell that spans rows stays one and the same

        def styled(cell: Cell) -> Cell:
            if cell.rowspan == 1:
                return replace(cell, style=style)
            return kept.setdefault(id(cell), replace(cell, style=style))

        return Grid([[styled(c) for c in row] for row in rows])


_HEAD = re.compile(r"[^\w.,]*\d{1,3}")
_TAIL = re.compile(r"(?:,\d{3})+(?:\.\d+)?[\s)%]*")


def _whole(row: list[Cell]) -> list[Cell]:
    """A row in which a number that is split over adjacent cells (``1`` and ``,234``) is one cell."""
    if not any(c.text.startswith(",") for c in row):
        return row
    out: list[Cell] = []
    for cell in row:
        head = out[-1] if out else None
        if (
            head is not None
            and (head.end, head.row, head.rowspan, cell.rowspan) == (cell.col, cell.row, 1, 1)
            and not (head.marks or cell.marks)
            and _HEAD.fullmatch(head.text)
            and _TAIL.fullmatch(cell.text)
        ):
            text, span = head.text + cell.text, head.colspan + cell.colspan
            out[-1] = replace(head, text=text, plain=text, colspan=span)
        else:
            out.append(cell)
    return out
