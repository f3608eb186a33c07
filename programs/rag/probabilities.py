"""How probable each option is to the model that answers, by the log-probabilities of its letter."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..logprobs import Token, bare


def option_probabilities(tokens: Sequence[Token] | None, letters: Sequence[str]) -> dict[str, float] | None:
    """The probability of each letter at the token that chooses, the last one that is a letter; they sum to 1.

    Spellings of a letter (``B``, `` B``, ``"B``) are added up; a letter that is not among the alternatives
    has probability 0.

    Args:
        tokens: of the whole reply, or None.
        letters: of the options.

    Returns:
        None where there are no log-probabilities, or no token is a letter.
    """
    for token in reversed(tokens or ()):
        if bare(token.text, fold=False) in letters and token.options:
            found = token.chances(letters, fold=False)
            total = math.fsum(found.values())
            return {letter: p / total for letter, p in found.items()} if total > 0 else None
    return None
