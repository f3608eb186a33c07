"""Columns without amounts: their numbers count the rows, refer to notes, or compare two other columns.

References to notes, page numbers of contents, serial and account numbers, and changes in percent are
recognised by a column's heading, values and neighbours. A number that the document tags stays a value.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from .grid import Cell, Grid

_NOTES = re.compile(
    r"(?:see )?(?:foot)?notes?(?: (?:no|ref|number)s?)?\.?|ref(?:erence)?s?\.?|sch(?:edule)?\.?(?: no)?\.?"
    r"|anhang|anm(?:erkung)?\.?|notas?",
    re.IGNORECASE,
)
_EXHIBITS = re.compile(r"exhibits?(?: (?:no|number|#)s?)?\.?|commission file (?:no|number)\.?", re.IGNORECASE)
_PAGES = re.compile(r"pages?(?: (?:no|number)s?)?\.?|seiten?|página", re.IGNORECASE)
_NUMBERS = re.compile(
    r"#|n[or]s?\.?|nº|(?:s|sr|sl|serial|item|line|row)\.? ?(?:no|number|#)?\.?"
    r"|(?:account|acct|a/c|gl|g/l|ledger|cost cent(?:er|re)|customer|vendor|product|part|invoice)\.?"
    r"(?: (?:no|number|code|id|#))\.?|(?:account|acct|gl) ?#|code|id",
    re.IGNORECASE,
)
_ACCOUNT_LABELS = re.compile(r"(?:account|acct|a/c|gl|g/l)\.?", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(?:changes?|chg\.?|variances?|var\.?|growth|increases?|decreases?|incr\.?|inc\.?|yoy|y/y|y-o-y)\b",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"%|\bpercent(?:age)?\b|\bpct\b|\byoy\b|\by/y\b|\by-o-y\b", re.IGNORECASE)
_REFERENCE = re.compile(r"(?:notes? )?\d{1,2}(?:\.\d{1,2})?(?:\([a-z]{1,3}\)|[a-z])?", re.IGNORECASE)
_BETWEEN = re.compile(r"\s*[,;&/–-]\s*|\s+and\s+")
_PAGE = re.compile(r"[A-Z]?-?\d{1,4}|[ivx]{1,6}", re.IGNORECASE)
_CODE = re.compile(r"\d{2,10}|\d{1,6}(?:[.-]\d{1,6}){1,4}")
_ORDER = re.compile(r"\(?(\d{1,4})[.):]{0,2}")
_OUTLINE = re.compile(r"(\d{1,3})(?:\.(\d{1,3}))?\W*(?:\(\w\))?\W*")
_CONTENTS = re.compile(r"\b(?:contents|index)\b", re.IGNORECASE)
_CHAPTER = re.compile(
    r"(?:item|part|note|section|schedule|chapter|exhibit|annex|appendix) *[\dIVXA-Z]|signatures?\b"
    r"|risk factors|table of contents|index to|glossary|exhibits?\b|forward-looking|consolidated|report of"
    r"|independent auditor|management's|quantitative and qualitative|controls and procedures"
    r"|legal proceedings|unregistered sales",
    re.IGNORECASE,
)

MAX_TOPS = 12
"""Rows of headings that are looked at; the nearest."""

NOTES, PAGES, SERIAL, ACCOUNTS, CHANGES = (
    "references to notes",
    "page numbers",
    "serial numbers",
    "account numbers",
    "changes in percent",
)


@dataclass(frozen=True)
class _Column:
    """The cells that begin in one grid column: ``cells`` below the headings, ``headings`` from the top."""

    col: int
    headings: list[str]
    cells: list[Cell]


def silence(grid: Grid, above: str = "") -> Grid:
    """The grid with the cells of such columns marked (:attr:`~.grid.Cell.silent` has the reason).

    Args:
        grid: a table.
        above: the text above it, which may say that it is a table of contents.
    """
    reasons = _Columns(grid, above).reasons()
    if not reasons:
        return grid
    made: dict[int, Cell] = {}

    def changed(cell: Cell) -> Cell:
        if cell.marks or cell.row < reasons[cell.col][1]:
            return cell
        reason, _ = reasons[cell.col]
        if id(cell) not in made:
            made[id(cell)] = replace(cell, silent=reason) if _numbers(cell, reason) else cell
        return made[id(cell)]

    return Grid([[changed(c) if c.col in reasons else c for c in row] for row in grid.rows])


def _numbers(cell: Cell, reason: str) -> bool:
    """Whether a cell of such a column is one of its numbers."""
    if reason == NOTES:
        return _refers(cell.text)
    if reason in (SERIAL, ACCOUNTS):
        return not any(map(str.isalpha, cell.text))
    return cell.number is not None


class _Columns:
    """The columns in which cells begin; headings are the cells above the first row with a figure."""

    def __init__(self, grid: Grid, above: str) -> None:
        self.grid, self.above = grid, above
        rows = grid.rows
        self.first = next((r for r, row in enumerate(rows) if any(_valued(c) for c in row)), len(rows))
        tops = [[c for c in row if c.row == r] for r, row in enumerate(rows[: self.first])][-MAX_TOPS:]
        ends = [[c.end for c in own] for own in tops]
        starts: dict[int, list[Cell]] = {}
        self.amounts: dict[int, tuple[list[int], list[float]]] = {}
        """Row to the columns and sizes of its amounts."""
        for r in range(self.first, len(rows)):
            for cell in rows[r]:
                if cell.row == r:
                    starts.setdefault(cell.col, []).append(cell)
                    if _valued(cell) and cell.number is not None:
                        cols, sizes = self.amounts.setdefault(r, ([], []))
                        cols.append(cell.col)
                        sizes.append(_size(cell))
        self.columns: list[_Column] = []
        for col in sorted(starts):
            over = [
                own[at] for own, e in zip(tops, ends, strict=True) if (at := bisect_right(e, col)) < len(own)
            ]
            self.columns.append(_Column(col, [c.text.strip() for c in over if c.col <= col], starts[col]))
        worded = [c.col for c in self.columns if sum(x.worded for x in c.cells) * 2 > len(c.cells)]
        self.first_words = worded[0] if worded else -1
        valued = [c.col for c in self.columns if c.col not in set(worded) and any(map(_valued, c.cells))]
        self.valued = valued

    def reasons(self) -> dict[int, tuple[str, int]]:
        """Column to the reason that its numbers are not amounts, and the first row of them."""
        found: dict[int, tuple[str, int]] = {}
        if self.first == len(self.grid.rows):
            return found
        pages = self._contents()
        if pages is not None:
            found[pages.col] = PAGES, self.first
        for place, column in enumerate(self.columns):
            if column.col not in found and (reason := self._reason(place, column)):
                found[column.col] = reason, self.first
        return found

    def _reason(self, place: int, column: _Column) -> str:
        values = [c for c in column.cells if not c.placeholder and not c.worded]
        if not values or any(c.marks for c in values):
            return ""
        texts = [c.text for c in values]
        headings = column.headings
        if any(map(_NOTES.fullmatch, headings)) and self._outside(column.col) and all(map(_refers, texts)):
            return NOTES
        if any(map(_EXHIBITS.fullmatch, headings)):
            return SERIAL
        if any(map(_NUMBERS.fullmatch, headings)) and all(
            _CODE.fullmatch(t) or _ORDER.fullmatch(t) for t in texts
        ):
            return SERIAL
        if column.col < self.first_words:
            if _serial(texts) or _outline(texts):
                return SERIAL
            if _accounts(values, headings[-1] if headings else ""):
                return ACCOUNTS
        following = self.columns[place + 1].cells if place + 1 < len(self.columns) else []
        return CHANGES if self._changes(column, values, following) else ""

    def _outside(self, col: int) -> bool:
        """Whether all amounts are on one side of a column."""
        others = [self.valued[i] for i in (0, 1, -2, -1) if -len(self.valued) <= i < len(self.valued)]
        others = [c for c in others if c != col]
        return bool(others) and (col < min(others) or col > max(others))

    def _contents(self) -> _Column | None:
        """The column of page numbers, if a table is a table of contents."""
        last = next(
            (c for c in reversed(self.columns) if any(_PAGE.fullmatch(x.text) for x in c.cells)), None
        )
        if last is None or (self.valued and self.valued[-1] > last.col) or any(x.marks for x in last.cells):
            return None
        texts = [x.text for x in last.cells if x.number is not None]
        if not texts or any(not t.isdecimal() or len(t) > 4 for t in texts):
            return None
        pages = [int(t) for t in texts]
        if max(pages) > 2000 or sum(b < a for a, b in pairwise(pages)) > len(pages) // 10:
            return None
        for column in self.columns:
            if column.col != last.col and not all(
                _ORDER.fullmatch(x.text) for x in column.cells if _valued(x)
            ):
                return None
        if any(map(_PAGES.fullmatch, last.headings)):
            return last
        chapters = sum(any(c.worded and _CHAPTER.match(c.text) for c in row) for row in self.grid.rows)
        named = _CONTENTS.search(self.above[-200:]) is not None
        return last if len(pages) >= 3 and (named or chapters * 3 >= len(pages)) else None

    def _changes(self, column: _Column, values: Sequence[Cell], following: Sequence[Cell]) -> bool:
        """Whether a column has the change in percent between the two before it."""
        heading = " ".join(column.headings[-2:])
        numbers = [c.number for c in values if c.number is not None]
        if not numbers or not _CHANGE.search(heading):
            return False
        if _PERCENT.search(heading) or all(n.percent for n in numbers):
            return True
        return any(c.text.strip(")") == "%" for c in following) or self._computed(column)

    def _computed(self, column: _Column) -> bool:
        """Whether most values are the change in percent between the two amounts before them in their row."""
        agree = seen = 0
        for cell in column.cells:
            cols, sizes = self.amounts.get(cell.row, ([], []))
            before = bisect_left(cols, column.col)
            if cell.number is None or before < 2 or not sizes[before - 1]:
                continue
            seen += 1
            change = sizes[before - 2] - sizes[before - 1]
            share, own = 100 * abs(change / sizes[before - 1]), abs(_size(cell))
            agree += abs(own - share) <= 0.6 and own != abs(change)
        return seen >= 2 and agree * 3 >= seen * 2


def _valued(cell: Cell) -> bool:
    return cell.figure and not cell.loose


def _refers(text: str) -> bool:
    """Whether a cell refers to notes: ``4``, ``11 (a)``, ``4, 12``, ``Note 7.1``."""
    parts = _BETWEEN.split(text.strip()) if len(text) <= 40 else [""]
    return all(_REFERENCE.fullmatch(p.strip()) for p in parts)


def _serial(texts: Sequence[str]) -> bool:
    """Whether a column counts its rows: 1, 2, 3."""
    found = [_ORDER.fullmatch(t) for t in texts]
    numbers = [int(m[1]) for m in found if m]
    return (
        len(numbers) == len(texts) >= 2 and numbers[0] <= 1 and all(b - a == 1 for a, b in pairwise(numbers))
    )


def _outline(texts: Sequence[str]) -> bool:
    """Whether a column numbers its rows like an outline: 10.9, 10.10, 19.1."""
    found = [_OUTLINE.fullmatch(t) for t in texts]
    numbers = [(int(m[1]), int(m[2] or 0)) for m in found if m]
    return (
        len(numbers) == len(texts) >= 3
        and any(m and m[2] for m in found)
        and all(a < b for a, b in pairwise(numbers))
    )


def _accounts(values: Sequence[Cell], heading: str) -> bool:
    """Whether a column before the labels holds codes: whole numbers without groups, of one length, all
    distinct.
    """
    texts = [c.text for c in values]
    if not all(_CODE.fullmatch(t) for t in texts) or len(set(texts)) < len(texts):
        return False
    if all(c.year for c in values) and not _ACCOUNT_LABELS.fullmatch(heading):
        return False
    return len(texts) >= 2 and len({len(t) for t in texts}) == 1 and len(texts[0]) >= 3


def _size(cell: Cell) -> float:
    number = cell.number
    if number is None:
        return 0.0
    try:
        size = float(number.figure.replace(",", ""))
    except ValueError:
        return 0.0
    return -size if number.negative else size
