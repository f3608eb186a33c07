"""Positioned pieces of text (blocks of a page, words of a PDF, rows of one-row tables), read as tables and
paragraphs.

Pieces at the same height form a line. A line with figures and other pieces is a table row. The columns are
where figures line up, and headings apply to the columns below them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from .blocks import Block, Paragraph, TableBlock
from .grid import Cell, Grid, GridBuilder, Mark

WIDE = 90
"""Characters of a lone piece from which on it is running text, not a row of a table."""

_OPEN = re.compile(
    r"(?:,|\([^)]*|\b(?:and|or|of|including|in|for|the|to|by|from|on|with|less))$", re.IGNORECASE
)
"""How a label ends that goes on in the next line."""

APART = 4
"""Lines without figures that end a table."""

MAX_ABOVE = 600


@dataclass(frozen=True)
class Piece:
    """A text from ``x0`` to ``x1``, its line from ``top`` to ``bottom``; all in one unit, downwards.

    ``figure`` marks a value. ``place`` is the source's name for its position (a page and a box).
    """

    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    marks: tuple[Mark, ...] = ()
    plain: str = ""
    bold: bool = False
    place: str = ""

    @property
    def cell(self) -> Cell:
        return Cell(self.text, 0, 0, plain=self.plain or self.text, marks=self.marks)


Line = Sequence[Piece]


def lines_of(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """The lines of pieces, top to bottom, each left to right. Pieces that overlap by half their height share
    a line.
    """
    lines: list[list[Piece]] = []
    low = 0.0
    for piece in sorted(pieces, key=lambda p: ((p.top + p.bottom) / 2, p.x0)):
        middle = (piece.top + piece.bottom) / 2
        if lines and middle <= low:
            lines[-1].append(piece)
        else:
            lines.append([piece])
            low = middle + 0.45 * (piece.bottom - piece.top)
    return [sorted(line, key=lambda p: p.x0) for line in lines]


def blocks_of(lines: Sequence[Line], what: str, above: str = "", least: int = 1) -> Iterator[Block]:
    """The tables and paragraphs of a page, in reading order; a table has at least ``least`` rows of
    values.
    """
    rows = [_is_row(line) for line in lines]
    start = 0
    while start < len(lines):
        first = next((i for i in range(start, len(lines)) if rows[i]), len(lines))
        last, end = first, first + 1
        while end < len(lines) and end - last <= APART and not _is_text(lines[end]):
            last = end if rows[end] else last
            end += 1
        if sum(rows[first : last + 1]) < least:
            first, last = len(lines), end - 1
        top = _headings_begin(lines, start, first) if first < len(lines) else min(end, len(lines))
        for paragraph in _paragraphs(lines[start:top]):
            yield paragraph
            above = paragraph.text[-MAX_ABOVE:]
        if first < len(lines):
            yield TableBlock(grid_of_lines(lines[top : last + 1], what), above)
            above = ""
        start = last + 1


def _is_row(line: Line) -> bool:
    """Whether a line is a row with a value: a tagged one, or a figure beside other pieces."""
    if any(p.marks for p in line):
        return True
    if len(line) < 2 or _is_text(line):
        return False
    labelled = line[0].cell.worded  # a line of years alone heads columns
    return any(p.cell.figure or (labelled and p.cell.yearlike) for p in line[1:])


def _is_text(line: Line) -> bool:
    return len(line) == 1 and len(line[0].text) > WIDE and not any(p.marks for p in line)


def _headings_begin(lines: Sequence[Line], start: int, first: int) -> int:
    """The first of the lines right above a table that head its columns: short pieces right of its labels."""
    values = [p for p in lines[first] if p.cell.figure or p.cell.yearlike]
    edge = min((p.x0 for p in values), default=lines[first][0].x1)
    left = lines[first][0].x0
    top = first
    while top > start and first - top < 2 * APART:
        line = lines[top - 1]
        beyond = [p for p in line if _over(p, left, edge, alone=len(line) == 1)]
        if _is_text(line) or (not beyond and len(line) > 1):
            break
        if not beyond and not any(
            _over(p, left, edge, alone=len(other) == 1)
            for other in lines[max(start, top - 3) : top - 1]
            for p in other
        ):
            break
        top -= 1
    return top


def _over(piece: Piece, left: float, edge: float, alone: bool) -> bool:
    """Whether a piece stands over the values, which begin at ``edge``, not over the labels at ``left``; one
    alone in its line may also be a title over both."""
    if alone:
        return (piece.x0 + piece.x1) / 2 >= edge
    return piece.x0 > left + (edge - left) / 2


def _paragraphs(lines: Sequence[Line]) -> Iterator[Paragraph]:
    """Lines without a table between them as paragraphs: a gap of more than a line's height parts them."""
    run: list[Piece] = []
    for line in lines:
        if run and line[0].top - run[-1].bottom > 0.9 * max(run[-1].bottom - run[-1].top, 1.0):
            yield _paragraph(run)
            run = []
        run += line
    if run:
        yield _paragraph(run)


def _paragraph(pieces: Sequence[Piece]) -> Paragraph:
    text, marks = "", []
    for piece in pieces:
        text += " " if text else ""
        marks += [Mark(m.name, m.start + len(text), m.end + len(text), m.unit) for m in piece.marks]
        text += piece.text
    return Paragraph(text, tuple(marks), pieces[0].place)


