"""Numbers as documents print them: ``$ (1,234.5)``, ``12.3%``, ``—``, ``1,234 (a)``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

CURRENCY = "$€£¥₹"
DASHES = "-–—−‒―"
_SPACES = re.compile(r"\s+")
_GROUP = "[ '’]"


class Style(Enum):
    """How a table writes its figures: 1,234.5 (plain), 1.234,5 (comma) or 1 234.5 (spaced).

    Groups of a comma or spaced figure may also be parted by spaces or apostrophes.
    """

    PLAIN = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+"
    COMMA = rf"(?:\d{{1,3}}(?:\.\d{{3}})+|\d{{1,3}}(?:{_GROUP}\d{{3}})+|\d+)(?:,\d+)?"
    SPACED = rf"(?:\d{{1,3}}(?:{_GROUP}\d{{3}})+|\d+)(?:\.\d+)?|\.\d+"


def _number(figure: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<open>\(\s*)?(?P<sign>[{DASHES}+]\s*)?(?P<money>(?:US|C|A|HK)?[{CURRENCY}]\s*)?"
        rf"(?P<open2>\(\s*)?(?P<sign2>[{DASHES}]\s*)?(?P<figure>{figure})\s*(?P<money2>[€£]\s*)?"
        r"(?P<percent>%)?\s*(?P<close>\))?\s*(?P<percent2>%)?"
        r"\s*(?P<times>x)?(?P<notes>(?:\s*(?:\([a-z0-9]{1,2}\)|[*†‡§]+|\[[a-z0-9]{1,2}\]))*)"
    )


_NUMBERS = {style: _number(style.value) for style in Style}
_BARE = re.compile(rf"[{DASHES}{CURRENCY}()+%\s]*([\d.][\d., '’]*?)\s*([{CURRENCY}%])?[{CURRENCY}()%\s]*")
_COMMA_SURE = re.compile(
    rf"\d{{1,3}}(?:(?:\.|{_GROUP})\d{{3}})+,\d+|\d{{1,3}}(?:\.\d{{3}}){{2,}}|\d{{4,}},\d+|0,\d+"
)
_COMMA_LIKELY = re.compile(r"\d+,\d{1,2}")
_SPACED = re.compile(rf"\d{{1,3}}(?:{_GROUP}\d{{3}})+(?:\.\d+)?")
_COMMA_GROUPS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_PLAIN_SURE = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,}|\d*\.(?:\d{1,2}|\d{4,})")
_ENGLISH = str.maketrans(".,", ",.", "")
_YEAR = re.compile(r"(?:FY|CY)?\s*(?:19|20)\d{2}[EA]?")
_EMPTY = re.compile(rf"[{DASHES}{CURRENCY}()%\s]*|n/?[am]|nm|\*+|not meaningful|nil|none", re.IGNORECASE)


@dataclass(frozen=True)
class Number:
    """One printed number.

    ``shown`` is what a reader calls the value: the figure, in parentheses or with its sign where it is
    negative, without currency, percent sign and footnote marks. ``figure`` is the digits alone, always in
    the plain style (1,234.5).
    """

    shown: str
    figure: str
    negative: bool = False
    money: bool = False
    percent: bool = False

    @property
    def decimals(self) -> int:
        """Digits after the point."""
        return len(self.figure.partition(".")[2])


def parse_number(text: str, style: Style = Style.PLAIN) -> Number | None:
    """The number that a cell holds, or None where it holds something else.

    A parenthesis that is closed (or opened) in a neighbouring cell is allowed to be open.
    """
    match = _NUMBERS[style].fullmatch(_SPACES.sub(" ", text).strip())
    if match is None:
        return None
    bracket = bool(match["open"] or match["open2"])
    negative = bracket or bool((match["sign"] or match["sign2"] or "+").strip() != "+")
    printed = match["figure"]
    figure = re.sub(_GROUP, ",", printed.translate(_ENGLISH) if style is Style.COMMA else printed)
    shown = f"({printed})" if bracket else (f"-{printed}" if negative else printed)
    percent = bool(match["percent"] or match["percent2"])
    return Number(shown, figure, negative, bool(match["money"] or match["money2"]), percent)


def style_of(texts: Iterable[str]) -> Style:
    """How the figures of one table are written; :attr:`Style.PLAIN` unless they leave no doubt.

    A decimal comma is certain where groups stand before it (1.234,5), where it has a percent or currency
    sign (12,5 %), behind four digits (1234,5) or a nought (0,951), or in three cells (12,5) where no figure
    looks grouped (beside 1,234 the cells 2,3 are notes); any figure that only a decimal point explains speaks
    against it.
    """
    plain = sure = likely = spaced = grouped = 0
    for text in texts:
        match = _BARE.fullmatch(text) if len(text) <= 40 else None
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
            sure += any(c in text for c in f"%{CURRENCY}")
    if not plain and (sure or (likely >= 3 and not grouped) or (likely and spaced)):
        return Style.COMMA
    return Style.SPACED if spaced and not grouped else Style.PLAIN


def is_year(text: str) -> bool:
    """Whether a cell holds nothing but a year (``2024``, ``FY2024``)."""
    return _YEAR.fullmatch(text.strip()) is not None


def is_placeholder(text: str) -> bool:
    """Whether a cell holds no information: empty, a dash, a lone currency or percent sign, n/a."""
    return _EMPTY.fullmatch(text.strip()) is not None
