"""Row and column header chains of the values of a table.

A table is read from the top: rows before the first value are column headers; a labelled row without
values opens a section; later rows of headings (a new set of dates, say) replace the column headers. Where
the document moves labels in, a section holds for the deeper rows below it; else a section that follows
another at once nests in it, and one that comes after values replaces what was open.

A bare number such as 2024 is a heading or a value by its place (:mod:`.years`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from .grid import Cell, Grid
from .years import dates_column, follow, has_year, heads_years, names_period, neighbours

UNLABELLED = "Total"
"""The row header of values in a row without any label: such a row closes a block with its sum."""

MAX_NESTED = 8
"""Sections inside one another; the innermost are kept."""

MAX_HEADING_ROWS = 12
"""Rows of headings that hold for a value; the nearest are kept."""

MAX_PARTS = 12
"""Parts of a header chain; the innermost are kept."""

MAX_PART = 600
"""Characters of one part of a header chain; a longer text is cut."""

MAX_HEADER = 1200
"""Characters of all parts of a chain; outer parts beyond it are left out."""


@dataclass(frozen=True)
class Located:
    """A value cell with its headers: the parts of each chain, outermost first, joined by ``" | "``.

    ``labelled`` is False where the row has no label of its own (:data:`UNLABELLED` stands for it).
    """

    cell: Cell
    row_header: str
    column_header: str
    labelled: bool = True


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


class _Headings:
    """The rows of headings that hold for what follows, found by column."""

    def __init__(self) -> None:
        self.rows: deque[tuple[list[int], list[Cell]]] = deque(maxlen=MAX_HEADING_ROWS)
        self.stubbed = False
        """Whether the labels have a heading of their own."""
        self._chains: dict[tuple[int, int], tuple[str, ...]] = {}
        self._joined: dict[tuple[int, int], str] = {}

    def add(self, cells: list[Cell], label: Cell | None) -> None:
        self.rows.append(([c.end for c in cells], cells))
        self.stubbed = self.stubbed or (label is not None and not heads_years(label.text))
        self._chains.clear()
        self._joined.clear()

    def over(self, cell: Cell) -> Iterator[Cell]:
        """The headings above a cell, top row first, at most :data:`MAX_PARTS` of a row."""
        for ends, cells in self.rows:
            first = bisect_right(ends, cell.col)
            for heading in cells[first : first + MAX_PARTS]:
                if heading.col >= cell.end:
                    break
                yield heading

    def chain(self, cell: Cell) -> tuple[str, ...]:
        """The parts of a cell's column header."""
        key = (cell.col, cell.end)
        if key not in self._chains:
            parts: list[str] = []
            for heading in self.over(cell):
                text = _clean(heading.text)
                if text and (not parts or parts[-1] != text):
                    parts.append(text)
            self._chains[key] = tuple(parts)
        return self._chains[key]

    def header(self, cell: Cell) -> str:
        """A cell's column header; one text for all cells of a column."""
        key = (cell.col, cell.end)
        if key not in self._joined:
            self._joined[key] = _join(self.chain(cell))
        return self._joined[key]


