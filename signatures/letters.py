"""Letters as they are compared: one Unicode form, nothing invisible, plain apostrophes and dashes."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Soft hyphens, joiners, direction marks, variation selectors, byte order marks."""

_PLAIN = {
    **dict.fromkeys(map(ord, "‘’‚‛ʼ′´`＇"), "'"),
    **dict.fromkeys(map(ord, "“”„‟″«»"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-"),
}


def tidy(text: str) -> str:
    """A text without invisible characters, in the composed Unicode form (NFC).

    >>> tidy("Good\u00adwill\u200b")
    'Goodwill'
    """
    return text if text.isascii() else _tidy(text)


def fold(text: str) -> str:
    """:func:`tidy`, with typographic apostrophes, quotes and dashes as plain ones. Only for comparing.

    >>> fold("stockholders\u2019 equity \u2013 basic")
    "stockholders' equity - basic"
    """
    return text if text.isascii() else _tidy(text).translate(_PLAIN)


def folded_with_places(text: str) -> tuple[str, list[int]]:
    """:func:`fold` of a text, and for each of its characters (and its end) the place in ``text`` where that
    character begins."""
    if text.isascii():
        return text, list(range(len(text) + 1))
    out: list[str] = []
    places: list[int] = []
    start = 0
    for end in range(1, len(text) + 1):
        if end < len(text) and (unicodedata.combining(text[end]) or _INVISIBLE.match(text[end])):
            continue
        for c in fold(text[start:end]):
            out.append(c)
            places.append(start)
        start = end
    return "".join(out), [*places, len(text)]


@lru_cache(maxsize=50_000)
def _short(text: str) -> str:
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", text))


def _tidy(text: str) -> str:
    return _short(text) if len(text) <= 200 else _short.__wrapped__(text)
