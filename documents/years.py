"""Bare numbers such as 2024: years or values, by the words around them.

A number between 1900 and 2099 without a comma may be a year that heads a column, a date of an item (when
notes are due) or a value (1,984 employees, printed 1984). Its position decides (:mod:`.headers`); this module
has the words that help.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_UNIT = re.compile(
    r"\(.*\)|(?:dollars|amounts|shares|figures|u\.?s\.? ?(?:dollars|\$)|[$€£¥₹])?[ (]*"
    r"(?:(?:are|expressed|stated) )?(?:in )?"
    r"(?:thousands|millions|billions|percent(?:ages)?|dollars|euros?|usd|eur|gbp)\b.*"
    r"|(?:in )?(?:us|a|c|hk)?[$€£¥₹] ?(?:'?000s?|mm?|mn|bn|k|millions?|billions?|thousands?)\b.*"
    r"|(?:usd|eur|gbp|chf) ?(?:mm?|mn|bn|k|'000s?)",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    r"thousand|million|billion|percent|dollar|euro|\busd\b|\beur\b|\bgbp\b|[$€£¥₹]|%|shares|\b000s?\b|lakh|crore",
    re.IGNORECASE,
)
_STUB = re.compile(
    r"country|countries|(?:line )?items?|metrics?|indicators?|regions?|segments?|descriptions?|accounts?|"
    r"name|category|categories",
    re.IGNORECASE,
)
_PERIOD = re.compile(
    rf"\b(?:years?|months?|quarters?|weeks?|periods?|fiscal)[- ]+(?:then )?(?:ended|ending|end)\b"
    rf"|\bas (?:of|at)\b|\bfor the\b|\b{_MONTH} \d|\b(?:fiscal|calendar) years?\b",
    re.IGNORECASE,
)
_PERIOD_ALONE = re.compile(
    rf"(?:as (?:of|at) |at |on )?(?:{_MONTH}(?: \d{{1,2}})?)[,:]?"
    r"|(?:fiscal|calendar|financial|tax)?\s*(?:years?|quarters?|periods?|months?)[:,]?",
    re.IGNORECASE,
)
_ENDED = re.compile(
    r"(?:for )?(?:the )?(?:\w+ ){0,3}(?:years?|months?|quarters?|weeks?|periods?)[- ]+(?:then )?"
    r"(?:ended|ending)\b.*|as (?:of|at)\b.*|fiscal years?\b.*",
    re.IGNORECASE,
)
_DATES = re.compile(
    r"(?:(?:fiscal|calendar|maturity|model|tax|origination|vintage|plan|contract|award|expiration|final|due|issue)"
    r" )?years?(?: of .+| due| built| founded| acquired| opened)?"
    r"|(?:.+ )?maturit(?:y|ies)(?: dates?)?|matures?|due(?: date)?"
    r"|(?:.+ )?expir(?:y|ation|es|ing)(?: dates?)?|(?:.+ )?dates?"
    r"|vintage|since|founded|opened|acquired|periods?",
    re.IGNORECASE,
)


_NAMED = re.compile(
    r"(?:FY|CY|[QH][1-4]\s?)?(?:19|20)\d\d\b|\b[QH][1-4]\b|\b[1-4][QH]\b"
    r"|\b(?:level|tier|stage|note|class|series|tranche|phase|form)s?\s\w{1,3}\b|\(\w{1,2}\)|[¹²³⁴-⁹]"
    rf"|\b{_MONTH}\s{{0,2}}\d{{1,2}}\b|\b\d{{1,2}}\s{{1,2}}{_MONTH}"
    r"|\b\d{1,2}[ -](?:months?|weeks?|years?|days?)\b"
    r"|\b\d{1,2}[/.]\d{1,2}[/.](?:\d\d)?\d\d\b|\b\d{4}-\d\d-\d\d\b",
    re.IGNORECASE,
)
"""What has digits and is no figure: dates, periods, names of rank, footnote marks."""
_FOUR = re.compile(r"\d{4}")
_A_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


def heads_years(label: str) -> bool:
    """Whether a row's label only introduces the years beside it: a unit, a period or what the labels are,
    rather than an item of the table.
    """
    text = label.strip()[:200]
    return any(p.fullmatch(text) for p in (_UNIT, _PERIOD_ALONE, _ENDED, _STUB))


def heads_units(label: str) -> bool:
    """Whether a text has only units: ``(in millions)``, ``In thousands, except per share``."""
    return _UNIT.fullmatch(label.strip()[:200]) is not None and _MEASURE.search(label) is not None


def neighbours(years: Iterable[str]) -> bool:
    """Whether there are two or more adjacent years, each at most a year from the one before."""
    numbers = [int(found[0]) for y in years if (found := _FOUR.search(y))]
    return len(numbers) > 1 and all(abs(a - b) <= 1 for a, b in pairwise(numbers))


def has_year(text: str) -> bool:
    """Whether a heading has a year in it."""
    return _A_YEAR.search(text) is not None


def names_period(heading: str) -> bool:
    """Whether a column heading names a period, so that years below it may be headings."""
    text = heading.strip()[:200]
    return _PERIOD.search(text) is not None or heads_years(text)


def dates_column(heading: str) -> bool:
    """Whether a column's innermost heading announces years of the items: when due, since when."""
    return _DATES.fullmatch(heading.strip()[:100]) is not None


def follow(years: Iterable[str]) -> bool:
    """Whether years may head adjacent columns: each is at most a decade from the one before."""
    numbers = [int(m[0]) for m in map(_FOUR.search, years) if m]
    return all(abs(b - a) <= 10 for a, b in pairwise(numbers))


def has_figure(text: str) -> bool:
    """Whether a text has digits outside its dates, periods and names such as "Level 1"."""
    return any(map(str.isdigit, text)) and any(map(str.isdigit, _NAMED.sub("", text[:1000])))