class HeaderReader:
    """Reads one grid from top to bottom; :meth:`locate` yields its values."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.stub = _stub_width(grid)
        self.indented = len({c.indent for row in grid.rows for c in row[:1] if c.worded and c.col == 0}) > 1
        """Whether the document moves some labels in."""
        self.headings = _Headings()
        self.sections: list[_Section] = []
        self._heading = True
        self._heading_rows: set[int] = set()
        self._last_values = -1

    def locate(self) -> Iterator[Located]:
        """Every value with its headers, in reading order."""
        for r, row in enumerate(self.grid.rows):
            own = [c for c in row if c.row == r]
            label = self._label(row)
            if self._is_heading(own, label):
                self._heading_rows.add(r)
                self._column_headers(own, label)
                continue
            values = [c for c in own if c.figure or self._counts(c, label)]
            if values:
                self._heading = False
                self._last_values = r
                if label is not None and self.indented:
                    self._leave(label, section=False)
                header = self._row_header(label, _inner_label(row, label))
                for cell in values:
                    yield Located(cell, header, self.headings.header(cell), label is not None)
            elif label is not None and label.row == r and not self._has_data(own, label):
                self._section(label, r)

    def _label(self, row: list[Cell]) -> Cell | None:
        """The label of a row: its first cell with letters, or a year, date or code in its first column."""
        for cell in row:
            if cell.worded:
                return cell
            if cell.col == 0 < self.stub and (cell.year or (cell.number is None and not cell.placeholder)):
                return cell
        return None

    def _is_heading(self, own: list[Cell], label: Cell | None) -> bool:
        """Whether a row holds headings beyond the labels: words or years, and no value."""
        if any(c.marks for c in own):
            return False
        beyond = [c for c in own if c.col >= self.stub and not c.placeholder]
        if not beyond or any(c.number is not None and not c.year for c in beyond):
            return False
        years = [c for c in beyond if c.yearlike]
        return not years or self._are_headings(years, label)

    def _are_headings(self, years: list[Cell], label: Cell | None) -> bool:
        """Whether the years of a row without other numbers are headings.

        Without a label, or with one that only heads the years (a unit, a period), they are; so they are where
        they repeat the headings above. In a row with a label of its own they are before the first value,
        unless the headings above are already whole or the years lie too far apart.
        """
        if label is None or label.col >= self.stub:
            return self.stub > 0 or self._last_values < 0
        if label.row in self._heading_rows or heads_years(label.text):
            return True
        above = [list(self.headings.over(c)) for c in years]
        if all(
            any(h.col == c.col and h.text == c.text for h in hs) for c, hs in zip(years, above, strict=True)
        ):
            return True
        texts = [c.text for c in years]
        return self._last_values < 0 and not self._whole(above, texts) and follow(texts)

    def _whole(self, above: list[list[Cell]], years: list[str]) -> bool:
        """Whether what stands above a row's cells are all their headings: the labels have one too, or each
        cell has its own, which names no period. Neighbouring years below headings without one (Group,
        Company) are missing from them."""
        if not all(above):
            return False
        if neighbours(years) and not any(has_year(h.text) for headings in above for h in headings):
            return False
        innermost = [hs[-1] for hs in above]
        own = len({(h.row, h.col) for h in innermost}) == len(innermost)
        return self.headings.stubbed or (own and not any(names_period(h.text) for h in innermost))

    def _counts(self, cell: Cell, label: Cell | None) -> bool:
        """Whether a bare number such as 2024 in a row of data is a value: not in a column of dates."""
        if not cell.yearlike or cell is label or cell.col < self.stub:
            return False
        chain = self.headings.chain(cell)
        return not (chain and dates_column(chain[-1]))

    def _has_data(self, own: list[Cell], label: Cell) -> bool:
        """Whether a row without values still is a data row: dashes or dates stand in it."""
        return any(c is not label and ((c.placeholder and c.text.strip()) or c.yearlike) for c in own)

    def _column_headers(self, own: list[Cell], label: Cell | None) -> None:
        if not self._heading:
            self.headings = _Headings()
            self._heading = True
        named = label if label is not None and label.col < self.stub else None
        self.headings.add([c for c in own if c.col >= self.stub and not c.placeholder], named)

    def _section(self, label: Cell, row: int) -> None:
        self._leave(label, section=True)
        self.sections.append(_Section(_clean(label.text), label.indent, row))
        del self.sections[:-MAX_NESTED]

    def _leave(self, label: Cell, section: bool) -> None:
        """Close the sections that do not hold a row with this label."""
        if self.indented:
            self.sections = [s for s in self.sections if s.holds(label, section)]
        elif self.sections and self.sections[-1].row < self._last_values:
            self.sections = []

    def _row_header(self, label: Cell | None, inner: Cell | None) -> str:
        parents = [s.text for s in self.sections if label is None or not s.sums(label)]
        own = [UNLABELLED if label is None else _clean(label.text)]
        return _join((*parents, *own, *([_clean(inner.text)] if inner else [])))


def locate(grid: Grid) -> Iterator[Located]:
    """Every value of a table with its headers, in reading order."""
    return HeaderReader(grid).locate()


def _inner_label(row: list[Cell], label: Cell | None) -> Cell | None:
    """What tells the rows apart that one label spans: the words after it, before the first value."""
    if label is None or label.rowspan == 1:
        return None
    for cell in row:
        if cell.col >= label.end and cell.figure:
            return None
        if cell.col >= label.end and cell.worded:
            return cell
    return None


def _stub_width(grid: Grid) -> int:
    """How many grid columns on the left hold labels: at least 1, and 0 where values stand in the first column
    and no row of values has a word."""
    ends: dict[int, int] = {}
    first = words = False
    for row in grid.rows:
        if any(c.figure for c in row):
            first = first or (row[0].col == 0 and row[0].figure)
            words = words or any(c.worded for c in row)
            if row[0].worded and row[0].col == 0:
                ends[row[0].end] = ends.get(row[0].end, 0) + 1
    return max(1, min(ends)) if ends else int(words or not first)


def _join(parts: tuple[str, ...]) -> str:
    """A chain as one text, within its limits."""
    kept: list[str] = []
    length = 0
    for part in reversed(parts[-MAX_PARTS:]):
        length += len(part)
        if kept and length > MAX_HEADER:
            break
        kept.append(part)
    return " | ".join(reversed(kept))


def _clean(text: str) -> str:
    return " ".join(text[: 2 * MAX_PART].split()).replace("|", "/")[:MAX_PART].rstrip()
