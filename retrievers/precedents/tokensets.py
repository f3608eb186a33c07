"""Cosine similarity between sets of tokens, one query against every stored set at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Similarities = npt.NDArray[np.float32]


class TokenSets:
    """N token sets, weighted by inverse document frequency ``log(1 + (N - df + 0.5)/(df + 0.5))``.

    Args:
        sets: the token sets; repeats inside one do not count.
    """

    def __init__(self, sets: Sequence[Iterable[str]]) -> None:
        self.vocabulary: dict[str, int] = {}
        known = self.vocabulary
        numbered = [{known.setdefault(t, len(known)) for t in tokens} for tokens in sets]
        n = len(numbered)
        lengths = np.fromiter(map(len, numbered), dtype=np.int64, count=n)
        flat = np.fromiter((t for s in numbered for t in s), dtype=np.int64, count=int(lengths.sum()))
        owners = np.repeat(np.arange(n, dtype=np.int32), lengths)
        df = np.bincount(flat, minlength=len(known))
        self.idf = np.log(1 + (n - df + 0.5) / (df + 0.5))
        order = np.argsort(flat, kind="stable")
        self._owners = owners[order]
        self._starts = np.concatenate(([0], np.cumsum(df)))
        self._norms = np.sqrt(np.bincount(owners, weights=self.idf[flat] ** 2, minlength=n))
        self._unseen = float(np.log(1 + (n + 0.5) / 0.5))

    def __len__(self) -> int:
        return len(self._norms)

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
                found[self._owners[self._starts[number] : self._starts[number + 1]]] += weight * weight
        if squared == 0.0:
            empty: Similarities = (self._norms == 0).astype(np.float32)
            return empty
        scale = self._norms * np.sqrt(squared)
        cosine: Similarities = np.divide(found, scale, out=np.zeros_like(found), where=scale > 0).astype(
            np.float32
        )
        return cosine
