"""Row and column header chains of the values of a table.

A table is read from the top. Lone texts before the headings are its caption. Rows before the first value are
column headers. A labelled row without values opens a section (:mod:`.sections`). Later rows of headings (such
as new dates) replace the column headers. Below the first values, an unreadable cell does not make its row a
row of headings.

A bare number such as 2024, or text such as "1-3 years", is a heading or a value depending on its position
(:mod:`.years`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from .chains import MAX_PARTS, clean_part, join_chain
from .columns import silence
from .grid import Cell, Grid
from .mentions import Mention, find_mentions
from .sections import Sections
from .shape import side_by_side, spread_headings, stub_width
from .years import dates_column, follow, has_year, heads_units, heads_years, names_period, neighbours

UNLABELLED = "Total"
"""The row header of values in a row without any label: such a row closes a block with its sum."""

MAX_HEADING_ROWS = 12
"""Rows of headings that hold for a value; the nearest are kept."""


@dataclass(frozen=True)
class Located:
    """A value cell with its headers: the parts of each chain, outermost first, joined by ``" | "``.

    ``labelled`` is False if the row has no label (its header is then :data:`UNLABELLED`). ``mentions`` are
    the numbers in a cell's words, if these are its values ("allowance of $1,204").
    """

    cell: Cell
    row_header: str
    column_header: str
    labelled: bool = True
    mentions: tuple[Mention, ...] = ()


class _Headings:
    """The current rows of headings, by column."""

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
                text = clean_part(heading.text)
                if text and (not parts or parts[-1] != text):
                    parts.append(text)
            self._chains[key] = tuple(parts)
        return self._chains[key]

    def header(self, cell: Cell) -> str:
        """A cell's column header; one text for all cells of a column."""
        key = (cell.col, cell.end)
        if key not in self._joined:
            self._joined[key] = join_chain(self.chain(cell))
        return self._joined[key]


