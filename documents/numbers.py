"""The grammar of printed numbers, for cells of tables and sheets: ``$ (1,234.5)``, ``45-``, ``0.1-2.0``,
``CHF 1'234``, ``<0.1%``, ``5.3 – 6.1 years``, ``1,234 (a)``, ``$1.2 million``.

A cell is cut into words of the grammar; a cell that has any other word holds no number. Running text uses
the same words around its figures (:mod:`.mentions`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

from .currencies import CURRENCY, CURRENCY_NAME, SIGNS, THOUSANDS, currency_code

DASHES = r"\-–—−‒―‐‑﹣－"
_SPACES = re.compile(r"\s+")
_GROUP = "[ '’]"
_LETTER = r"(?![^\W\d_])"
"""Not followed by a letter."""

MAX_NUMBER = 80
"""Characters of a cell that may hold nothing but a number."""


class Style(Enum):
    """How a table writes its figures: 1,234.5 (plain), 1.234,5 (comma) or 1 234.5 (spaced).

    Plain groups may be Indian (12,34,567) or Swiss (1'234); groups of a comma or spaced figure may be parted
    by spaces or apostrophes.
    """

    PLAIN = r"(?:\d{1,3}(?:,\d{2,3}){0,8},\d{3}|\d{1,3}(?:['’]\d{3}){1,8}|\d+)(?:\.\d+)?|\.\d+"
    COMMA = rf"(?:\d{{1,3}}(?:\.\d{{3}})+|\d{{1,3}}(?:{_GROUP}\d{{3}})+|\d+)(?:,\d+)?"
    SPACED = rf"(?:\d{{1,3}}(?:{_GROUP}\d{{3}})+|\d+)(?:\.\d+)?|\.\d+"


PERCENT = r"%|‰|pct\.?|(?:percent|per cent|percentage points?|basis points?|bps|ppts?|pp)" + _LETTER
MAGNITUDES = {
    "thousand": 3,
    "thous": 3,
    "k": 3,
    "lakh": 5,
    "million": 6,
    "mil": 6,
    "mill": 6,
    "mio": 6,
    "mn": 6,
    "mm": 6,
    "m": 6,
    "crore": 7,
    "cr": 7,
    "billion": 9,
    "bil": 9,
    "bill": 9,
    "mrd": 9,
    "tsd": 3,
    "bn": 9,
    "b": 9,
    "trillion": 12,
    "tn": 12,
    "cent": -2,
    "pence": -2,
    "p": -2,
    "¢": -2,
    "t": 3,
}
"""Words that follow a figure, and the power of ten that they stand for."""

MAGNITUDE = (
    r"(?:thousands?|millions?|billions?|trillions?|lakhs?|crores?|mio\.?|mrd\.?|mn|mm|bn|tn|[mbk])" + _LETTER
)
DURATION = r"(?:years?|yrs?\.?|months?|mos\.?|weeks?|days?|hours?)" + _LETTER
_THINGS = (
    r"shares?|units?|options?|times|x|employees|people|persons|FTEs?|stores|customers|patients|vehicles|aircraft"
    r"|[kmg]?wh?|twh|km|miles|acres|hectares|ha|sq\.? ?(?:ft|m)|square (?:feet|met(?:er|re)s)|tons|tonnes"
    r"|kg|lbs|ounces|oz|barrels|bbls?|mboe|boe|mmbtu|mmcf|bcf|mcf|gallons|lit(?:er|re)s"
)
_UNIT = rf"{DURATION}|(?:{_THINGS})" + _LETTER + r"\.?"
_COMPARE = (
    r"[<>≤≥~≈±]=?|ca?\.(?=\s?\d)|(?:or (?:more|less|greater)|and (?:over|above|more)"
    r"|(?:less|more|greater|fewer) than|up to|at least|at most|approximately|about|around|nearly|under|over)"
    + _LETTER
)
_MINOR = rf"¢|(?:cents?|pence|p){_LETTER}"
_SCALED = rf"{THOUSANDS}|(?:{CURRENCY})\s?(?:m[mn]?|bn|k)(?=\s?[\d(])"
"""A currency with its magnitude: ``T€``, ``k$``, ``€m 45``."""

_BEFORE = (
    rf"(?P<scaled>{_SCALED})|(?P<currency>{CURRENCY}|{CURRENCY_NAME})|(?P<dash>[{DASHES}])|(?P<down>[▲△▼▽])|(?P<plus>\+)|(?P<open>[(（])"
    rf"|(?P<close>[)）])|(?P<percent>{PERCENT})|(?P<magnitude>{MAGNITUDE}|{_MINOR})|(?P<unit>{_UNIT})"
    rf"|(?P<compare>{_COMPARE})|(?P<to>(?:to|through|bis){_LETTER})|(?P<side>(?:cr|dr|db)\b\.?)|(?P<space>\s+)"
)
_NOTED = r"(?:[a-z]{1,2}|[ivx]{1,5}|\d{1,2})"
_MARK = (
    rf"(?P<mark>\({_NOTED}(?:, ?{_NOTED})*\)|\[\^?{_NOTED}(?:, ?{_NOTED})*\]|(?<= )\d{{1,2}}\)|\^{_NOTED}?"
    r"|[*†‡§¶#]+|[¹²³⁰⁴-⁹⁽⁾]+|, ?(?=[(\[*†‡¹²³⁴-⁹]))"
)


def _words(style: Style, marks: bool) -> re.Pattern[str]:
    figure = rf"(?P<figure>{style.value})"
    return re.compile("|".join([*([_MARK] if marks else []), figure, _BEFORE]), re.IGNORECASE)


_FIRST = {style: _words(style, marks=False) for style in Style}
_LATER = {style: _words(style, marks=True) for style in Style}
"""Footnote marks follow a figure: before one, ``(5)`` is a negative number."""

_SIMPLE = re.compile(r"\(?(\d{1,3}(?:,\d{3})+|\d{1,3})(\.\d+)?\)?")
_BARE = re.compile(
    rf"(?:{CURRENCY}|[{DASHES}()+%\s])*([\d.][\d., '’]*?)\s*({CURRENCY}|%)?[{SIGNS}{DASHES}()%\s]*"
)
_COMMA_SURE = re.compile(
    rf"\d{{1,3}}(?:(?:\.|{_GROUP})\d{{3}})+,\d+|\d{{1,3}}(?:\.\d{{3}}){{2,}}|\d{{4,}},\d+|0,\d+"
)
_COMMA_LIKELY = re.compile(r"\d+,\d{1,2}")
_SPACED = re.compile(rf"\d{{1,3}}(?:{_GROUP}\d{{3}})+(?:\.\d+)?")
_COMMA_GROUPS = re.compile(r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?")
_PLAIN_SURE = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{2,3})+,\d{3}|\d*\.(?:\d{1,2}|\d{4,})")
_ENGLISH = str.maketrans(".,", ",.", "")
_YEAR = re.compile(
    r"(?:FY|CY)?\s*((?:19|20)\d{2})[EA]?\s*(?:\(\w{1,2}\)|[*†‡§¹²³⁴-⁹]+)?"
    rf"(?:\s\(?(?:{CURRENCY})\s?(?:['’]?000s?|m[mn]?|bn|k|millions?|thousands?)?\)?)?",
    re.IGNORECASE,
)
_YEARS = re.compile(rf"(?:19|20)\d\d\s*[{DASHES}/]\s*(?:(?:19|20)\d\d|\d\d)")
_PLAN = re.compile(r"40[13]\s*\([bk]\)", re.IGNORECASE)
_EMPTY = re.compile(
    rf"(?:[{DASHES}()%\s.*]|{CURRENCY})*|n\.?\s?/?\s?[amp]\.?|nmf?|nil|none"
    r"|not (?:meaningful|applicable|available|material|disclosed)|immaterial|tb[acd]|[*†‡^]+",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Number:
    """One printed number.

    ``shown`` is the value as a reader names it: the figure, in parentheses or with its sign if negative,
    without currency, percent sign, unit and footnote marks. ``figure`` is the digits alone, always in the
    plain style (1,234.5). ``currency`` is an ISO code. ``scale`` is the power of ten of a word such as
    "million". ``unit`` is the word after it ("years"). ``bounded``: it is an end of a range, or follows a
    word such as "less than".
    """

    shown: str
    figure: str
    negative: bool = False
    currency: str | None = None
    percent: bool = False
    scale: int = 0
    unit: str = ""
    bounded: bool = False

    @property
    def money(self) -> bool:
        return self.currency is not None

    @property
    def loose(self) -> bool:
        """Whether it may also be a label or a heading: ``1-3 years``, ``less than 30 days``, ``$10-$15``."""
        return self.bounded or bool(self.unit)


def parse_number(text: str, style: Style = Style.PLAIN) -> Number | None:
    """The number in a cell (of a range the first), or None if the cell holds anything else."""
    found = parse_numbers(text, style)
    return found[0] if found else None


def parse_numbers(text: str, style: Style = Style.PLAIN) -> tuple[Number, ...]:
    """The number in a cell, or the two ends of a range; empty if the cell holds anything else.

    A parenthesis may be closed or opened in an adjacent cell.

    >>> [n.shown for n in parse_numbers("5.3 – 6.1 years")]
    ['5.3', '6.1']
    >>> parse_numbers("45-")[0].negative
    True
    """
    if len(text) > MAX_NUMBER or not any(map(str.isdigit, text)):
        return ()
    return _parsed(_SPACES.sub(" ", text).strip(), style)


@lru_cache(maxsize=20_000)
def _parsed(text: str, style: Style) -> tuple[Number, ...]:
    if style is Style.PLAIN and (match := _SIMPLE.fullmatch(text)):
        figure = match[1] + (match[2] or "")
        bracket = text[0] == "("
        return (Number(f"({figure})" if bracket else figure, figure, bracket),)
    if _PLAN.fullmatch(text) or _YEARS.fullmatch(text):
        return ()
    words = _cut(text, style)
    numbers = _Reader(words, style).numbers() if words else None
    return () if numbers is None else tuple(numbers)


Word = tuple[str, str]


def _cut(text: str, style: Style) -> list[Word] | None:
    """The words of a cell as (kind, text); None if one is not in the grammar."""
    words: list[Word] = []
    at, lexer = 0, _FIRST[style]
    while at < len(text):
        match = lexer.match(text, at)
        if match is None or match.end() == at:
            return None
        kind = str(match.lastgroup)
        if kind == "figure":
            lexer = _LATER[style]
        if kind != "space":
            words.append((kind, match[0]))
        at = match.end()
    return words


_ENDINGS = frozenset(("", "close", "percent", "mark", "side"))
"""What may follow a minus that stands behind its figure."""
_PREFIX = frozenset(("currency", "scaled", "dash", "down", "plus", "open", "compare", "side", "figure"))


class _Reader:
    """Reads the words of a cell: one number, a range of two, or a number and its share in parentheses."""

    def __init__(self, words: list[Word], style: Style) -> None:
        self.words, self.style, self.at = words, style, 0

    def kind(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.words[at][0] if at < len(self.words) else ""

    def numbers(self) -> list[Number] | None:
        first = self._one()
        if first is None or self.at == len(self.words):
            return None if first is None else [first]
        apart = self.kind() in ("dash", "to")
        self.at += apart
        second = self._one()
        if second is None or self.at < len(self.words):
            return None
        if not apart:  # 412.3 (43%)
            shares = (first.percent, second.percent)
            return [first, replace(second, shown=second.figure, negative=False)] if any(shares) else None
        if _descends(first, second):
            return None
        ends = [replace(first, scale=first.scale or second.scale), second]
        currency, percent = first.currency or second.currency, first.percent or second.percent
        unit = second.unit or first.unit
        return [replace(n, currency=currency, percent=percent, unit=unit, bounded=True) for n in ends]

    def _one(self) -> Number | None:
        bracket = minus = bounded = percent = False
        currency: str | None = None
        scale, unit, before, after = 0, "", "", ""
        while (kind := self.kind()) in _PREFIX and kind != "figure":
            word = self.words[self.at][1]
            bracket |= kind == "open"
            minus |= kind in ("dash", "down")
            bounded |= kind == "compare"
            currency = currency_code(word) if kind == "currency" else currency
            if kind == "scaled":
                currency, scale = _scaled(word)
            elif kind == "side":
                minus, before = minus or word[0] in "cC", f"{word} "
            self.at += 1
        if self.kind() != "figure":
            return None
        printed = self.words[self.at][1]
        self.at += 1
        while kind := self.kind():
            word = self.words[self.at][1]
            if kind == "dash" and self.kind(1) in _ENDINGS:
                minus, after = True, "-"
            elif kind == "side":
                credit = word[0] in "cC"
                if credit and currency == "INR":
                    scale = 7
                else:
                    minus, after = minus or credit, f" {word}"
            elif kind == "percent":
                percent = True
            elif kind == "magnitude":
                scale = power_of(word)
            elif kind == "unit":
                unit = word.lower()
            elif kind == "currency":
                currency = currency_code(word)
            elif kind == "scaled":
                currency, scale = _scaled(word)
            elif kind in ("compare", "plus") and word not in "<>≤≥~≈±":
                bounded = True
            elif kind not in ("close", "mark"):
                break
            self.at += 1
        figure = printed.translate(_ENGLISH) if self.style is Style.COMMA else printed
        figure = re.sub(_GROUP, ",", figure)
        if before or after:
            shown = before + printed + after
        else:
            shown = f"({printed})" if bracket else (f"-{printed}" if minus else printed)
        return Number(shown, figure, bracket or minus, currency, percent, scale, unit, bounded)


def _scaled(word: str) -> tuple[str, int]:
    """Currency and power of ten in ``T€``, ``€m``."""
    plain = word.replace(" ", "")
    behind = re.fullmatch(r"(.+?)(m[mn]?|bn|k)", plain, re.IGNORECASE)
    if behind and re.fullmatch(CURRENCY, behind[1]):
        return currency_code(behind[1]), power_of(behind[2])
    return currency_code(plain[1:]), 3


def power_of(word: str) -> int:
    """The power of ten of a magnitude word or sign (``millions``, ``bn``, ``'000``)."""
    plain = word.lower().rstrip(".")
    if "000" in plain:
        return 3
    return MAGNITUDES.get(plain) or MAGNITUDES.get(plain.rstrip("s"), 0)


def _descends(first: Number, second: Number) -> bool:
    """Whether an apparent range is a code: ``4000-10``, ``007-12``."""
    if first.negative or second.negative or first.currency or second.percent:
        return False
    low, high = (float(n.figure.replace(",", "")) for n in (first, second))
    leading = any(len(n.figure) > 1 and n.figure[0] == "0" and n.figure[1] != "." for n in (first, second))
    return leading or low > high


def style_of(texts: Iterable[str], points_rare: bool = False) -> Style:
    """The style of a table's figures; :attr:`Style.PLAIN` unless another is certain.

    A decimal comma is certain where groups stand before it (1.234,5), where it has a percent or currency
    sign (12,5 %), behind four digits (1234,5) or a nought (0,951), or in three cells (12,5; in one where
    ``points_rare``: semicolons or tabs part the cells) where no figure looks grouped (beside 1,234 the cells
    2,3 are notes); any figure that only a decimal point explains speaks against it.
    """
    plain = sure = likely = spaced = grouped = 0
    for text in texts:
        if len(text) > 40 or not any(map(str.isdigit, text)):
            continue
        match = _BARE.fullmatch(text)
        if match is None:
            continue
        figure = match[1]
        plain += _PLAIN_SURE.fullmatch(figure) is not None
        grouped += _COMMA_GROUPS.fullmatch(figure) is not None
        spaced += _SPACED.fullmatch(figure) is not None
        if _COMMA_SURE.fullmatch(figure):
            sure += 1
        elif _COMMA_LIKELY.fullmatch(figure):
            likely += 1
            sure += text != figure and ("%" in text or any(c in text for c in SIGNS))
    enough = 1 if points_rare else 3
    if not plain and (sure or (likely >= enough and not grouped) or (likely and spaced)):
        return Style.COMMA
    return Style.SPACED if spaced and not grouped else Style.PLAIN


def is_year(text: str) -> bool:
    """Whether a cell holds only a year (``2024``, ``FY2024``, ``2024 (1)``)."""
    return len(text) < 20 and _YEAR.fullmatch(text.strip()) is not None


def is_placeholder(text: str) -> bool:
    """Whether a cell holds no information: empty, a dash, a lone currency or percent sign, n/a."""
    return len(text) < 30 and _EMPTY.fullmatch(text.strip()) is not None