def grid_of_lines(lines: Sequence[Line], what: str) -> Grid:
    """Lines as table rows: labels in column 0, values by alignment, headings over the columns whose middle
    they cover.
    """
    lines = _unwrapped(lines)
    figures = [p for line in lines for p in line if p.cell.figure and (p is not line[0] or p.marks)]
    columns = _columns([*figures, *_inner_labels(lines)])
    middles = [(low + high) / 2 for low, high in columns]
    lows = [low for low, _ in columns]
    left = min((line[0].x0 for line in lines if line[0].cell.worded), default=0.0)
    first = columns[0][0] if columns else left
    indents = _indents(lines, left)
    builder = GridBuilder(what)
    for line in lines:
        builder.row()
        placed: dict[int, tuple[int, list[Piece]]] = {}
        for piece in line:
            col, span = _span(piece, lows, columns, middles, left, first)
            if col in placed and piece.cell.placeholder:
                continue
            placed.setdefault(col, (span, []))[1].append(piece)
        for col in sorted(placed):
            span, pieces = placed[col]
            whole = _paragraph(pieces)
            head = next((p for p in pieces if p.cell.figure), pieces[0])
            builder.cell(
                whole.text,
                colspan=span,
                plain=head.plain if len(pieces) == 1 else "",
                indent=indents.get(id(head), 0.0) if col == 0 else 0.0,
                bold=head.bold,
                marks=whole.marks,
                col=col,
                place=head.place,
            )
    return builder.build()


def _unwrapped(lines: Sequence[Line]) -> list[Line]:
    """The lines, with labels that go on over several of them in one: parts of a label stand closer to one
    another than the rows of values do, or the words say so."""
    gaps = [_gap(a, b) for a, b in pairwise(lines)]
    around = [gaps[max(0, i - 1) : i + 1] for i, line in enumerate(lines) if gaps and _is_row(line)]
    apart = sorted(map(max, around))
    usual = apart[len(apart) // 4] if apart else 0.0
    out: list[Line] = []
    for line in lines:
        before = out[-1] if out else ()
        if before and _goes_on(before, line, usual):
            first, more = before[0], line[0]
            whole = replace(first, text=f"{first.text} {more.text}", plain="", bottom=more.bottom)
            out[-1] = [whole, *(before[1:] or line[1:])]
        else:
            out.append(line)
    return out


def _gap(above: Line, below: Line) -> float:
    return min(p.top for p in below) - max(p.bottom for p in above)


def _goes_on(before: Line, line: Line, usual: float) -> bool:
    """Whether the label of a line is the rest of the label before; one of both is alone in its line."""
    first, more = before[0], line[0]
    if not (first.cell.worded and more.cell.worded) or more.marks or min(len(before), len(line)) > 1:
        return False
    letter = (first.x1 - first.x0) / max(1, len(first.text))
    if abs(more.x0 - first.x0) > 4 * letter:
        return False
    said = _OPEN.search(first.text) is not None
    return said or (_gap(before, line) < 0.6 * usual and not first.text.endswith(":"))


def _inner_labels(lines: Sequence[Line]) -> list[Piece]:
    """The labels of a table that stands beside another: words right of values, below one another."""
    found: dict[int, list[Piece]] = {}
    for line in lines:
        values = [p.x0 for p in line[1:] if p.cell.figure]
        for piece in line[1:]:
            if piece.cell.worded and values and min(values) < piece.x0 < max(values):
                found.setdefault(round(piece.x0 / 3), []).append(piece)
    return [p for pieces in found.values() if len(pieces) > 1 for p in pieces]


def _columns(figures: Sequence[Piece]) -> list[tuple[float, float]]:
    """The columns of values: runs of overlapping positions."""
    columns: list[tuple[float, float]] = []
    for low, high in sorted((p.x0, p.x1) for p in figures):
        if columns and low < columns[-1][1] - 0.3 * (high - low):
            columns[-1] = columns[-1][0], max(columns[-1][1], high)
        else:
            columns.append((low, high))
    return columns


def _span(
    piece: Piece,
    lows: Sequence[float],
    columns: Sequence[tuple[float, float]],
    middles: Sequence[float],
    left: float,
    first: float,
) -> tuple[int, int]:
    """The grid column of a piece and how many it covers."""
    if not columns or (piece.x0 < left + (first - left) / 2 and not piece.cell.figure):
        return 0, 1
    if piece.cell.figure:
        at = max(0, bisect_right(lows, (piece.x0 + piece.x1) / 2) - 1)
        return at + 1, 1
    low, high = bisect_left(middles, piece.x0), bisect_right(middles, piece.x1)
    if high > low:
        return low + 1, high - low
    middle = (piece.x0 + piece.x1) / 2
    near = min(range(len(columns)), key=lambda i: abs(middles[i] - middle)) if len(columns) < 50 else low
    return min(near, len(columns) - 1) + 1, 1


def _indents(lines: Sequence[Line], left: float) -> dict[int, float]:
    """The indents of labels; nearly equal ones count as equal."""
    found: dict[int, float] = {}
    levels: list[float] = []
    for piece in sorted((line[0] for line in lines if line[0].cell.worded), key=lambda p: p.x0):
        if not levels or piece.x0 - levels[-1] > 2.0:
            levels.append(piece.x0)
        found[id(piece)] = round(levels[-1] - left, 1)
    return found