class HeaderReader:
    """Reads one grid from top to bottom; :meth:`locate` yields its values.

    Args:
        grid: the cells.
        left: the grid column of the labels.
    """

    def __init__(self, grid: Grid, left: int = 0) -> None:
        self.grid = grid
        self.left = left
        self.stub = left + stub_width(grid, left)
        indents = {c.indent for row in grid.rows for c in row[:1] if c.worded and c.col == left}
        self.headings = _Headings()
        self.sections = Sections(indented=len(indents) > 1)
        self.captions: list[str] = []
        """Titles and units that stand in the table, above its headings or in a row of their own."""
        self.unread: list[Cell] = []
        """Cells of rows with values that have figures and were not read."""
        self._heading = True
        self._heading_rows: set[int] = set()
        self._last_values = -1
        self._titled: bool | None = None

    def locate(self) -> Iterator[Located]:
        """Every value with its headers, in reading order, and every label with figures."""
        for r, row in enumerate(self.grid.rows):
            own = [c for c in row if c.row == r]
            label = self._label(row)
            if self._is_heading(own, label):
                self._heading_rows.add(r)
                self._column_headers(own, label)
                continue
            values: list[Cell] = []
            worded: list[Cell] = []
            for cell in own:
                (values if self._is_value(cell, label) else worded).append(cell)
            if values:
                self._heading = False
                self._last_values = r
                if label is not None:
                    self.sections.row(label)
                header = self._row_header(label, _inner_label(row, label))
                yield from self._mentions(worded, header, label is not None)
                for cell in values:
                    yield Located(cell, header, self.headings.header(cell), label is not None)
                if label is not None:
                    self.sections.close(label)
            elif label is not None and label.row == r:
                if self._is_caption(own, label, r):
                    self.captions.append(clean_part(label.text))
                    continue
                if self._has_data(own, label):
                    self.sections.row(label)
                    header = self._row_header(label, None)
                else:
                    self.sections.open(label, clean_part(label.text), self._last_values)
                    header = join_chain(self.sections.texts)
                yield from self._mentions(worded, header, True)

    def _mentions(self, cells: list[Cell], header: str, labelled: bool) -> Iterator[Located]:
        """The cells of a row that have amounts among their words."""
        for cell in cells:
            if not cell.unknown:
                continue
            if found := tuple(find_mentions(cell.text)):
                yield Located(cell, header, self.headings.header(cell), labelled, found)
            elif cell.col >= self.stub:
                self.unread.append(cell)

    def _is_value(self, cell: Cell, label: Cell | None) -> bool:
        if cell is label and not cell.marks:
            return False
        return cell.figure or self._counts(cell, label)

    def _label(self, row: list[Cell]) -> Cell | None:
        """The label of a row: its first cell with letters, or a year, range or code in its first column.

        A code is skipped if there are words between it and the first value.
        """
        found: Cell | None = None
        for cell in row:
            if cell.worded:
                return cell
            if cell.placeholder:
                continue
            if cell.col == self.left < self.stub:
                if cell.year or (cell.loose and len(row) > 1):
                    return cell
                if cell.number is None:
                    found = cell
                    continue
            if found is not None:
                return found
        return found

    def _is_caption(self, own: list[Cell], label: Cell, row: int) -> bool:
        """Whether a lone text is the table's caption: a unit, or a title above its first headings."""
        if any(c is not label and not c.placeholder for c in own):
            return False
        if heads_units(label.text):
            return True
        if self._last_values >= 0 or self._heading_rows:
            return False
        if self._titled is None:
            self._titled = self._headings_follow(row)
        return self._titled

    def _headings_follow(self, row: int) -> bool:
        """Whether the first row of several cells below one is a row of headings."""
        for r in range(row + 1, len(self.grid.rows)):
            own = [c for c in self.grid.rows[r] if c.row == r and not c.placeholder]
            label = self._label(self.grid.rows[r])
            if self._is_heading(own, label):
                return True
            if len(own) > 1 or any(self._is_value(c, label) for c in own):
                return False
        return False

    def _is_heading(self, own: list[Cell], label: Cell | None) -> bool:
        """Whether a row has headings besides labels: words, periods or years, and no value."""
        if any(c.marks for c in own):
            return False
        beyond = [c for c in own if c.col >= self.stub and not c.placeholder]
        if not beyond or any(c.number is not None and not (c.year or c.loose) for c in beyond):
            return False
        if self._last_values >= 0 and len(beyond) == 1 and heads_units(beyond[0].text):
            return False
        if self._last_values >= 0 and any(_unread(c, label) for c in beyond):
            return False
        if any(c.unknown and _mostly_digits(c) for c in beyond) and self._headed(beyond, label):
            return False
        loose = [c for c in beyond if c.loose and not c.year]
        if loose and not self._loose_head(loose, beyond, label):
            return False
        years = [c for c in beyond if c.yearlike]
        return not years or self._are_headings(years, label)

    def _headed(self, beyond: list[Cell], label: Cell | None) -> bool:
        """Whether each cell of a labelled row already has its own heading."""
        if label is None or label.col >= self.stub or heads_years(label.text):
            return False
        above = [list(self.headings.over(c)) for c in beyond]
        return all(above) and len({(hs[-1].row, hs[-1].col) for hs in above}) == len(beyond)

    def _loose_head(self, loose: list[Cell], beyond: list[Cell], label: Cell | None) -> bool:
        """Whether texts such as ``1-3 years`` are the headings of a row: several, above the values, without
        their own headings.
        """
        if len(beyond) < 2 or (label is not None and label.col < self.stub and self._last_values >= 0):
            return False
        above = [list(self.headings.over(c)) for c in loose]
        own = {tuple((h.row, h.col) for h in headings) for headings in above}
        if label is not None and all(above) and len(own) == len(loose):
            return False
        return self._firm_below(loose[0])

    def _firm_below(self, cell: Cell) -> bool:
        """Whether the column's next value has no unit."""
        for r in range(cell.row + 1, min(cell.row + 20, len(self.grid.rows))):
            for other in self.grid.rows[r]:
                if other.col < cell.end and cell.col < other.end and other.number is not None:
                    return not other.loose
        return False

    def _are_headings(self, years: list[Cell], label: Cell | None) -> bool:
        """Whether the years of a row without other numbers are headings.

        They are if the row has no label, or a label that only introduces the years (a unit, a period), or if
        they repeat the headings above. In a row with any other label, they are before the first value, unless
        the headings above are complete or the years are too far apart.
        """
        if label is None or label.col >= self.stub:
            return self.stub > self.left or self._last_values < 0
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
        """Whether a bare number such as 2024 in a row of data is a value, which it is not in a column of
        dates.
        """
        if not cell.yearlike or cell is label or cell.col < self.stub:
            return False
        chain = self.headings.chain(cell)
        return not (chain and dates_column(chain[-1]))

    def _has_data(self, own: list[Cell], label: Cell) -> bool:
        """Whether a row without values is still a data row: dashes, dates or unreadable cells."""
        return any(
            c is not label
            and ((c.placeholder and c.text.strip()) or c.yearlike or c.unknown or c.col >= self.stub)
            for c in own
        )

    def _column_headers(self, own: list[Cell], label: Cell | None) -> None:
        if not self._heading:
            self.headings = _Headings()
            self._heading = True
        named = label if label is not None and label.col < self.stub else None
        self.headings.add([c for c in own if c.col >= self.stub and not c.placeholder], named)

    def _row_header(self, label: Cell | None, inner: Cell | None) -> str:
        own = [UNLABELLED if label is None else clean_part(label.text)]
        return join_chain((*self.sections.chain(label), *own, *([clean_part(inner.text)] if inner else [])))


def _unread(cell: Cell, label: Cell | None) -> bool:
    """Whether a cell below the first values rules out a row of headings: it has unreadable figures, or any
    figures in a row with a label.
    """
    if not cell.unknown:
        return False
    return label is not None or _mostly_digits(cell)


def _mostly_digits(cell: Cell) -> bool:
    return sum(map(str.isalpha, cell.text)) <= max(3, sum(map(str.isdigit, cell.text)))


@dataclass
class TableReading:
    """The result of reading a table: its values, its caption texts, and cells with unread figures and the
    reasons.
    """

    places: list[Located] = field(default_factory=list)
    captions: list[str] = field(default_factory=list)
    unread: list[tuple[Cell, str]] = field(default_factory=list)


def read_table(grid: Grid, above: str = "") -> TableReading:
    """Every value of a table with its headers, in reading order; blocks that are side by side are read one
    after another.

    Args:
        grid: the table.
        above: the text above it.
    """
    reading = TableReading()
    grid = silence(grid, above)
    for row in grid.rows:
        reading.unread += [(c, c.silent) for c in row if c.silent]
    for block, left in side_by_side(spread_headings(grid)):
        reader = HeaderReader(block, left)
        reading.places += reader.locate()
        reading.captions += reader.captions
        reading.unread += [(c, "figures that no grammar explains") for c in reader.unread]
    return reading


def locate(grid: Grid) -> Iterator[Located]:
    """The values of :func:`read_table`."""
    yield from read_table(grid).places


def _inner_label(row: list[Cell], label: Cell | None) -> Cell | None:
    """The words that distinguish rows under one spanning label: those after it, before the first value."""
    if label is None or label.rowspan == 1:
        return None
    for cell in row:
        if cell.col >= label.end and cell.figure:
            return None
        if cell.col >= label.end and cell.worded:
            return cell
    return None
