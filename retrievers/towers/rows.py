"""The rows of a table by their labels: a cell's row and the rows around it."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ...signatures.types import Fact
from ..precedents.loci import content

_ROW = re.compile(r"<tr[^>]*>(.*?)(?=<tr|</table|\Z)", re.DOTALL | re.IGNORECASE)
_CELL = re.compile(r"<t[dh][^>]*>(.*?)(?=<t[dh]|</tr|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_YEAR = re.compile(r"(?:19|20)\d\d")
_LETTER_OR_DIGIT = re.compile(r"[^\w]+")


@dataclass(frozen=True)
class RowOfText:
    """One row: the text of its first cell that has any, and the letters and digits of all its cells."""

    label: str
    text: str


@lru_cache(maxsize=64)
def rows_of(markup: str) -> tuple[RowOfText, ...]:
    """The rows of a table that have text, in order."""
    found = []
    for row in _ROW.findall(markup):
        cells = [" ".join(html.unescape(_TAG.sub(" ", c)).split()) for c in _CELL.findall(row)]
        texts = [c for c in cells if c]
        if texts:
            found.append(RowOfText(texts[0], squeezed(" ".join(texts))))
    return tuple(found)


def squeezed(text: str) -> str:
    """The letters and digits of a text, lower-cased."""
    return _LETTER_OR_DIGIT.sub("", text).lower()


@dataclass(frozen=True)
class Place:
    """The position of a cell's row: the labels above and below it, and its number in a block of rows that are
    labelled only by years (from 1; 0: no such block).
    """

    above: str = ""
    below: str = ""
    year: int = 0


def place_of(fact: Fact) -> Place:
    """The place of a cell's row in its table.

    The row is found by its label and the cell's value; if several match, the nearest to ``row_index``
    (contexts may lack empty rows).
    """
    leaf = squeezed((fact.row_header or "").rpartition(" | ")[2])
    return _place(rows_of(fact.context.text), leaf, squeezed(fact.value), fact.row_index or 0)


@lru_cache(maxsize=4096)
def _place(rows: Sequence[RowOfText], leaf: str, value: str, index: int) -> Place:
    having = [i for i, row in enumerate(rows) if value in row.text]
    labelled = [i for i in having if leaf and leaf in squeezed(rows[i].label)]
    chosen = labelled or [i for i in having if leaf in rows[i].text] or having
    if not chosen:
        return Place()
    at = min(chosen, key=lambda i: abs(i + 1 - index))
    above = next((rows[i].label for i in range(at - 1, -1, -1) if content(rows[i].label)), "")
    below = next((rows[i].label for i in range(at + 1, len(rows)) if content(rows[i].label)), "")
    year = 0
    if _YEAR.fullmatch(rows[at].label):
        year = 1
        while at - year >= 0 and _YEAR.fullmatch(rows[at - year].label):
            year += 1
    return Place(above, below, year)
