"""Numbers in running text that may be facts: amounts, percentages, counts of shares."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from .datatypes import guess_mention
from .grid import Mark

_NUMBER = re.compile(r"(?<![\w.,/-])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w/-]|[.,]\d)")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)[a-z]*\.?"
_DATE_BEFORE = re.compile(
    rf"{_MONTH}\s*(?:\d{{1,2}},?\s*)?$|\b(?:fiscal|year|in|of|since|FY)\s*$", re.IGNORECASE
)
_REFERENCE = re.compile(
    r"(?:note|notes|item|items|part|section|exhibit|rule|page|no\.|number|level|tier|form|topic|asc|asu|"
    r"act of|title|chapter|article|step|phase|table|schedule|regulation|file)\s*(?:\w{1,2}-)?$",
    re.IGNORECASE,
)
_UNIT_AFTER = re.compile(
    r"\s*(?:%|percent|basis points|million|billion|thousand"
    r"|(?:\w+ ){0,4}(?:shares|units|options|RSUs|PSUs)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Mention:
    """``text[start:end]`` is a number; ``mark`` is the tag around it where the document has one."""

    start: int
    end: int
    datatype: str | None
    mark: Mark | None = None


def find_mentions(text: str, marks: tuple[Mark, ...] = ()) -> Iterator[Mention]:
    """The numeric mentions of a passage in order: every tagged one, and every untagged number that has a
    currency sign, a unit, a thousands separator or a decimal point and is no date or reference."""
    found = [Mention(m.start, m.end, guess_at(text, m.start, m.end), m) for m in marks]
    starts, ends = _covered(marks)
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        before_end = bisect_left(starts, end)
        if before_end and ends[before_end - 1] > start:
            continue
        before, after = text[max(0, start - 40) : start], text[end : end + 40]
        if _DATE_BEFORE.search(before) or _REFERENCE.search(before):
            continue
        money = re.search(r"[$€£¥]\s*\(?$", before)
        figure = match[0]
        if money or _UNIT_AFTER.match(after) or "," in figure:
            found.append(Mention(start, end, guess_at(text, start, end)))
    yield from sorted(found, key=lambda m: (m.start, m.end))


def _covered(marks: tuple[Mark, ...]) -> tuple[list[int], list[int]]:
    """Where the marked parts of a text begin and end: disjoint, in order."""
    starts: list[int] = []
    ends: list[int] = []
    for start, end in sorted((m.start, m.end) for m in marks):
        if ends and start < ends[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            starts.append(start)
            ends.append(end)
    return starts, ends


def guess_at(text: str, start: int, end: int) -> str | None:
    """The datatype of the number ``text[start:end]``."""
    return guess_mention(text[max(0, start - 80) : start], text[end : end + 80], text[start:end])
