"""Row and column header chains of the values of a table.

A table is read from the top: rows before the first value are column headers; a labelled row without
values opens a section; later rows of headings (a new set of dates, say) replace the column headers. Where
the document moves labels in, a section holds for the deeper rows below it; else a section that follows
another at once nests in it, and one that comes after values replaces what was open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .grid import Cell, Grid

UNLABELLED = "Total"
"""The row header of values in a row without any label: such a row closes a block with its sum."""


@dataclass(frozen=True)
class Located:
    """A value cell with its header chains, outermost part first.

    ``labelled`` is False where the row has no label of its own (:data:`UNLABELLED` stands for it).
    """

    cell: Cell
    row_chain: tuple[str, ...]
    column_chain: tuple[str, ...]
    labelled: bool = True

    @property
    def row_header(self) -> str:
        return " | ".join(self.row_chain)

    @property
    def column_header(self) -> str:
        return " | ".join(self.column_chain)


@dataclass
class _Section:
    """``inside`` is the indent of the rows that it holds, known once the first of them is seen."""

    text: str
    indent: float
    row: int
    inside: float | None = None

    def holds(self, label: Cell, section: bool) -> bool:
        """Whether a row with this label (``section``: a section row) stands in it."""
        if self.inside is None:
            level = not section and label.indent == self.indent and self.text.endswith(":")
            if label.indent > self.indent or level:
                self.inside = label.indent
                return True
            return False
        return label.indent >= self.inside

    def sums(self, label: Cell) -> bool:
        """Whether a row is moved in below a section whose own rows are not: a sum, outside of it."""
        return self.inside == self.indent and label.indent > self.indent


class HeaderReader:
    """Reads one grid from top to bottom; :meth:`locate` yields its values."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.stub = _stub_width(grid)
        self.indented = len({c.indent for row in grid.rows for c in row[:1] if c.worded and c.col == 0}) > 1
        """Whether the document moves some labels in."""
        self.headers: list[list[Cell]] = []
        self.sections: list[_Section] = []
        self._heading = True
        self._last_values = -1

    def locate(self) -> Iterator[Located]:
        """Every value with its headers, in reading order."""
        for r, row in enumerate(self.grid.rows):
            own = [c for c in row if c.row == r]
            if _is_heading(own, self.stub):
                self._column_headers(own, _label(row))
                continue
            values = [c for c in own if c.figure]
            label = _label(row)
            if values:
                self._heading = False
                self._last_values = r
                if label is not None and self.indented:
                    self._leave(label, section=False)
                for cell in values:
                    yield self._located(cell, label, row)
            elif label is not None and label.row == r and not _has_data(own, label):
                self._section(label, r)

    def _column_headers(self, own: list[Cell], label: Cell | None) -> None:
        if not self._heading:
            self.headers = []
            self._heading = True
        self.headers.append([c for c in own if c.col >= self.stub and not c.placeholder])

    def _section(self, label: Cell, row: int) -> None:
        self._leave(label, section=True)
        self.sections.append(_Section(_clean(label.text), label.indent, row))

    def _leave(self, label: Cell, section: bool) -> None:
        """Close the sections that do not hold a row with this label."""
        if self.indented:
            self.sections = [s for s in self.sections if s.holds(label, section)]
        elif self.sections and self.sections[-1].row < self._last_values:
            self.sections = []

    def _located(self, cell: Cell, label: Cell | None, row: list[Cell]) -> Located:
        column = self._column_chain(cell)
        parents = [s.text for s in self.sections if label is None or not s.sums(label)]
        if label is not None:
            return Located(cell, (*parents, _clean(label.text)), column)
        if cell.worded:  # a tagged number inside a text
            return Located(cell, (*parents, _clean(cell.text)), column)
        return Located(cell, (*parents, UNLABELLED), column, labelled=False)

    def _column_chain(self, cell: Cell) -> tuple[str, ...]:
        chain: list[str] = []
        for row in self.headers:
            for heading in row:
                if heading.col < cell.end and cell.col < heading.end:
                    text = _clean(heading.text)
                    if text and (not chain or chain[-1] != text):
                        chain.append(text)
        return tuple(chain)


def locate(grid: Grid) -> Iterator[Located]:
    """Every value of a table with its headers, in reading order."""
    return HeaderReader(grid).locate()


def _label(row: list[Cell]) -> Cell | None:
    """The label of a row: its first cell with letters, or a year, date or code in its first column."""
    for cell in row:
        if cell.worded:
            return cell
        if cell.col == 0 and (cell.year or (cell.number is None and not cell.placeholder)):
            return cell
    return None


def _stub_width(grid: Grid) -> int:
    """How many grid columns on the left hold labels, at least 1."""
    ends: dict[int, int] = {}
    for row in grid.rows:
        if row and row[0].worded and row[0].col == 0 and any(c.figure for c in row[1:]):
            ends[row[0].end] = ends.get(row[0].end, 0) + 1
    return max(1, min(ends)) if ends else 1


def _is_heading(own: list[Cell], stub: int) -> bool:
    """Whether a row holds headings beyond the labels: words or years, and no value."""
    if any(c.marks for c in own):
        return False
    beyond = [c for c in own if c.col >= stub and not c.placeholder]
    return bool(beyond) and not any(c.number is not None and not c.year for c in beyond)


def _has_data(own: list[Cell], label: Cell) -> bool:
    """Whether a row without numbers still is a data row: placeholders such as dashes stand in it."""
    return any(c is not label and c.placeholder and c.text.strip() for c in own)


def _clean(text: str) -> str:
    return " ".join(text.split()).replace("|", "/")
