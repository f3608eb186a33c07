"""Label coverage for retrievers without an inverted index."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt

from .collection import Collection
from .postings import TokenLists
from .remade import Remade
from .tokenize import Tokenizer, distinct

Floats = npt.NDArray[np.float64]


class LabelCoverage(Remade):
    """How much queries and labels of a collection cover each other; labels are read on first use.

    ``cov_label = |tok(q) & tok(label)| / |tok(label)|`` and ``cov_query = |tok(q) & tok(label)| / |tok(q)|``,
    both 0 if nothing is shared.
    """

    def __init__(self, collection: Collection[Any], tokenizer: Tokenizer) -> None:
        self._collection, self._tokenizer = collection, tokenizer
        self._lock = threading.Lock()
        self._built: tuple[dict[str, int], Any, Any, Any] | None = None

    def of(self, query: str) -> tuple[Floats, Floats]:
        """(cov_label, cov_query) over all N items of the collection, each of shape (N,)."""
        vocabulary, indptr, owners, lengths = self._lists()
        tokens = distinct(self._tokenizer, query)
        numbers = [vocabulary[t] for t in tokens if t in vocabulary]
        overlap = np.zeros(len(lengths))
        for t in numbers:
            overlap[owners[indptr[t] : indptr[t + 1]]] += 1  # a label holds a token once
        return overlap / np.maximum(lengths, 1), overlap / max(len(tokens), 1)

    def _lists(self) -> tuple[dict[str, int], Any, Any, Any]:
        with self._lock:
            if self._built is None:
                vocabulary: defaultdict[str, int] = defaultdict()
                vocabulary.default_factory = vocabulary.__len__
                c = self._collection
                labels = TokenLists.of(map(c.heading, c), self._tokenizer, vocabulary)
                n = len(labels)
                pairs = np.unique(labels.tokens * np.int64(n) + labels.owners())
                indptr = np.zeros(len(vocabulary) + 1, dtype=np.int64)
                np.cumsum(np.bincount(pairs // n, minlength=len(vocabulary)), out=indptr[1:])
                lengths = np.bincount(pairs % n, minlength=n)
                self._built = dict(vocabulary), indptr, pairs % n, lengths
            return self._built
