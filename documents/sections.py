"""Sections of a table: the section headings of each row.

A section ends at its total and at the next heading of its rank. If the document indents labels, a section
holds the deeper rows below it. Otherwise capitals and boldness give the rank: a section right after another
is nested in it, and a section after values ends those of its rank and below.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .grid import Cell

MAX_NESTED = 8
"""Sections inside one another; the innermost are kept."""

_TOTAL = re.compile(r"(?:sub-?)?totals?\b[\s:,-]*(.*)", re.IGNORECASE)
_NET = re.compile(r"net\b(.*)", re.IGNORECASE)
_FLOWS = frozenset("cash flow from for used provided the net generated inflow outflow and".split())
"""Words of a net sum, or of the heading of what it sums, that name neither."""
_PAIR = re.compile(r"(?:basic|diluted)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{3,}")


@dataclass
class _Section:
    """``inside`` is the indent of its rows, known from the first one; a lower ``rank`` is a higher level."""

    text: str
    indent: float
    row: int
    rank: tuple[bool, bool]
    inside: float | None = None

    def holds(self, label: Cell, section: bool) -> bool:
        """Whether a row with this label (``section``: a section row) is in it, by indent."""
        if self.inside is None:
            level = not section and label.indent == self.indent and self.text.endswith(":")
            if label.indent > self.indent or level:
                self.inside = label.indent
                return True
            return False
        return label.indent >= self.inside

    def sums(self, label: Cell) -> bool:
        """Whether a row is indented below a section whose own rows are not: a sum outside of it."""
        return self.inside == self.indent and label.indent > self.indent


class Sections:
    """The open sections, outermost first.

    Args:
        indented: whether the document indents some labels.
    """

    def __init__(self, indented: bool) -> None:
        self.indented = indented
        self._open: list[_Section] = []
        self._paired = False
        """The last row was "Basic" or "Diluted" of a section: what is neither stands outside of it."""

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(s.text for s in self._open)

    def chain(self, label: Cell | None) -> tuple[str, ...]:
        """The sections of a row with this label."""
        return tuple(s.text for s in self._open if label is None or not s.sums(label))

    def open(self, label: Cell, text: str, last_values: int) -> None:
        """A row that heads the rows below it; ``last_values`` is the last row with values."""
        rank = _rank(label)
        self._paired = False
        if self.indented:
            self._open = [s for s in self._open if s.holds(label, section=True)]
        elif self._open and self._open[-1].row < last_values:
            self._open = [s for s in self._open if s.rank < rank]
        self._open.append(_Section(text, label.indent, label.row, rank))
        del self._open[:-MAX_NESTED]

    def row(self, label: Cell) -> None:
        """A row with values (or dashes) begins: sections that do not hold it end."""
        kind = _PAIR.match(label.text) is not None
        if self._paired and not kind and self._open:
            del self._open[-1:]
        self._paired = kind and bool(self._open)
        if self.indented:
            self._open = [s for s in self._open if s.holds(label, section=False)]

    def close(self, label: Cell) -> None:
        """A row with values has ended; if it is a section's total, the section ends. A net sum is a total if
        it names only its section ("Net cash used in financing activities").
        """
        if not self._open:
            return
        if net := _NET.match(label.text):
            named = _words(net[1]) - _FLOWS
            if named and named == _words(self._open[-1].text) - _FLOWS:
                del self._open[-1:]
            return
        match = _TOTAL.match(label.text)
        if match is None:
            return
        words = _words(match[1])
        for place in range(len(self._open) - 1, -1, -1):
            if words and words <= _words(self._open[place].text):
                del self._open[place:]
                return
        if not words or (self._open[-1].row < label.row and not self.indented):
            del self._open[-1:]


def _rank(label: Cell) -> tuple[bool, bool]:
    letters = [c for c in label.text if c.isalpha()]
    capitals = bool(letters) and all(c.isupper() for c in letters)
    return not capitals, not label.bold


def _words(text: str) -> set[str]:
    return {w.lower().rstrip("s") for w in _WORD.findall(text[:300])}
