"""The implicit layout of a grid: headings over several columns, tables side by side, the width of the labels,
and whether it has values.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace

from .grid import Cell, Grid
from .years import heads_units, names_period

_INNER = re.compile(
    r"\b(?:location|caption|classification|line item|type|nature|description|maturity|currency|basis|method"
    r"|technique|input|counterparty|rating|status|segment|country|hierarchy|level|instrument|security|date|term|name|title)s?\b",
    re.IGNORECASE,
)
"""Headings of a column of words that tells more of its row, not of the values after it."""
MAX_HEADING_ROWS = 12
"""Rows of headings above the first values that are looked at."""
_SUM = re.compile(r"total\b", re.IGNORECASE)


def spread_headings(grid: Grid) -> Grid:
    """The grid with headings extended to the right over empty cells, like merged headings.

    A CSV text writes ``Three months`` over 2024 and 2023 only once, with nothing beside it. A row of headings
    with a spanning cell is explicit and is unchanged.
    """
    first = _first_values(grid)
    rows = list(grid.rows)
    lower: list[Cell] = []
    for r in range(min(first, len(rows)) - 1, max(-1, first - MAX_HEADING_ROWS - 1), -1):
        own = _own(rows[r], r)
        if len(own) == 1 and not lower and own[0].col and own[0].colspan == 1 and heads_units(own[0].text):
            over = own[0].col, max(c.end for row in rows[first : first + 1] for c in (*row, own[0]))
            rows[r] = [_spread(c, over) if c is own[0] else c for c in rows[r]]
        if len(lower) > 1 and not any(c.colspan > 1 or c.rowspan > 1 for c in rows[r]):
            spans = _spans([c for c in rows[r] if c.row == r and c.col >= lower[0].col], lower)
            rows[r] = [_spread(c, spans[c.col]) if c.col in spans else c for c in rows[r]]
        if len(own) > 1:
            lower = own
    return Grid(rows)


def _spread(cell: Cell, over: tuple[int, int]) -> Cell:
    return replace(cell, col=over[0], colspan=over[1] - over[0])


def _own(row: Sequence[Cell], r: int) -> list[Cell]:
    """The cells that begin in a row, except a label in the first column."""
    found = [c for c in row if c.row == r and not c.placeholder]
    return found[1:] if found and found[0].col == 0 and len(found) > 1 else found


def _spans(uppers: Sequence[Cell], lower: Sequence[Cell]) -> dict[int, tuple[int, int]]:
    """Column of each extended heading, its first column and the column after its last."""
    if not uppers or len(lower) <= len(uppers):
        return {}
    if len(uppers) == 1 and uppers[0].col == lower[0].col and heads_units(uppers[0].text):
        return {uppers[0].col: (lower[0].col, lower[-1].end)}
    size, rest = divmod(len(lower), len(uppers))
    if not rest and size % 2 and all(u.col == lower[i * size + size // 2].col for i, u in enumerate(uppers)):
        return {  # each stands over the middle of its columns
            u.col: (lower[i * size].col, lower[(i + 1) * size - 1].end) for i, u in enumerate(uppers)
        }
    starts = [c.col for c in lower]
    groups: list[list[Cell]] = []
    for place, upper in enumerate(uppers):
        end = uppers[place + 1].col if place + 1 < len(uppers) else lower[-1].end
        groups.append(list(lower[bisect_left(starts, upper.col) : bisect_left(starts, end)]))
    if any(not g or g[0].col != u.col for g, u in zip(groups, uppers, strict=True)):
        return {}
    widest = max((len(g) for g in groups[:-1]), default=len(groups[-1]))
    groups[-1] = groups[-1][:widest]
    texts = [[c.text for c in g] for g in groups]
    alike = len(groups) > 1 and all(t == texts[0] for t in texts)
    if not (alike or any(names_period(u.text) for u in uppers) or uppers[0].col == lower[0].col):
        return {}
    return {u.col: (u.col, g[-1].end) for u, g in zip(uppers, groups, strict=True) if len(g) > 1}


def _first_values(grid: Grid) -> int:
    return next(
        (r for r, row in enumerate(grid.rows) if any(c.figure and not c.loose for c in row)), len(grid.rows)
    )


def side_by_side(grid: Grid) -> Iterator[tuple[Grid, int]]:
    """The tables that are side by side in one grid, left to right, each with its first column.

    A second column of labels begins another table where what stands left of it has values of its own, and
    both have headings in common, a total, or rows that only one of them has, or no value has a heading.
    """
    left = 0
    while (split := _second_labels(grid, left)) is not None:
        yield Grid([[c for c in row if c.col < split] for row in grid.rows]), left
        grid = Grid([[c for c in row if c.end > split] for row in grid.rows])
        left = split
    yield grid, left


def _second_labels(grid: Grid, left: int) -> int | None:
    """The column of the second labels, counted from ``left``."""
    starts: dict[int, list[Cell]] = {}
    first = _first_values(grid)
    for row in grid.rows[first:]:
        for cell in row:
            if cell.col > left and cell.worded:
                starts.setdefault(cell.col, []).append(cell)
    for col in sorted(starts):
        if len(starts[col]) >= 2 and _begins_table(grid, first, left, col, starts[col]):
            return col
    return None


def _begins_table(grid: Grid, first: int, left: int, col: int, labels: Sequence[Cell]) -> bool:
    here = {c.row for c in labels}
    both = alone = 0
    sums = [False, False]
    for r in range(first, len(grid.rows)):
        own = [c for c in grid.rows[r] if c.row == r]
        west, east = [c for c in own if c.end <= col], [c for c in own if c.col >= col]
        values = [any(c.figure or c.yearlike for c in side) for side in (west, east)]
        if values[1] and r not in here and any(c.worded for c in west):
            return False  # a value there belongs to the label on the left
        words = [c for c in west if c.worded]
        if len(words) > 1 and values[0]:
            return False  # the left table has words beside its labels: so may the columns after it
        both += all(values)
        alone += bool(words or values[0]) != bool(east)
        for i, side in enumerate((west, east)):
            sums[i] |= any(_SUM.match(c.text) for c in side if c.worded)
    if both < 2 or len({c.text for c in labels}) * 5 < 4 * len(labels):
        return False
    heads = [[c for c in row if c.row == r] for r, row in enumerate(grid.rows[:first])]
    if any(_INNER.search(c.text) for row in heads for c in row if c.col <= col < c.end and c.colspan < 3):
        return False
    west_heads = {c.text for row in heads for c in row if c.end <= col and c.col > left}
    east_heads = {c.text for row in heads for c in row if c.col > col}
    apart = not any(c.end == col for row in grid.rows for c in row)
    named = {c.col for row in heads for c in row} <= {left, col}  # the values have no headings
    return bool(west_heads & east_heads) or all(sums) or alone > 0 or apart or named


def stub_width(grid: Grid, left: int) -> int:
    """The number of label columns on the left: at least 1, and 0 if values are in the first column and no row
    of values has a word.
    """
    ends: dict[int, int] = {}
    first = words = False
    for row in grid.rows:
        shown = [c for c in row if not c.silent]
        if shown and any(c.figure and not c.loose for c in shown):
            first = first or (shown[0].col == left and shown[0].figure)
            words = words or any(c.worded for c in shown)
            if (shown[0].worded or shown[0].loose) and (shown[0].col == left or row[0].silent):
                ends[shown[0].end - left] = ends.get(shown[0].end - left, 0) + 1
    return max(1, min(ends)) if ends else int(words or not first)


def is_layout(grid: Grid) -> bool:
    """Whether a table only arranges text: bullet points, signatures, page furniture.

    A table of values has a figure alone in a cell, or several labels with bare years below headings. Bullets,
    list numbers and page numbers do not count.
    """
    headed, years = False, 0
    for row in grid.rows:
        if len(row) < 2:
            continue
        for cell in row[1:]:
            if cell.figure and (cell.number is not None or cell.marks) and len(cell.text) < 60:
                return False
        years += headed and row[0].worded and any(c.yearlike for c in row[1:])
        headed = headed or all(c.worded for c in row[-2:])
    return years < 2
