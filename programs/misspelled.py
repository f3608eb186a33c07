"""Misspelled words of a mention, read as the one word of the taxonomy that differs by one letter."""

from __future__ import annotations

import re
from collections.abc import Container
from functools import lru_cache
from string import ascii_lowercase

from ..signatures.tokenize import tok

LEAST = 6
"""Letters of a word that may be misspelled: shorter words differ by a letter where both are right."""

_WORD = re.compile(rf"(?<![\w'-])[a-z]{{{LEAST},}}(?![\w'-])", re.IGNORECASE)


class AnyWord:
    """The vocabulary that has every word: nothing is misspelled."""

    def __contains__(self, word: object) -> bool:
        return True


class Speller:
    """Corrects words that a taxonomy does not know.

    Args:
        vocabulary: the tokens (:data:`~abduce.signatures.tokenize.tok`) that it knows.
    """

    def __init__(self, vocabulary: Container[str]) -> None:
        self._vocabulary = vocabulary
        self._word = lru_cache(maxsize=10_000)(self._corrected)

    def __deepcopy__(self, memo: object) -> Speller:
        return self

    def correct(self, text: str) -> str:
        """The text, each unknown word in place of which only one known word fits read as that word: two
        neighbouring letters exchanged, else one missing or one too many, else another letter."""
        return _WORD.sub(lambda match: self._word(match[0]), text)

    def _corrected(self, word: str) -> str:
        tokens = list(dict.fromkeys(tok(word)))
        if len(tokens) != 1 or tokens[0] in self._vocabulary:
            return word
        for near in _changes(tokens[0]):
            found = {w for w in near if w in self._vocabulary}
            if found:
                return found.pop() if len(found) == 1 else word
        return word


def _changes(word: str) -> tuple[set[str], ...]:
    """All texts that differ from a word by one slip, the likelier slips first. The first letter is right."""
    cuts = [(word[:i], word[i:]) for i in range(1, len(word) + 1)]
    exchanged = {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
    missing = {a + c + b for a, b in cuts for c in ascii_lowercase}
    more = {a + b[1:] for a, b in cuts if b}
    other = {a + c + b[1:] for a, b in cuts if b for c in ascii_lowercase}
    return exchanged - {word}, (missing | more) - {word}, other - {word}
