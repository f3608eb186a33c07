"""Documents to passages of about 1,000 characters, cut at sentence ends."""

from __future__ import annotations

from collections.abc import Iterator

from ..signatures.sentences import sentences

TARGET = 1000
"""Characters a passage has at most, unless a single word is longer."""


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
