"""Documents to passages of about 1,000 characters, cut at sentence ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

TARGET = 1000
"""Characters a passage has at most, unless a single word is longer."""

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


def chunks(text: str, target: int = TARGET) -> list[str]:
    """Passages of whole sentences, each at most ``target`` characters, in order; no word is lost.

    A sentence that is longer than ``target`` is cut between words; a word that is longer stays whole.

    Raises:
        ValueError: ``target`` below 50.
    """
    if target < 50:
        raise ValueError(f"a passage needs at least 50 characters, not {target}")
    made: list[str] = []
    for piece in (part for s in sentences(text) for part in _short(s, target)):
        if made and len(made[-1]) + 1 + len(piece) <= target:
            made[-1] += f" {piece}"
        else:
            made.append(piece)
    return made


def _short(sentence: str, target: int) -> Iterator[str]:
    line = ""
    for word in sentence.split():
        if line and len(line) + 1 + len(word) > target:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    if line:
        yield line
