"""Sentence and word alignment of Spanish cases and their English translations, without a model.

Sentences are aligned by length and shared numbers (after Gale and Church 1993), words by IBM Model 1 in
both directions (Brown et al. 1993), trained on the corpus at hand.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Span = tuple[int, int]

_SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+(?=[A-ZÁÉÍÓÚÑ¿¡0-9\"(])|\n+")
_WORD = re.compile(r"\w+(?:[.,/]\d+)*")

STOP_ES = frozenset(
    "a al ante con contra cual de del desde donde e el ella en entre era es esta este esto fue ha hacia "
    "hasta la las le les lo los más me muy no nos o para pero por que qué se sea según ser si sí sin sobre "
    "su sus también tras un una uno unos unas y ya".split()
)
STOP_EN = frozenset(
    "a an and are as at be been by for from had has have he her his if in into is it its no not of on or "
    "she such that the their there these they this to was were which who with without".split()
)


@dataclass(frozen=True)
class Words:
    """The lower-case words of a text, with their character spans."""

    words: tuple[str, ...]
    spans: tuple[Span, ...]


def words_of(text: str, start: int = 0, end: int | None = None) -> Words:
    """The words between two offsets; the spans are offsets into the whole text."""
    found = list(_WORD.finditer(text, start, len(text) if end is None else end))
    return Words(tuple(m[0].lower() for m in found), tuple(m.span() for m in found))


def sentences_es(text: str) -> list[Span]:
    """Spans of the sentences of a Spanish text, without white space at their ends."""
    cuts = [0]
    for m in _SENTENCE_END.finditer(text):
        cuts += [m.start(), m.end()]
    cuts.append(len(text))
    return [s for a, b in zip(cuts[::2], cuts[1::2], strict=True) if (s := _trim(text, a, b)) is not None]


def sentences_en(text: str) -> list[Span]:
    """Spans of the sentences of a translation, which has one per line."""
    found, at = [], 0
    for line in text.splitlines(keepends=True):
        span = _trim(text, at, at + len(line))
        at += len(line)
        if span is not None:
            found.append(span)
    return found


def _trim(text: str, start: int, end: int) -> Span | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None


Bead = tuple[tuple[int, ...], tuple[int, ...]]
"""Numbers of the Spanish and of the English sentences that translate each other."""

_MOVES = {
    (1, 1): 0.0,
    (1, 2): 2.3,
    (2, 1): 2.3,
    (1, 0): 4.5,
    (0, 1): 4.5,
    (2, 2): 6.0,
    (1, 3): 5.0,
    (3, 1): 5.0,
}
"""How many sentences of each side a step takes, and its price (about minus the log of its frequency)."""


def align_sentences(es: Sequence[str], en: Sequence[str]) -> list[Bead]:
    """The cheapest monotone alignment of two lists of sentences."""
    marks_es, marks_en = [_marks(s) for s in es], [_marks(s) for s in en]
    n, m = len(es), len(en)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    back: dict[Span, Span] = {}
    for i in range(n + 1):
        for j in range(m + 1):
            for (di, dj), price in _MOVES.items():
                if i < di or j < dj or not np.isfinite(cost[i - di, j - dj]):
                    continue
                step = price + _mismatch(
                    es[i - di : i], en[j - dj : j], marks_es[i - di : i], marks_en[j - dj : j]
                )
                if cost[i - di, j - dj] + step < cost[i, j]:
                    cost[i, j] = cost[i - di, j - dj] + step
                    back[i, j] = (di, dj)
    beads: list[Bead] = []
    i, j = n, m
    while (i, j) != (0, 0):
        di, dj = back[i, j]
        beads.append((tuple(range(i - di, i)), tuple(range(j - dj, j))))
        i, j = i - di, j - dj
    return beads[::-1]


def _marks(sentence: str) -> frozenset[str]:
    """Parts that a translation keeps: numbers, and the first five letters of long words without accents."""
    words = words_of(sentence).words
    return frozenset(w if w[0].isdigit() else plain(w)[:5] for w in words if w[0].isdigit() or len(w) > 5)


def _mismatch(
    es: Sequence[str],
    en: Sequence[str],
    marks_es: Sequence[frozenset[str]],
    marks_en: Sequence[frozenset[str]],
) -> float:
    if not es or not en:
        return 0.0
    a, b = sum(map(len, es)), 1.08 * sum(map(len, en))
    length = abs(a - b) / math.sqrt(3.4 * max(a + b, 1.0))
    left, right = frozenset[str]().union(*marks_es), frozenset[str]().union(*marks_en)
    fewer = min(len(left), len(right))
    shared = len(left & right) / max(1, fewer)
    return length + 4.0 * (1.0 - shared) * min(1.0, fewer / 3)  # few marks say little


@lru_cache(maxsize=200_000)
def plain(word: str) -> str:
    """A word without accents."""
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


@lru_cache(maxsize=200_000)
def _grams(word: str) -> frozenset[str]:
    padded = f" {plain(word)}"
    return frozenset(padded[i : i + 3] for i in range(len(padded) - 2))


def cognate(a: str, b: str) -> float:
    """Spelling similarity of two words, in [0, 1]: Dice over trigrams, for words of four letters and more."""
    if a == b:
        return 1.0
    if len(a) < 4 or len(b) < 4:
        return 0.0
    left, right = _grams(a), _grams(b)
    return 2 * len(left & right) / (len(left) + len(right))


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """A word without accents and plural ending, so that both forms count together."""
    bare = plain(word)
    if len(bare) > 5 and bare.endswith("es"):
        return bare[:-2]
    return bare[:-1] if len(bare) > 4 and bare.endswith("s") else bare


class WordTable:
    """Translation probabilities of Spanish and English words.

    Args:
        pairs: (Spanish words, English words) of sentences that translate each other.
        rounds: of expectation maximisation.
    """

    def __init__(self, pairs: Sequence[tuple[Sequence[str], Sequence[str]]], rounds: int = 6) -> None:
        self._es: dict[str, int] = {}
        self._en: dict[str, int] = {}
        es = [[self._es.setdefault(stem(w), len(self._es)) for w in s] for s, t in pairs if s and t]
        en = [[self._en.setdefault(stem(w), len(self._en)) for w in t] for s, t in pairs if s and t]
        forward, keys = _model_one(es, en, len(self._en), rounds)
        backward, reverse = _model_one(en, es, len(self._es), rounds)
        flipped = (reverse % max(len(self._es), 1)) * len(self._en) + reverse // max(len(self._es), 1)
        order = np.argsort(flipped, kind="stable")
        # Both directions see the same word pairs, so the sorted keys are the same.
        self._keys = keys
        self._scores = np.sqrt(forward * backward[order])

    def __call__(self, es: str, en: str) -> float:
        """In [0, 1]: the geometric mean of both translation probabilities, or the spelling similarity."""
        score = cognate(es, en)
        i, j = self._es.get(stem(es)), self._en.get(stem(en))
        if i is not None and j is not None and len(self._keys):
            key = i * len(self._en) + j
            place = int(np.searchsorted(self._keys, key))
            if place < len(self._keys) and self._keys[place] == key:
                score = max(score, float(self._scores[place]))
        return score


def _model_one(
    source: Sequence[Sequence[int]], target: Sequence[Sequence[int]], n_target: int, rounds: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """IBM Model 1: p(target | source) of every word pair that occurs, and its key.

    The key is source * n_target + target; keys are ascending.
    """
    if not source:
        return np.zeros(0), np.zeros(0, dtype=np.int64)
    keys, sizes = [], []
    for s, t in zip(source, target, strict=True):
        left, right = np.asarray(s, dtype=np.int64), np.asarray(t, dtype=np.int64)
        keys.append((left[None, :] * n_target + right[:, None]).ravel())
        sizes.append(np.full(len(t), len(s), dtype=np.int64))
    flat = np.concatenate(keys)
    segments = np.concatenate(sizes)
    starts = np.concatenate(([0], np.cumsum(segments)[:-1]))
    unique, places = np.unique(flat, return_inverse=True)
    owners = unique // n_target
    table = np.ones(len(unique))
    for _ in range(rounds):
        expected = table[places]
        expected /= np.repeat(np.add.reduceat(expected, starts), segments)
        counts = np.bincount(places, weights=expected, minlength=len(unique))
        table = counts / np.bincount(owners, weights=counts)[owners]
    return table, unique
