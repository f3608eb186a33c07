"""Numbers as documents print them: ``$ (1,234.5)``, ``12.3%``, ``—``, ``1,234 (a)``."""

from __future__ import annotations

import re
from dataclasses import dataclass

CURRENCY = "$€£¥₹"
DASHES = "-–—−‒―"
_SPACES = re.compile(r"\s+")
_FIGURE = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+"
_NUMBER = re.compile(
    rf"(?P<open>\(\s*)?(?P<sign>[{DASHES}+]\s*)?(?P<money>(?:US|C|A|HK)?[{CURRENCY}]\s*)?(?P<open2>\(\s*)?"
    rf"(?P<sign2>[{DASHES}]\s*)?(?P<figure>{_FIGURE})\s*(?P<percent>%)?\s*(?P<close>\))?\s*(?P<percent2>%)?"
    r"\s*(?P<times>x)?(?P<notes>(?:\s*(?:\([a-z0-9]{1,2}\)|[*†‡§]+|\[[a-z0-9]{1,2}\]))*)"
)
_YEAR = re.compile(r"(?:FY|CY)?\s*(?:19|20)\d{2}[EA]?")
_EMPTY = re.compile(rf"[{DASHES}{CURRENCY}()%\s]*|n/?[am]|nm|\*+|not meaningful|nil|none", re.IGNORECASE)


@dataclass(frozen=True)
class Number:
    """One printed number.

    ``shown`` is what a reader calls the value: the figure, in parentheses or with its sign where it is
    negative, without currency, percent sign and footnote marks. ``figure`` is the digits alone.
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


def parse_number(text: str) -> Number | None:
    """The number that a cell holds, or None where it holds something else.

    A parenthesis that is closed (or opened) in a neighbouring cell is allowed to be open.
    """
    match = _NUMBER.fullmatch(_SPACES.sub(" ", text).strip())
    if match is None:
        return None
    bracket = bool(match["open"] or match["open2"])
    negative = bracket or bool((match["sign"] or match["sign2"] or "+").strip() != "+")
    figure = match["figure"]
    shown = f"({figure})" if bracket else (f"-{figure}" if negative else figure)
    percent = bool(match["percent"] or match["percent2"])
    return Number(shown, figure, negative, bool(match["money"]), percent)


def is_year(text: str) -> bool:
    """Whether a cell holds nothing but a year (``2024``, ``FY2024``)."""
    return _YEAR.fullmatch(text.strip()) is not None


def is_placeholder(text: str) -> bool:
    """Whether a cell holds no information: empty, a dash, a lone currency or percent sign, n/a."""
    return _EMPTY.fullmatch(text.strip()) is not None
