"""Tables that follow one another with nothing between: a statement may be made of one-row tables, the years
may stand in a table of their own above the values, and a table may go on without its headings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .grid import Cell, Grid
from .headers import locate
from .placed import Piece, grid_of_lines
from .years import has_year, heads_units, names_period

MAX_ROWS = 2
"""Rows of a table that may be a part of another."""

MAX_TEXT = 120
"""Characters of a cell in such a table."""

MAX_JOINED = 2_000
"""Tables that are joined to one."""


@dataclass(frozen=True)
class Part:
    """A table in a page. ``edges`` are start and end of its grid columns, in percent of its width, if
    stated.
    """

    grid: Grid
    caption: str = ""
    edges: tuple[float, ...] = ()

    @property
    def rows(self) -> list[list[Cell]]:
        return [row for row in self.grid.rows if row]

    @property
    def valued(self) -> bool:
        return any(c.figure for row in self.grid.rows for c in row)

    @property
    def short(self) -> bool:
        """Whether it may be one row of a larger table."""
        rows = self.rows
        return len(rows) <= MAX_ROWS and all(
            len(c.text) <= MAX_TEXT or len(row) == 1 for row in rows for c in row
        )

    @property
    def width(self) -> int:
        return max((c.end for row in self.grid.rows for c in row), default=0)


class TableRun:
    """Takes tables in order and returns complete ones, joined if they belong together."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._parts: list[Part] = []

    def add(self, part: Part) -> Iterator[Part]:
        """Add the next table; yields the tables before it if it does not continue them."""
        if not part.rows:
            return
        if self._parts and not (len(self._parts) < MAX_JOINED and self._joins(part)):
            yield from self.flush()
        self._parts.append(part)

    def flush(self) -> Iterator[Part]:
        """The held tables, as one table or unchanged."""
        parts, self._parts = self._parts, []
        if len(parts) > 1 and any(p.valued for p in parts):
            yield Part(self._joined(parts), parts[0].caption)
        else:
            yield from parts

    def _joins(self, part: Part) -> bool:
        before = self._parts
        if part.caption or not all(_fit(p, part) for p in before[-1:]):
            return False
        if part.short and all(p.short for p in before):
            return True
        return len(before) == 1 and _heads(before[0]) and part.valued and not _headed(part)

    def _joined(self, parts: Sequence[Part]) -> Grid:
        if any(len(p.edges) for p in parts) and not _alike(parts):
            lines = [line for at, p in enumerate(parts) for line in _lines(p, at)]
            return grid_of_lines([line for line in lines if line], self.what)
        return stacked([p.grid for p in parts])


def stacked(grids: Sequence[Grid]) -> Grid:
    """Grids of the same columns, one below the other."""
    rows: list[list[Cell]] = []
    for grid in grids:
        above = len(rows)
        made: dict[int, Cell] = {}
        rows += [[made.setdefault(id(c), replace(c, row=c.row + above)) for c in row] for row in grid.rows]
    return Grid(rows)


def headed_columns(grid: Grid) -> set[int]:
    """The columns of a table that have headings."""
    if any(c.figure for row in grid for c in row):
        return {place.cell.col for place in locate(grid) if place.column_header}
    return {
        c.col
        for row in grid
        for c in row
        if c.col and (has_year(c.text) or names_period(c.text) or c.worded or c.year)
    }


def goes_on(grid: Grid, headed: set[int]) -> bool:
    """Whether a table has no headings, and its values are in columns that have headings above."""
    places = list(locate(grid))
    return bool(places) and all(not p.column_header and p.cell.col in headed for p in places)


def _fit(before: Part, part: Part) -> bool:
    """Whether two tables have the same columns, or state their column positions."""
    if before.width == part.width or (before.edges and part.edges):
        return True
    return any(len(p.rows) == 1 and len(p.rows[0]) == 1 for p in (before, part))


def _alike(parts: Sequence[Part]) -> bool:
    """Whether the columns of all parts are the same."""
    return len({p.edges for p in parts if p.width > 1}) == 1


def _heads(part: Part) -> bool:
    """Whether a table has only column headings: years, periods, units."""
    rows = part.rows
    cells = [c for row in rows for c in row]
    if part.valued or len(rows) > 4 or any(len(c.text) > MAX_TEXT for c in cells):
        return False
    return any(
        len(row) > 1 and any(has_year(c.text) or names_period(c.text) or heads_units(c.text) for c in row)
        for row in rows
    )


def _headed(part: Part) -> bool:
    return any(place.column_header for place in locate(part.grid))


def _lines(part: Part, at: int) -> Iterator[list[Piece]]:
    """The rows of a table as lines of pieces; a value takes the right end of its cell."""
    for r, row in enumerate(part.grid.rows):
        line: list[Piece] = []
        for cell in row:
            if cell.row != r:
                continue
            edges = part.edges
            x0, x1 = (
                (edges[cell.col], edges[min(cell.end, len(edges) - 1)])
                if len(edges) > cell.col
                else (0.0, 100.0)
            )
            if cell.figure or cell.placeholder:
                x0 = max(x0, x1 - len(cell.text))
            line.append(Piece(cell.text, x0, x1, at, at + 1.0, cell.marks, cell.plain, cell.bold, cell.place))
        yield line
