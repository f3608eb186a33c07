"""Numbers in running text and in labels that may be facts: amounts, percentages, counts of shares."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from .currencies import CURRENCY, CURRENCY_NAME
from .datatypes import guess_mention
from .grid import Mark
from .numbers import DASHES, DURATION, MAGNITUDE

_FIGURE = r"(?:\d{1,3}(?:,\d{2,3}){0,8},\d{3}|\d{1,3}(?:['’]\d{3}){1,8}|\d+)(?:\.\d+)?"
_COMMA = r"\d{1,3}(?:\.\d{3}){1,8},\d{1,2}|\d{1,3}(?:\.\d{3}){2,8}|\d{1,4},\d{1,2}"
"""Figures with a decimal comma: amounts beside a currency, a percent sign or a magnitude."""
_NUMBER = re.compile(
    rf"(?<![\w.,/])(?P<figure>(?P<comma>{_COMMA})(?![.,]?\d)|{_FIGURE})(?:(?:bn|mn|mm|[mbk])\b)?(?!\w|/(?![$€£¥])|[.,]\d|[{DASHES}][^\W\d])",
    re.IGNORECASE,
)
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)[a-z]*\.?"
_DATE_BEFORE = re.compile(
    rf"\b(?:{_MONTH}\s*(?:\d{{1,2}},?\s*)?|(?:fiscal|year|in|of|since|FY)\s*)$", re.IGNORECASE
)
_DATE = re.compile(r"\d{1,2}|(?:19|20)\d\d")
_REFERENCE = re.compile(
    r"\b(?:note|notes|item|items|part|section|exhibit|rule|page|no\.|number|level|tier|form|topic|asc|asu|"
    r"act of|title|chapter|article|step|phase|table|schedule|regulation|file)\s*(?:\w{1,2}-)?$",
    re.IGNORECASE,
)
_MONEY_BEFORE = re.compile(rf"(?:{CURRENCY})\s?[({DASHES}]?\s?$")
_CODE_AFTER = re.compile(rf"\s?(?:(?:{CURRENCY})(?!\w)|{CURRENCY_NAME})")
_UNIT_AFTER = re.compile(
    rf"\s*(?:%|percent|per cent|basis points|bps\b|{MAGNITUDE}"
    r"|(?:\w+ ){0,4}(?:shares|units|options|RSUs|PSUs)\b)",
    re.IGNORECASE,
)
_PERCENT_AFTER = re.compile(r"\s*(?:%|per ?cent|basis points|bps\b)", re.IGNORECASE)
_TIMED_AFTER = re.compile(rf"\s?-?{DURATION}", re.IGNORECASE)
_TERM_BEFORE = re.compile(
    r"\b(?:term|li(?:fe|ves)|period|maturity|duration|age)s?\b[^.;]{0,30}\b(?:of|is|was|are|were|approximately"
    r"|to)\s$",
    re.IGNORECASE,
)
_RANGE = re.compile(rf"\s?(?:%|percent)?\s?(?:[{DASHES}]|to|and|through)\s?(?:{CURRENCY})?\s?", re.IGNORECASE)
_UP_TO = re.compile(rf"\s?(?P<word>[{DASHES}]|to|through|and)\s?(?:{CURRENCY}\s?)?{_FIGURE}", re.IGNORECASE)
_FROM = re.compile(
    rf"(?:(?P<between>between)\s)?(?:{CURRENCY}\s?)?(?P<low>\d[\d.,]{{0,20}})\s?(?P<word>[{DASHES}]|to|through|and)\s?$",
    re.IGNORECASE,
)
_JOINED = re.compile(rf"[{DASHES}]$")
_SIGNED = re.compile(rf"(?:^|[\s(%\d]|{CURRENCY})[{DASHES}]$")


@dataclass(frozen=True)
class Mention:
    """``text[start:end]`` is a number; ``mark`` is its tag, if the document has one."""

    start: int
    end: int
    datatype: str | None
    mark: Mark | None = None


@dataclass(frozen=True)
class _Candidate:
    start: int
    end: int
    sure: bool
    """Whether its own surroundings say that it is an amount."""
    barred: bool
    """Whether they say that it is a date or a reference."""
    timed: bool = False
    """Whether a span of time stands behind it: an amount if it is the end of a range."""


def find_mentions(text: str, marks: tuple[Mark, ...] = ()) -> Iterator[Mention]:
    """The numeric mentions of a passage in order: every tagged one, and every untagged number that has a
    currency sign, a unit, a thousands separator or such a number as the other end of its range, and is no
    date or reference. Of spans of time those are read that have decimals, are a range or the term of
    something (``5.4 years``, ``3 to 5 years``, ``a remaining term of 7 years``)."""
    found = [Mention(m.start, m.end, guess_at(text, m.start, m.end), m) for m in marks]
    starts, ends = _covered(marks)
    candidates = [
        c for c in _candidates(text) if not ((n := bisect_left(starts, c.end)) and ends[n - 1] > c.start)
    ]
    for place, one in enumerate(candidates):
        if one.barred:
            continue
        near = [
            c
            for c in candidates[max(0, place - 1) : place + 2]
            if c is not one and (c.sure or c.timed or one.timed) and not c.barred
        ]
        if one.sure or any(_ranges(text, *sorted((one, c), key=lambda c: c.start)) for c in near):
            found.append(Mention(one.start, one.end, guess_at(text, one.start, one.end)))
    yield from sorted(found, key=lambda m: (m.start, m.end))


def _candidates(text: str) -> Iterator[_Candidate]:
    if not any(map(str.isdigit, text)):
        return
    for match in _NUMBER.finditer(text):
        start, end = match.span("figure")
        before, after = text[max(0, start - 40) : start], text[end : end + 40]
        if _JOINED.search(before) and not _SIGNED.search(before):
            continue  # COVID-19
        money = _MONEY_BEFORE.search(before) or _CODE_AFTER.match(after)
        high = _UP_TO.match(after)
        timed = bool(_TIMED_AFTER.match(after) or (high and _TIMED_AFTER.match(after, high.end())))
        sure = bool(
            money
            or _UNIT_AFTER.match(after)
            or (not match["comma"] and any(c in match[0] for c in ",’'"))
            or (not high and timed and ("." in match[0] or match["comma"] or _TERM_BEFORE.search(before)))
        )
        counted = money or _PERCENT_AFTER.match(after)
        dated = not timed and _DATE.fullmatch(text, start, end) and _DATE_BEFORE.search(before)
        barred = bool(dated or _REFERENCE.search(before)) and not counted
        yield _Candidate(start, end, sure, barred, timed)


def _ranges(text: str, low: _Candidate, high: _Candidate) -> bool:
    """Whether two numbers are the ends of a range, with only "to" or a dash between them."""
    return high.start - low.end <= 12 and _RANGE.fullmatch(text, low.end, high.start) is not None


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


def surroundings(text: str, start: int, end: int) -> tuple[str, str]:
    """The text before and after the number ``text[start:end]``. The ends of a range share the text around the
    range: the dollar sign in ``$3-5``, the million in ``3 to 5 million``.
    """
    before, after = text[max(0, start - 80) : start], text[end : end + 120]
    low = _FROM.search(before)
    if low and (low["word"].lower() != "and" or low["between"]):
        before = before[: low.start("low")]
    high = _UP_TO.match(after)
    if high and (high["word"].lower() != "and" or re.search(rf"\bbetween\s(?:{CURRENCY}\s?)?$", before)):
        after = after[high.end() :]
    return before, after


def guess_at(text: str, start: int, end: int) -> str | None:
    """The datatype of the number ``text[start:end]``."""
    before, after = surroundings(text, start, end)
    return guess_mention(before, after[:80], text[start:end])
