"""What identifies the locus of a fact, normalised so that loci of different filings can be compared."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from ..signatures.types import Fact
from .tokenize import tok

_TIME_WORDS = frozenset(
    "january february march april may june july august september october november december jan feb mar apr "
    "jun jul aug sep sept oct nov dec month year quarter week day ended end three six nine twelve fiscal "
    "million thousand billion".split()
)
_WITH_DIGIT = re.compile(r"[^\W\d_]*\d[\w.,]*")
_TAG = re.compile(r"<[^>]*>")
_DURATION = re.compile(r"\b(?:ended|months?|year[- ]end|weeks|quarter|fiscal years?)\b", re.IGNORECASE)
_INSTANT = re.compile(
    r"\b(?:as of|at|balance|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")

CONTEXT_CHARACTERS = 20_000
"""How much of a source context's markup is read."""

NEAR, WIDE = (60, 50), (150, 100)
"""Characters before and after a mention: its near and its wide surroundings."""

BESIDE = 30
"""Characters before and after a mention in which its neighbouring words are looked for."""

Tokens = tuple[str, ...]


@lru_cache(maxsize=200_000)
def _word(run: str) -> Tokens:
    """The tokens of a run between spaces, without whatever has digits in it."""
    return tuple(dict.fromkeys(tok(_WITH_DIGIT.sub(" ", run))))


def words(text: str) -> list[str]:
    """Tokens of a text without numbers and whatever has digits in it (dates, footnote marks, years)."""
    return [t for run in text.split() for t in _word(run)]


def content(text: str) -> list[str]:
    """:func:`words` without the words of dates and units."""
    return [t for t in words(text) if t not in _TIME_WORDS]


def _set(tokens: Sequence[str]) -> Tokens:
    return tuple(sorted(set(tokens)))


@lru_cache(maxsize=20_000)
def _content_set(text: str) -> Tokens:
    """The distinct tokens of a header, which many cells share."""
    return _set(content(text))


@dataclass(frozen=True)
class Locus:
    """The comparable parts of a locus, each a sorted token set.

    For a table cell ``header`` is the innermost row header, ``chain`` the whole row header and
    ``column`` the column header. For a mention they are its near and its wide surroundings and the words
    right beside it. ``mention`` holds the words (and pairs of words, and word beginnings) of the value
    itself: empty for a number. ``period`` says what the column header shows: a duration, an instant, a bare
    year, or nothing. ``digits`` is how many digits the value has.
    """

    header: Tokens
    chain: Tokens
    column: Tokens
    mention: Tokens
    period: int
    digits: int


def locus_of(fact: Fact) -> Locus:
    """The normalised locus of a fact."""
    printed = re.sub(r"\D", "", fact.value)
    digits = min(len(printed.lstrip("0") if fact.modality == "table" else printed), 9)
    mention = mention_tokens(fact.value)
    if fact.modality == "table":
        row = (fact.row_header or "").split(" | ")
        column = fact.column_header or ""
        return Locus(
            _content_set(row[-1]),
            _content_set(" ".join(row)),
            _content_set(column),
            mention,
            period_of(column),
            digits,
        )
    text, start, end = fact.context.text, fact.mention_start, fact.mention_end
    if start is None or end is None:
        return Locus((), (), (), mention, 0, digits)

    def around(before: int, after: int) -> Tokens:
        return _set(content(f"{text[max(0, start - before) : start]} {text[end : end + after]}"))

    beside = [f">{w}" for w in words(text[end : end + BESIDE])[:2]]
    beside += [f"<{w}" for w in words(text[max(0, start - BESIDE) : start])[-2:]]
    return Locus(around(*NEAR), around(*WIDE), _set(beside), mention, 0, digits)


def mention_tokens(value: str) -> Tokens:
    """Tokens of a worded value: its words, pairs of neighbouring words, and the beginnings of words."""
    found = words(value)
    pairs = [f"{a}_{b}" for a, b in pairwise(found)]
    return _set([*found, *pairs, *(f"{w[:5]}*" for w in found if len(w) > 5)])


def period_of(column: str) -> int:
    """What a column header says of time: 1 a duration, 2 an instant, 3 a bare year, 0 nothing."""
    if _DURATION.search(column):
        return 1
    if _INSTANT.search(column):
        return 2
    return 3 if _YEAR.search(column) else 0


def context_tokens(text: str, table: bool) -> Tokens:
    """The words of a source context (markup is dropped)."""
    text = text[:CONTEXT_CHARACTERS]
    return _set(content(html.unescape(_TAG.sub(" ", text)) if table else text))


def value_key(value: str) -> str:
    """A value's digits without signs and separators, for finding the same figure again."""
    return re.sub(r"[^\d.]", "", value)


_CUT = 8


def company_key(name: str) -> str:
    """A company's name as it is compared: letters and digits of any script, upper case, without accents, cut
    to 8.

    So ``Apple Inc.`` is ``APPLEINC``. Cut names are how the data sets write companies.
    """
    plain = unicodedata.normalize("NFKD", name).upper()
    return "".join(c for c in plain if c.isalnum())[:_CUT]


_FORMS = frozenset(
    "INC INCORPORATED CO COMPANY CORP CORPORATION LTD LIMITED LLC LP PLC AG SE SA NV GMBH".split()
)


def same_company(a: str, b: str) -> bool:
    """Whether two company keys name the same company; a leading THE does not count (``THEBOEIN`` and
    ``BOEINGCO``), nor what one alone says of its legal form (``APPLE`` and ``APPLEINC``)."""
    if a == b:
        return True
    for long, other in ((a, b), (b, a)):
        rest = long.removeprefix("THE")
        if rest != long and len(rest) >= 5 and other.startswith(rest):
            return True
        if len(other) >= 2 and long.startswith(other):
            form = long[len(other) :]
            if form in _FORMS or (len(long) == _CUT and any(f.startswith(form) for f in _FORMS)):
                return True
    return False
