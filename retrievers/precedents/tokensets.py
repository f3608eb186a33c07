"""Cosine similarity between sets of tokens, one query against every stored set at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Similarities = npt.NDArray[np.float32]


class TokenSets:
    """N token sets, weighted by inverse document frequency ``log(1 + (N - df + 0.5)/(df + 0.5))``.

    Args:
        sets: the token sets; repeats in a set are ignored.
    """

    def __init__(self, sets: Sequence[Iterable[str]]) -> None:
        known: dict[str, int] = {}
        numbered = [{known.setdefault(t, len(known)) for t in tokens} for tokens in sets]
        n = len(numbered)
        lengths = np.fromiter(map(len, numbered), dtype=np.int64, count=n)
        flat = np.fromiter((t for s in numbered for t in s), dtype=np.int64, count=int(lengths.sum()))
        owners = np.repeat(np.arange(n, dtype=np.int32), lengths)
        df = np.bincount(flat, minlength=len(known))
        order = np.argsort(flat, kind="stable")
        starts = np.concatenate(([0], np.cumsum(df)))
        norms = np.sqrt(np.bincount(owners, weights=_idf(df, n)[flat] ** 2, minlength=n))
        self._fill(list(known), owners[order], starts, norms)
        self._sets: Sequence[Iterable[str]] = sets

    def _fill(
        self,
        vocabulary: Sequence[str],
        owners: npt.NDArray[Any],
        starts: npt.NDArray[Any],
        norms: npt.NDArray[np.float64],
    ) -> None:
        self.vocabulary = {token: number for number, token in enumerate(vocabulary)}
        self.owners, self.starts, self.norms = owners, starts, norms
        self.idf = _idf(np.diff(starts), len(norms))
        self._unseen = float(np.log(1 + (len(norms) + 0.5) / 0.5))

    @classmethod
    def stored(
        cls,
        vocabulary: Sequence[str],
        owners: npt.NDArray[Any],
        starts: npt.NDArray[Any],
        norms: npt.NDArray[np.float64],
        keys: npt.NDArray[np.uint64],
    ) -> TokenSets:
        """From the arrays of a built one, which have the same names."""
        made = cls.__new__(cls)
        made._fill(vocabulary, owners, starts, norms)
        made.keys = keys
        return made

    @cached_property
    def keys(self) -> npt.NDArray[np.uint64]:
        """A number for each set that identifies its content."""
        return np.array([key_of(tokens) for tokens in self._sets], dtype=np.uint64)

    @cached_property
    def _places(self) -> dict[int, int]:
        return {key: place for place, key in enumerate(self.keys.tolist())}

    def find(self, tokens: Iterable[str]) -> int:
        """The position of a set with exactly these tokens, in stored order; -1 if there is none."""
        return self._places.get(key_of(tokens), -1)

    def __len__(self) -> int:
        return len(self.norms)

    def similarity(self, tokens: Iterable[str]) -> Similarities:
        """The cosine of a token set with every stored one, shape (N,), in [0, 1].

        A token that no stored set has still counts for the query's length. Two empty sets have
        similarity 1.
        """
        found = np.zeros(len(self), dtype=np.float64)
        squared = 0.0
        for token in set(tokens):
            number = self.vocabulary.get(token)
            weight = self._unseen if number is None else float(self.idf[number])
            squared += weight * weight
            if number is not None:
                found[self.owners[self.starts[number] : self.starts[number + 1]]] += weight * weight
        if squared == 0.0:
            empty: Similarities = (self.norms == 0).astype(np.float32)
            return empty
        scale = self.norms * np.sqrt(squared)
        cosine: Similarities = np.divide(found, scale, out=np.zeros_like(found), where=scale > 0).astype(
            np.float32
        )
        return cosine


def key_of(tokens: Iterable[str]) -> int:
    """A 64-bit key of the tokens, in order."""
    text = "\x1f".join(tokens).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _idf(df: npt.NDArray[Any], n: int) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = np.log(1 + (n - df + 0.5) / (df + 0.5))
    return found
