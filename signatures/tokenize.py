"""The shared tokenizer ``tok`` of index, queries, coverage and label-form renderer (paper: B.2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from .letters import tidy

FUNCTION_WORDS = frozenset(
    "a an and are as at be been being but by for if in into is it its of on or that the their then "
    "there these this to was were which with".split()
)

_SPACED = "".join(chr(c) if chr(c).isalnum() else " " for c in range(128))
_RUN = re.compile(r"[^\W_]+")
_SIGNS = re.compile(r"[^\w\x00-\x7f]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


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


Pieces = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class WordTokenizer:
    """A tokenizer that cuts a text into runs and treats each run on its own.

    Indexing uses the two parts directly: a run is treated once, however often it occurs.

    Args:
        runs: a text to its runs.
        pieces: a run to its tokens of the first and of the second pass; the tokens of a text are those
            of the first pass over all runs, then those of the second.
    """

    runs: Callable[[str], list[str]]
    pieces: Callable[[str], Pieces]

    def __call__(self, text: str) -> list[str]:
        pieces = [self.pieces(run) for run in self.runs(text)]
        return [t for first, _ in pieces for t in first] + [t for _, second in pieces for t in second]

    def distinct(self, text: str) -> set[str]:
        """The distinct tokens of a text: each distinct run is treated once."""
        return set(chain.from_iterable(chain.from_iterable(map(self.pieces, set(self.runs(text))))))


def _runs(text: str) -> list[str]:
    """The alphanumeric runs of a text (``[^\\W_]+``; cutting plain ASCII by a table is six times faster).

    Invisible characters are none, and letters have one Unicode form.
    """
    if not text.isascii():
        text = _SIGNS.sub(" ", tidy(text))
    return text.translate(_SPACED).split() if text.isascii() else _RUN.findall(text)


def _split(run: str) -> Pieces:
    """The tokens of one alphanumeric run: of itself, and of its camel-case split."""
    whole = _normal(run)
    split = tuple(t for t in map(_normal, _CAMEL.split(run)) if t)
    return (whole,) if whole else (), split


_split_kept = lru_cache(maxsize=200_000)(_split)


def _pieces(run: str) -> Pieces:
    return _split_kept(run) if len(run) <= 64 else _split(run)  # a megabyte without a space is not kept


tok = WordTokenizer(_runs, _pieces)
"""Tokens of a text: its alphanumeric runs, then those of its camel-case split.

Lower-cased, function words dropped, light plural rule (``ies`` becomes ``y`` in words over 4
letters; a final ``s`` that is not ``ss`` is dropped in words over 3). Repeats are kept: so
``AssetsHeldForSale`` gives ``assetsheldforsale asset held sale``.
"""


def tok_set(text: str) -> frozenset[str]:
    """The distinct tokens of ``text``."""
    return frozenset(tok.distinct(text))
