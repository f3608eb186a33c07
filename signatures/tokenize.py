"""The shared tokenizer ``tok`` of index, queries, coverage and label-form renderer (paper: B.2)."""

from __future__ import annotations

import re
from functools import lru_cache

FUNCTION_WORDS = frozenset(
    """
    a an and are as at be been being but by for if in into is it its of on or that the their then
    there these this to was were which with
    """.split()
)

_RUN = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@lru_cache(maxsize=200_000)
def _normal(word: str) -> str:
    """Lower case and the light plural rule; empty for a function word."""
    word = word.lower()
    if word in FUNCTION_WORDS:
        return ""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def tok(text: str) -> list[str]:
    """Tokens of ``text``: its alphanumeric runs, then those of its camel-case split.

    Lower-cased, function words dropped, light plural rule (``ies`` becomes ``y`` in words over 4
    letters; a final ``s`` that is not ``ss`` is dropped in words over 3). Repeats are kept: so
    ``AssetsHeldForSale`` gives ``assetsheldforsale asset held sale``.
    """
    tokens = [_normal(run) for run in _RUN.findall(text)]
    tokens += [_normal(run) for run in _RUN.findall(_CAMEL.sub(" ", text))]
    return [t for t in tokens if t]


@lru_cache(maxsize=20_000)
def tok_set(text: str) -> frozenset[str]:
    """The distinct tokens of ``text``."""
    return frozenset(tok(text))
