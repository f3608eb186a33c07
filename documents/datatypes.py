"""Guess the datatype of a value from the page (units row, headers, signs, digits).

An untagged document declares no datatype, and a wrong guess would hide the right concept from the datatype
filter. So without a hint the result is None (search everything).
"""

from __future__ import annotations

import math
import re

from .currencies import CURRENCY, CURRENCY_NAME, THOUSANDS
from .numbers import DASHES, MAGNITUDE

MONETARY = "monetaryItemType"
SHARES = "sharesItemType"
PER_SHARE = "perShareItemType"
PERCENT = "percentItemType"

_PER_SHARE = re.compile(
    r"\bper[ -](?:\w+ ){0,2}(?:share|unit|ADS)(?:\d|\b)|\bpar value\b|\bexercise price|\bprice paid|\bEPS\b"
    r"|(?:fair value|price)s? per\b|weighted[- ]+average (?:grant|exercise)[- ]|grant[- ]date fair value",
    re.IGNORECASE,
)
_SHARES = re.compile(
    r"\bshares?\b|\bRSUs?\b|\bPSUs?\b|\bunits (?:granted|vested|outstanding)"
    r"|number of (?:options|awards|units)"
    r"|\boptions\b|\bdilutive effect|\bstock units\b",
    re.IGNORECASE,
)
_NOT_SHARES = re.compile(
    r"\bvalue\b|\bpurchases? of|\brepurchases?\b|proceeds|payments?|issuance|\$|amount|cost|withh|tax",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"%|\bpercent(?:age)?s?\b|\brates?\b|\byield\b|\bvolatility\b", re.IGNORECASE)
_NOT_PERCENT = re.compile(
    r"exchange rate|\bswaps?\b|\bcontracts?\b|\bnotes?\b|\beffect\b"
    r"|at (?:the )?(?:federal |u\.?s\.? )?statutory"
    r"|rate (?:change|difference)|interest rate (?:derivative|lock)|floating|fixed[- ]rate",
    re.IGNORECASE,
)
_EQUITY = re.compile(r"capital|earnings|deficit|equity|treasury|accumulated|\bloss\b", re.IGNORECASE)
_EARNINGS = re.compile(r"(?:basic|diluted|basic and diluted|assuming dilution)\W*\w?\W*", re.IGNORECASE)
_TIME = re.compile(
    r"\bin (?:years|months|days)\b|\bremaining\b.*\b(?:term|life|lives)\b|\buseful li", re.IGNORECASE
)
_EXCEPT = re.compile(r"\([^()]*\bexcept[^()]*\)|\bexcept (?:for )?(?:per[- ])?share.*", re.IGNORECASE)
_SCALE = re.compile(
    r"\b(?:in|of|dollars in|u\.s\. dollars) ?(?:\w+ )?(?:thousands|millions|billions)|\(\$?000s?\)"
    rf"|{CURRENCY}|{THOUSANDS}",
    re.IGNORECASE,
)
_HEADS = re.compile(r"\b(?:employees|headcount|FTEs?)\b", re.IGNORECASE)
_COUNT = re.compile(r"weighted[- ]+average (?:number|shares)|intrinsic", re.IGNORECASE)
_CURRENCY_BEFORE = re.compile(rf"(?:{CURRENCY}|dollars?)\s?[({DASHES}]?\s?$")
_CURRENCY_AFTER = re.compile(rf"\s?(?:{MAGNITUDE}\s?)?(?:{CURRENCY}(?!\w)|{CURRENCY_NAME})", re.IGNORECASE)
_MAGNITUDE_AFTER = re.compile(r"\s*[mb]illion")
_PERCENT_AFTER = re.compile(r"\s*(?:%|percent|percentage points|basis points)")
_PERCENT_LATER = re.compile(r"\s*(?:,|to|and|or|through|-|–)?\s*(?:and )?\d[\d.,]*\s*(?:%|percent\b)")
_PER_SHARE_AFTER = re.compile(
    r"\s*(?:par value\b|stated value\b|(?:in cash )?per (?:\w+ ){0,2}(?:share|unit)|(?:a|each) share)"
)
_PAR_BEFORE = re.compile(r"par value[^.]{0,12}$|per share[^.]{0,20}$")
_SHARES_AFTER = re.compile(
    r"\s*(?:[mb]illion |thousand )?(?:(?:and|to|of|,) [\d.,]+ )?(?:\w+ ){0,4}"
    r"(?:shares|stock options|options|RSUs|PSUs|units|authorized|issued|outstanding)\b"
)


def guess_cell(
    row: str, column: str, money: bool, percent: bool, figure: str, surroundings: str = ""
) -> str | None:
    """The datatype of a table cell.

    Args:
        row, column: its header chains.
        money, percent: whether the number has a currency or percent sign.
        figure: its digits as printed.
        surroundings: the table's other headings and the text above (units such as "(in millions)").
    """
    row, column = _EXCEPT.sub("", row), _EXCEPT.sub("", column)
    leaf = row.rpartition(" | ")[2]
    if _EARNINGS.fullmatch(leaf.strip()):
        leaf = row
    both = f"{leaf} {column}"
    decimals = len(figure.partition(".")[2])
    whole = _size(figure)
    if percent:
        return PERCENT
    if _PER_SHARE.search(both) and not _COUNT.search(both):
        small = "," not in figure and whole < 5_000
        if small and (decimals >= 2 or money or not _SHARES.search(leaf)):
            return PER_SHARE
    if money:
        return MONETARY
    if re.search(r"\bvalue\b|\bamount\b|intrinsic", column, re.IGNORECASE) and not _PERCENT.search(column):
        return MONETARY
    if _SHARES.search(column) and not re.search(r"\bvalue\b|\bcost|\bamount", column, re.IGNORECASE):
        return SHARES
    if _SHARES.search(leaf) and not _NOT_SHARES.search(leaf) and not _EQUITY.search(column):
        return SHARES
    if re.search(r"\b(?:earnings|income|loss|dividends?)\b.*\bper\b", row, re.IGNORECASE) and decimals == 2:
        return PER_SHARE
    if _PERCENT.search(both) and not _NOT_PERCENT.search(leaf) and whole <= 150 and "," not in figure:
        return PERCENT
    if decimals == 2 and whole < 100 and re.search(r"\b(?:basic|diluted)\b", leaf, re.IGNORECASE):
        return PER_SHARE
    if re.search(r"\b(?:basic|diluted)\b", leaf, re.IGNORECASE) and re.search("share", row, re.IGNORECASE):
        return SHARES
    if _TIME.search(column) or _HEADS.search(leaf):
        return None
    if _SCALE.search(surroundings) or "," in figure:
        return MONETARY
    return None


def _size(figure: str) -> float:
    """The size of a figure; infinite if it is not written with a decimal point (1.234.567)."""
    try:
        return float(figure.replace(",", "") or 0)
    except ValueError:
        return math.inf


def guess_mention(before: str, after: str, figure: str) -> str | None:
    """The datatype of a number in running text.

    Args:
        before, after: the text around it (some 40 characters are read).
        figure: its digits as printed.
    """
    left, right = before[-40:], after[:80]
    money = bool(_CURRENCY_BEFORE.search(left) or _CURRENCY_AFTER.match(right))
    if _PERCENT_AFTER.match(right) or (_PERCENT_LATER.match(right) and not money):
        return PERCENT
    if money:
        par = _PAR_BEFORE.search(left) and "." in figure and not _MAGNITUDE_AFTER.match(right)
        return PER_SHARE if par or _PER_SHARE_AFTER.match(right) else MONETARY
    if _SHARES_AFTER.match(right):
        return SHARES
    return None
