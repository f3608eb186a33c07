"""Units and magnitudes of figures ("in thousands, except per share data").

The nearest statement counts: the value, its row, its column, its table, the text above, then what the
document says of all or most of its tables. Amounts per share are never scaled. Shares are scaled unless the
statement excludes them.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from .currencies import CODES, CURRENCY, CURRENCY_NAME, SIGNS, THOUSANDS, currency_code, find_currency
from .datatypes import MONETARY, PER_SHARE, PERCENT, SHARES
from .grid import Grid
from .mentions import surroundings
from .numbers import DASHES, DURATION, MAGNITUDE, Number, power_of

_PLURAL = r"thousands|millions|billions|lakhs?|crores?"
_SHORT = r"['’]?000s?|m|mm|mn|mio|bn|k"
_BRACKETED = r"['’]?000s?|thous\.?|mill?\.?|bill?\.?"
_NAME = r"(?:dollar|euro|pound|yen|renminbi|rupee|franc)"
_ENDS = rf"(?=\s*(?:$|[,;:)|\]]|except|u\.?s|of (?:u\.?s\.? )?(?:{CURRENCY}|{_NAME})))"
_SINGLE = r"thousand|million|billion|crore|lakh|mio\.?|mrd\.?|tsd\.?|mn|bn"
_HINT = re.compile(
    rf"{THOUSANDS}|\b(?:mrd|tsd)\b"
    r"|thous|mill?\b|bill?\b|million|billion|lakh|crore|000|\bm[mn]?\b|\bmio\b|\bbn\b|\bk\b",
    re.IGNORECASE,
)
_SCALE = re.compile(
    rf"\b(?:in|of|are|as|figures|amounts?|dollars|euros)\s+(?:{CURRENCY}\s?|\w+\s){{0,2}}(?P<a>{_PLURAL})\b"
    rf"|(?:^|[(\[;|])\s*(?:{CURRENCY}\s?|u\.?s\.? |dollars ){{0,2}}(?P<b>{_PLURAL})\b{_ENDS}"
    rf"|(?:{CURRENCY})\s?(?:in )?(?P<c>{_PLURAL})\b"
    rf"|(?:{CURRENCY})\s?(?P<d>{_SHORT})(?![\w,.])"
    rf"|(?:{CURRENCY})\s?(?P<g>{_SINGLE})(?![\w,.]*\d)|(?P<h>{THOUSANDS})(?!\s?\d)"
    rf"|(?:^|[(\[;|,]|\bin)\s*(?P<i>{_SINGLE})\s(?:of )?(?:{CURRENCY}|{CURRENCY_NAME})"
    rf"|\(\s*(?P<e>{_BRACKETED})\s*\)|(?:^|\bin\s)(?P<f>['’]?000s?)\b",
    re.IGNORECASE,
)
_TOLD = r"expressed|stated|presented|reported|amounts|figures"
_WHOLE = re.compile(
    rf"(?:\(|\b(?:{_TOLD})\s(?:are )?)(?:(?:all|{_TOLD}) )*in (?:whole )?"
    rf"(?P<currency>{CURRENCY_NAME}|(?-i:{'|'.join(sorted(CODES))})\b)",
    re.IGNORECASE,
)
"""A currency without a magnitude: amounts are written out."""
_OF_SHARES = re.compile(
    rf"\b(?P<a>{_PLURAL}) of shares\b"
    r"|\b(?:shares?|units?)\b,?\s(?:(?:which|are|data|amounts|stated|reflected|expressed|and)\s){0,4}"
    rf"in (?P<b>{_PLURAL})\b",
    re.IGNORECASE,
)
_EXCEPT = re.compile(r"\bexcept\b(?P<what>[^();]{0,200})", re.IGNORECASE)
_PER = re.compile(r"\bper[- ](?:common |ordinary |diluted |basic )?(?:share|unit|ADS)\b", re.IGNORECASE)
_SHARE = re.compile(r"\b(?:shares?|units?|stock)\b", re.IGNORECASE)
_GENERAL = re.compile(
    r"unless otherwise|except as (?:otherwise )?(?:noted|indicated|stated)|tabular|all (?:dollar )?amounts"
    r"|all figures|tables? (?:are|is) (?:presented|stated|expressed)",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"\b(?:number of|employees|headcount|years?|months?|days?|ratio|multiple|times|volumes?|square feet"
    r"|carloads|tons|percent|%)",
    re.IGNORECASE,
)
_MAGNITUDE_AFTER = re.compile(rf"\)?\s?(?P<word>{MAGNITUDE})", re.IGNORECASE)
_CURRENCY_BEFORE = re.compile(rf"(?P<sign>{CURRENCY})\s?[({DASHES}]?\s?$")
_CURRENCY_BEHIND = re.compile(
    rf"\s?(?:{MAGNITUDE}\s?)?(?P<sign>{CURRENCY}(?!\w)|{CURRENCY_NAME})", re.IGNORECASE
)
_DURATION_AFTER = re.compile(rf"\s?(?P<word>{DURATION})", re.IGNORECASE)


_UNITS = re.compile(r"units?(?: of measure(?:ment)?)?|uom|currency|measure|einheit", re.IGNORECASE)
WRITTEN_OUT = {MONETARY: 8, SHARES: 7}
"""Digits from which on an amount, or a number of shares, is written out where nothing is said of it."""


class Said(NamedTuple):
    """One statement: the power of ten of amounts, that of shares (None: as amounts), the currency, and its
    words.
    """

    scale: int
    shares: int | None
    currency: str | None
    words: str


class Stated(NamedTuple):
    """The scale and unit of one value, and where they were stated."""

    scale: int | None = None
    unit: str | None = None
    stated: str | None = None


@lru_cache(maxsize=4096)
def said_in(text: str) -> Said | None:
    """The last statement of magnitude in a text; None if there is none.

    >>> said_in("(In millions, except number of shares, which are reflected in thousands)")[:2]
    (6, 3)
    """
    if not (_HINT.search(text) or _WHOLE.search(text)):
        return None
    shares = None
    of_shares = _OF_SHARES.search(text)
    if of_shares:
        shares = power_of(of_shares["a"] or of_shares["b"])
    found = [
        m
        for m in _SCALE.finditer(text)
        if not (of_shares and of_shares.start() < m.end() and m.start() < of_shares.end())
    ]
    if not found and shares is None:
        whole = _WHOLE.search(text)
        return Said(0, None, currency_code(whole["currency"]), _words(text, whole.start())) if whole else None
    if not found:
        return Said(0, shares, None, _words(text, of_shares.start() if of_shares else 0))
    between = text[found[0].end() : found[-1].start()]
    match = found[-1] if any(c in between for c in ").;") else found[0]
    word = next(w for w in match.groupdict().values() if w)
    excepted = _EXCEPT.search(text, match.end())
    if shares is None and excepted and excepted.start() - match.end() < 40:
        rest = _PER.sub("", excepted["what"])
        if _SHARE.search(rest):
            shares = 0
    around = text[max(0, match.start() - 30) : match.end() + 30]
    return Said(
        3 if match["h"] else power_of(word), shares, find_currency(around), _words(text, match.start())
    )


def _words(text: str, start: int) -> str:
    """The statement around a position in a text, for display."""
    low = max(text.rfind("(", 0, start + 1), text.rfind(". ", 0, start) + 1, start - 40, 0)
    high = text.find(")", start)
    return " ".join(text[low : high + 1 if 0 <= high < start + 160 else start + 60].split())


@dataclass
class TableUnits:
    """A table's statements on its figures: in its headings and captions, and in the text above."""

    own: Said | None
    above: Said | None
    currency: str | None
    kept: dict[str, Said | None] = field(default_factory=dict)

    @classmethod
    def of(cls, grid: Grid, captions: str, above: str) -> TableUnits:
        """What the headings of a grid's labels (above its first value), its captions and the text above it
        say; what the heading of a column says holds for that column alone."""
        first = next((r for r, row in enumerate(grid.rows) if any(c.figure for c in row)), len(grid.rows))
        words = [row[0].text[:200] for row in grid.rows[:first][-12:] if row and row[0].col == 0]
        return cls(said_in(captions) or said_in("; ".join(words)), said_in(above), _currency(grid))

    def nearest(self, row: str, column: str) -> tuple[str, Said] | None:
        for where, text in (("row", row), ("column", column)):
            if found := said_in(text):
                return where, found
        if self.own:
            return "table", self.own
        return ("text above", self.above) if self.above else None


