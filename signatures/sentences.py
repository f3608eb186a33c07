"""The sentences of a text."""

from __future__ import annotations

import re

_ABBREVIATIONS = frozenset(
    "dr mr mrs ms prof st vs etc e.g i.e cf fig figs no approx al ca resp eq sec vol ed dept jr sr".split()
)
_END = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]*(?:\s+|$)|(?<=[。！？])|\n\s*\n")


def sentences(text: str) -> list[str]:
    """The sentences of a text, white space normalised; none is empty.

    A sentence ends at ``.``, ``!`` or ``?`` (or their wide forms) before white space, or at a blank line. No
    end is seen after a common abbreviation, after a single initial, or before a lower-case letter.
    """
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        head, rest = text[start : match.end()], text[match.end() :].lstrip()
        blank = "\n" in match.group() and match.group().strip() == ""
        words = head.split()
        last = words[-1].rstrip(".").lstrip("([\"'") if words else ""
        if not blank and head.rstrip().endswith("."):
            initial = len(last) == 1 and last.isupper()
            if last.casefold() in _ABBREVIATIONS or initial or rest[:1].islower():
                continue
        if words:
            found.append(" ".join(words))
        start = match.end()
    if tail := " ".join(text[start:].split()):
        found.append(tail)
    return found
