"""Plain text: passages, and tables whose columns are lined up with spaces."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..signatures.letters import tidy
from .blocks import Block
from .placed import Piece, blocks_of, lines_of

_PIECES = re.compile(r"\S+(?: \S+)*")

MAX_LINE = 100_000
"""Characters of a line that are looked at as columns; a longer line is one passage."""


def read_plain(text: str, what: str) -> Iterator[Block]:
    """The passages of a text, which empty lines part, and its tables: at least two rows of figures that stand
    behind words or below each other."""
    pieces: list[Piece] = []
    for top, line in enumerate(tidy(text).expandtabs().splitlines()):
        runs = [m.span() for m in _PIECES.finditer(line)] if len(line) <= MAX_LINE else [(0, len(line))]
        pieces += [
            Piece(" ".join(line[x0:x1].split()), x0, x1, top, top + 1.0, place=f"line {top + 1}")
            for x0, x1 in runs
        ]
    yield from blocks_of(lines_of(pieces), what, least=2)
