"""The normalised locus of a fact, for comparing loci of different filings."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from ...signatures.types import Fact
from ..tokenize import tok

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
_NO_DIGIT = re.compile(r"\D+")
_NO_FIGURE = re.compile(r"[^\d.]+")
_LETTER = re.compile(r"[^\W\d_]")
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
    """The tokens of a run between spaces, without tokens with digits."""
    if not _LETTER.search(run):
        return ()
    return tuple(dict.fromkeys(tok(_WITH_DIGIT.sub(" ", run))))


def words(text: str) -> list[str]:
    """Tokens of a text without tokens with digits (numbers, dates, footnote marks, years)."""
    return [t for run in text.split() for t in _word(run)]


def content(text: str) -> list[str]:
    """:func:`words` without the words of dates and units."""
    return [t for t in words(text) if t not in _TIME_WORDS]


def _set(tokens: Iterable[str]) -> Tokens:
    return tuple(sorted(set(tokens)))


def _distinct(text: str) -> Tokens:
    """The distinct tokens of :func:`content`, sorted."""
    return tuple(sorted({t for run in set(text.split()) for t in _word(run)} - _TIME_WORDS))


@lru_cache(maxsize=50_000)
def row_tokens(row_header: str) -> tuple[Tokens, Tokens]:
    """The distinct tokens of the innermost row header and of the whole chain, which many cells share."""
    chain = _distinct(row_header.replace(" | ", " "))
    leaf = row_header.rpartition(" | ")[2]
    return (chain if leaf == row_header else _distinct(leaf)), chain


@lru_cache(maxsize=50_000)
def column_tokens(column_header: str) -> tuple[Tokens, int]:
    """The distinct tokens of a column header, and its kind of period."""
    return _distinct(column_header), period_of(column_header)


@dataclass(frozen=True)
class LocusTokens:
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


def locus_of(fact: Fact) -> LocusTokens:
    """The normalised locus of a fact."""
    digits = digits_of(fact)
    mention = mention_tokens(fact.value)
    if fact.modality == "table":
        header, chain = row_tokens(fact.row_header or "")
        column, period = column_tokens(fact.column_header or "")
        return LocusTokens(header, chain, column, mention, period, digits)
    text, start, end = fact.context.text, fact.mention_start, fact.mention_end
    if start is None or end is None:
        return LocusTokens((), (), (), mention, 0, digits)

    def around(before: int, after: int) -> Tokens:
        return _distinct(f"{text[max(0, start - before) : start]} {text[end : end + after]}")

    beside = [f">{w}" for w in words(text[end : end + BESIDE])[:2]]
    beside += [f"<{w}" for w in words(text[max(0, start - BESIDE) : start])[-2:]]
    return LocusTokens(around(*NEAR), around(*WIDE), _set(beside), mention, 0, digits)


def digits_of(fact: Fact) -> int:
    """How many digits a value has, 9 at most; leading zeros of a cell do not count."""
    printed = _NO_DIGIT.sub("", fact.value)
    return min(len(printed.lstrip("0") if fact.modality == "table" else printed), 9)


def mention_tokens(value: str) -> Tokens:
    """Tokens of a worded value: its words, pairs of adjacent words, and word beginnings."""
    if not _LETTER.search(value):
        return ()  # a number, which has no words
    found = words(value)
    pairs = [f"{a}_{b}" for a, b in pairwise(found)]
    return _set([*found, *pairs, *(f"{w[:5]}*" for w in found if len(w) > 5)])


def period_of(column: str) -> int:
    """The kind of period in a column header: 1 a duration, 2 an instant, 3 a bare year, 0 none."""
    if _DURATION.search(column):
        return 1
    if _INSTANT.search(column):
        return 2
    return 3 if _YEAR.search(column) else 0


def context_tokens(text: str, table: bool) -> Tokens:
    """The words of a source context (markup is dropped)."""
    text = text[:CONTEXT_CHARACTERS]
    return _distinct(html.unescape(_TAG.sub(" ", text)) if table else text)


def value_key(value: str) -> str:
    """A value's digits without signs and separators, for finding the same figure."""
    return _NO_FIGURE.sub("", value)


_CUT = 8


@lru_cache(maxsize=20_000)
def company_key(name: str) -> str:
    """A company's name for comparison: letters and digits of any script, upper case, without accents, cut to
    8.

    ``Apple Inc.`` becomes ``APPLEINC``; the data sets also cut company names to 8.
    """
    plain = unicodedata.normalize("NFKD", name).upper()
    return "".join(c for c in plain if c.isalnum())[:_CUT]


_FORMS = frozenset(
    "INC INCORPORATED CO COMPANY CORP CORPORATION LTD LIMITED LLC LP PLC AG SE SA NV GMBH".split()
)


def same_company(a: str, b: str) -> bool:
    """Whether two names, cut or whole, are of the same company. A leading THE is ignored (``THEBOEIN`` and
    ``BOEINGCO``), and so is a legal form that only one has (``APPLE`` and ``APPLEINC``).
    """
    return _same_keys(company_key(a), company_key(b))


def _same_keys(a: str, b: str) -> bool:
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


def spellings(key: str) -> Iterator[str]:
    """Every other key of the same company (:func:`same_company`) but those that begin with what follows a
    leading THE of this one. They are few, so that nobody needs to compare all companies with all."""
    if len(key) >= 5:
        yield f"THE{key[:5]}"
    for n in range(2, len(key)):
        if _same_keys(key, key[:n]):
            yield key[:n]
    if len(key) >= 2:
        yield from dict.fromkeys((key + form)[:_CUT] for form in sorted(_FORMS) if len(key) < _CUT)