def unit_column(grid: Grid) -> dict[int, str]:
    """The unit of each row from a unit column ("Unit": EUR m, %, FTE)."""
    for row in grid.rows[:12]:
        for head in row:
            if _UNITS.fullmatch(head.text.strip()) and head.col:
                return {
                    c.row: c.text
                    for below in grid.rows[head.row + 1 :]
                    for c in below
                    if c.col == head.col and not c.figure
                }
    return {}


def _currency(grid: Grid) -> str | None:
    """The currency of the first sign beside a figure of a table."""
    for row in grid.rows:
        for cell in row:
            if cell.number is not None and cell.number.currency:
                return cell.number.currency
            if len(cell.text) <= 3 and cell.text[:1] in SIGNS:
                return currency_code(cell.text[:1])
    return None


class DocumentUnits:
    """Statements of the whole document, and of most of its tables; known at its end."""

    def __init__(self) -> None:
        self.general: Said | None = None
        self.scales: Counter[int] = Counter()
        self.shares: Counter[int] = Counter()
        self.currencies: Counter[str] = Counter()

    def passage(self, text: str) -> None:
        """Read a passage that may speak of all tables."""
        if self.general is None and _HINT.search(text) and _GENERAL.search(text):
            self.general = said_in(text[:2000])

    def count(self, stated: Stated, datatype: str | None) -> None:
        """Count the statements for one value."""
        if stated.scale is not None and datatype in (MONETARY, SHARES):
            (self.shares if datatype == SHARES else self.scales)[stated.scale] += 1
        if stated.unit and len(stated.unit) == 3:
            self.currencies[stated.unit] += 1

    def settle(self, stated: Stated, datatype: str | None, value: str) -> Stated:
        """The scale and unit of a table value without a nearer statement."""
        scale, unit, words = stated
        least = WRITTEN_OUT.get(datatype or "", 0)
        if scale is None and least and sum(map(str.isdigit, value)) >= least:
            scale = 0
        elif scale is None and datatype in (MONETARY, SHARES):
            if self.general is not None:
                shares = self.general.shares
                scale = shares if datatype == SHARES and shares is not None else self.general.scale
                words = f"document: {self.general.words}"
            elif most := (self.shares if datatype == SHARES else self.scales).most_common(1):
                scale, words = most[0][0], "as most of the document"
        currency = self.general.currency if self.general else None
        if currency is None and self.currencies:
            currency = self.currencies.most_common(1)[0][0]
        if unit is None and datatype == MONETARY:
            unit = currency
        elif unit == "/shares":
            unit = f"{currency}/shares" if currency else None
        return Stated(scale, unit, words)


