"""Show a spreadsheet's number in its number format: grouping, places, percent, currency, thousands."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Decimal, localcontext

from .currencies import SIGNS
from .numbers import parse_number

_CURRENCY_CODE = re.compile(r"\[\$([^\]-]*)[^\]]*\]")
_NOT_SHOWN = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')
_KEPT = re.compile(rf'"([{SIGNS}()])"|\\([{SIGNS}()])')
"""Quoted or escaped signs that say what a number is."""
_WORDS = re.compile(r'"[^"]*"|\[\$[^\]]*\]|(?:\\[^\W\d_])+')
"""Quoted, escaped and currency texts of a format."""
_GROUPED = re.compile(r"[#0?],[#0?]")
_SCALED = re.compile(r"[#0?](,+)(?![#0?,])")
_PLACES = re.compile(r"\.([#0?]+)")
_GENERAL = re.compile(r"general|@|.*(?:\[[<>=]|E[+-]|[#?0]/[#?0\d]).*", re.IGNORECASE)


def show_number(value: int | float, form: str) -> str:
    """A number in its format: ``#,##0.0``, ``0%``, ``[$£-809]#,##0;(#,##0)``, ``#,##0,`` (scaled).

    Numbers in formats with conditions, fractions or exponents, or without digits, are shown in full, without
    an exponent. A quoted text is shown if it belongs to a printed number (``0.0"x"``, ``#,##0.0,,"M"``,
    ``[$CHF] 0``).
    """
    sections = form.split(";")
    negative = value < 0
    section = sections[1] if negative and len(sections) > 1 and sections[1].strip() else sections[0]
    code = _CURRENCY_CODE.search(section)
    bare = _NOT_SHOWN.sub("", _KEPT.sub(r"\1\2", section))
    if not math.isfinite(_real(value)) or _GENERAL.fullmatch(form) or not re.search("[#0?]", bare):
        return _in_full(value)
    sign = next((c for c in (code[1] if code else bare) if c in SIGNS), "")
    number = abs(Decimal(_in_full(value))) * (100 if "%" in bare else 1)
    scaled = _SCALED.search(bare)
    if scaled:
        number = number.scaleb(-3 * min(len(scaled[1]), 10))
    places = _PLACES.search(bare)
    most = min(len(places[1]), 30) if places else 0
    with localcontext(prec=400, rounding=ROUND_HALF_UP):
        text = f"{number:,.{most}f}" if _GROUPED.search(bare) else f"{number:.{most}f}"
    if places and "#" in places[1]:
        least = len(places[1].rstrip("#"))
        whole, _, rest = text.partition(".")
        rest = rest[:least] + rest[least:].rstrip("0")
        text = f"{whole}.{rest}" if rest else whole
    shown = f"{sign}{text}" + ("%" if "%" in bare else "")
    if negative:
        shown = f"({shown})" if "(" in bare and section is not sections[0] else f"-{shown}"
    return _with_words(shown, section)


def _with_words(shown: str, section: str) -> str:
    """A number with the words of its format before and after it, as far as the number grammar knows them."""
    plain = parse_number(shown)
    if plain is None:
        return shown
    for pattern in (r"^(?P<word>[^#0?]*)[#0?].*$", r"^.*[#0?](?P<word>[^#0?]*)$"):
        match = re.match(pattern, section)
        words = " ".join(_WORDS.findall(match["word"])) if match else ""
        word = "".join(c for c in re.sub(r'["\\]|\[\$|-[0-9A-Fa-f]+\]|\]', "", words)).strip()
        if not any(map(str.isalpha, word)):
            continue
        whole = f"{word} {shown}" if pattern[0:2] == "^(" else f"{shown} {word}"
        found = parse_number(whole)
        if found is not None and found.figure == plain.figure:
            shown = whole
    return shown


def _real(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _in_full(value: int | float) -> str:
    return without_exponent(f"{value:.15g}" if isinstance(value, float) else str(value))


def without_exponent(text: str) -> str:
    """A number in Python's notation (``1.5e+03``) with all its digits (``1500``)."""
    return format(Decimal(text), "f") if "e" in text.lower() else text
