"""Plain text: passages, and tables whose columns are lined up with spaces."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from ..signatures.letters import tidy
from .blocks import Block
from .grid import Mark
from .placed import Piece, blocks_of, lines_of

_PIECES = re.compile(r"\S+(?: \S+)*")
_RULE = re.compile(r"[\s=_|+~-]*[=_-]{2,}[\s=_|+~-]*")
"""A line that only underlines what stands above it."""
_MARKUP = re.compile(r"</?(?:table|caption|page|s|c|fn|f\d{1,2})>", re.IGNORECASE)
"""What old filings put around and into tables of plain text."""
_LEADER = re.compile(r"(?: ?\.){3,}(?=\s|$)|(?<=\S)\.{3,}(?= ?[$\d(])")
_SIGN = re.compile(r"(?<=[^\s$]) ([$€£¥])(?=\s{1,12}\(?\d)")

MAX_LINE = 100_000
"""Characters of a line that are looked at as columns; a longer line is one passage."""


def read_plain(text: str, what: str, marks: Sequence[Mark] = (), above: str = "") -> Iterator[Block]:
    """The passages of a text, separated by empty lines, and its tables: at least two rows of figures that are
    after words or below each other.

    Args:
        text: the text; its tags are at ``marks``.
        what: its name in messages.
        above: the text above it.
    """
    pieces: list[Piece] = []
    at = top = 0
    for number, whole in enumerate(text.splitlines(keepends=True), 1):
        line = whole.rstrip("\r\n").expandtabs() if not marks else whole.rstrip("\r\n")
        line = line if marks else _cleared(tidy(line))
        if not _RULE.fullmatch(line):
            runs = [m.span() for m in _PIECES.finditer(line)] if len(line) <= MAX_LINE else [(0, len(line))]
            pieces += [
                Piece(
                    " ".join(line[x0:x1].split()),
                    x0,
                    x1,
                    top,
                    top + 1.0,
                    tuple(_inside(marks, at + x0, at + x1)),
                    place=f"line {number}",
                )
                for x0, x1 in runs
            ]
            top += 1
        at += len(whole)
    yield from blocks_of(lines_of(pieces), what, above, least=2)


def _cleared(line: str) -> str:
    """A line without the marks, leaders and bars of tables, with every letter in place."""
    if "<" in line:
        line = _MARKUP.sub(lambda m: " " * len(m[0]), line)
    if line.count("|") > 1:
        line = line.replace("|", " ")
    line = _LEADER.sub(lambda m: " " * len(m[0]), line)
    return _SIGN.sub(r"  \1", line) if any(c in line for c in "$€£¥") else line


def _inside(marks: Sequence[Mark], start: int, end: int) -> Iterator[Mark]:
    """The marks in a part of the text, relative to its start."""
    for mark in marks[bisect_left(marks, start, key=lambda m: m.start) :]:
        if mark.end > end:
            return
        yield Mark(mark.name, mark.start - start, mark.end - start, mark.unit)