def of_cell(
    table: TableUnits,
    number: Number | None,
    datatype: str | None,
    row: str,
    column: str,
    sign: str | None,
) -> Stated:
    """Scale and unit of a value of a table.

    Args:
        table: the table's statements.
        number: the printed number.
        datatype: the guessed one.
        row, column: its header chains.
        sign: its currency sign, in its cell or an adjacent one.
    """
    currency = (number.currency if number else None) or (currency_code(sign) if sign else None)
    if datatype == PERCENT:
        return Stated(-2, "percent", "value: %" if number and number.percent else None)
    if number is not None and number.scale:
        return Stated(number.scale, _unit(datatype, currency or table.currency), "value")
    leaf = row.rpartition(" | ")[2]
    near = table.nearest(leaf, column) or table.nearest(row, column)
    if datatype == PER_SHARE:
        return Stated(0, f"{currency or (near and near[1].currency) or table.currency or ''}/shares", None)
    if number is not None and re.fullmatch(DURATION, number.unit, re.IGNORECASE):
        return Stated(0, number.unit, "value")
    if near is None:
        return Stated(None, _unit(datatype, currency or table.currency), None)
    where, said = near
    words = f"{where}: {said.words}"
    if datatype == SHARES:
        return Stated(said.scale if said.shares is None else said.shares, "shares", words)
    if datatype is None and _COUNT.search(f"{leaf} {column}"):
        return Stated(0, None, None)
    if datatype is None:
        return Stated(said.scale, None, words)
    return Stated(said.scale, currency or said.currency or table.currency, words)


def of_mention(text: str, start: int, end: int, datatype: str | None, table: TableUnits | None) -> Stated:
    """Scale and unit of a number in running text, or in a label of a table."""
    before, after = surroundings(text, start, end)
    sign = _CURRENCY_BEFORE.search(before[-12:]) or _CURRENCY_BEHIND.match(after)
    currency = currency_code(sign["sign"]) if sign else None
    if datatype == PERCENT:
        return Stated(-2, "percent", "value: %")
    if datatype == PER_SHARE:
        return Stated(0, f"{currency or ''}/shares", None)
    word = _MAGNITUDE_AFTER.match(after)
    if word:
        return Stated(power_of(word["word"]), _unit(datatype, currency), f"value: {word['word']}")
    if datatype is None and (span := _DURATION_AFTER.match(after)):
        return Stated(0, span["word"].lower(), "value")
    said = (table.own or table.above) if table else None
    if said is not None and datatype == SHARES:
        return Stated(said.scale if said.shares is None else said.shares, "shares", f"table: {said.words}")
    if said is not None and datatype == MONETARY:
        return Stated(said.scale, currency or said.currency, f"table: {said.words}")
    return Stated(0 if datatype else None, _unit(datatype, currency), None)


def _unit(datatype: str | None, currency: str | None) -> str | None:
    if datatype == SHARES:
        return "shares"
    return currency if datatype == MONETARY else None
