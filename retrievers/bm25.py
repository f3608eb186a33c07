"""BM25 with label coverage over a taxonomy, one index a datatype (SPEC section 2; paper: D.3).

``s(q, c) = bm25^(q, c) + w_cov * (cov_label + cov_query)``, where ``bm25^`` is the BM25 score
range-normalised over every concept that passes the filter. The term weights are computed by bm25s;
one compiled pass over the postings adds them up, counts label overlap and scores.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .base import Ranking, Where, check_search
from .taxonomy import Taxonomy
from .tokenize import tok

Tokenizer = Callable[[str], list[str]]
_Ints = npt.NDArray[np.int32]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Postings:
    """BM25 weights and label tokens of one set of documents, by token (compressed columns).

    ``indices[indptr[t]:indptr[t + 1]]`` are the documents that contain token ``t`` and ``weights``
    their BM25 weights; ``label_indices`` likewise for the labels. ``ids`` are ascending, so that a
    lower document number is a lower id.
    """

    ids: npt.NDArray[np.object_]
    vocabulary: dict[str, int]
    indptr: _Ints
    indices: _Ints
    weights: _Floats
    label_indptr: _Ints
    label_indices: _Ints
    label_lengths: _Ints

    @classmethod
    def build(
        cls,
        ids: Sequence[str],
        documents: Sequence[list[str]],
        labels: Sequence[list[str]],
        k1: float,
        b: float,
    ) -> Postings:
        """Index tokenised documents and the tokens of their labels.

        Args:
            ids: ascending document ids, length N.
            documents: N token lists (repeats count).
            labels: N token lists; they are taken as sets.
            k1, b: BM25's constants.
        """
        import bm25s

        vocabulary: dict[str, int] = {}
        numbered = [[vocabulary.setdefault(t, len(vocabulary)) for t in tokens] for tokens in documents]
        label_sets = [
            sorted({vocabulary.setdefault(t, len(vocabulary)) for t in tokens}) for tokens in labels
        ]
        engine = bm25s.BM25(k1=k1, b=b, method="lucene", dtype="float64")
        if any(numbered):
            engine.index((numbered, dict(vocabulary)), show_progress=False)
            scores = engine.scores
            indptr = np.asarray(scores["indptr"], dtype=np.int32)[: len(vocabulary) + 1]
            indices = np.asarray(scores["indices"], dtype=np.int32)
            weights = np.asarray(scores["data"], dtype=np.float64)
        else:  # bm25s has no answer for documents without a single token
            indptr = np.zeros(len(vocabulary) + 1, dtype=np.int32)
            indices, weights = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float64)
        lengths = np.array([len(s) for s in label_sets], dtype=np.int32)
        flat = np.fromiter((t for s in label_sets for t in s), dtype=np.int64, count=int(lengths.sum()))
        owners = np.repeat(np.arange(len(label_sets), dtype=np.int32), lengths)
        label_indptr = np.zeros(len(vocabulary) + 1, dtype=np.int32)
        np.cumsum(np.bincount(flat, minlength=len(vocabulary)), out=label_indptr[1:])
        return cls(
            np.asarray(ids, dtype=object),
            vocabulary,
            indptr,
            indices,
            weights,
            label_indptr,
            owners[np.argsort(flat, kind="stable")],
            lengths,
        )


class BM25Retriever:
    """The shared first stage of every method.

    Args:
        taxonomy: what is searched.
        k1, b: BM25's constants, ``k1 >= 0`` and ``0 <= b <= 1``.
        w_cov: weight of the two label-coverage terms, at least 0.
        tokenizer: the tokenizer of queries, documents and labels.

    A ranking's score components are ``bm25`` (raw), ``bm25_norm``, ``cov_label`` and ``cov_query``.
    Ties fall by score, label coverage, query coverage, raw BM25, then id.
    """

    def __init__(
        self,
        taxonomy: Taxonomy,
        k1: float = 1.5,
        b: float = 0.75,
        w_cov: float = 1.0,
        tokenizer: Tokenizer = tok,
    ) -> None:
        if k1 < 0 or not 0 <= b <= 1 or w_cov < 0:
            raise ValueError(f"need k1 >= 0, 0 <= b <= 1, w_cov >= 0; not k1={k1}, b={b}, w_cov={w_cov}")
        self.taxonomy = taxonomy
        self.k1, self.b, self.w_cov = k1, b, w_cov
        self.tokenizer = tokenizer
        self._built: dict[str | None, Postings] = {}
        self._lock = threading.Lock()
        self._scratch = threading.local()

    def __deepcopy__(self, memo: dict[int, Any]) -> BM25Retriever:
        return self

    def postings(self, datatype: str | None) -> Postings:
        """The index of one datatype, or of everything (None); built when first asked for."""
        with self._lock:
            if datatype not in self._built:
                chosen = [c for c in self.taxonomy if datatype is None or c.datatype == datatype]
                documents = [self.taxonomy.document(c, with_datatype=datatype is None) for c in chosen]
                self._built[datatype] = Postings.build(
                    [c.id for c in chosen],
                    [self.tokenizer(d) for d in documents],
                    [self.tokenizer(c.label) for c in chosen],
                    self.k1,
                    self.b,
                )
            return self._built[datatype]

    def search(
        self, queries: Sequence[str], k: int, where: Sequence[Where | None] | None = None
    ) -> list[Ranking]:
        """Rank concepts for each query; see :class:`~abduce.retrievers.base.Retriever`."""
        check_search(queries, k, where)
        filters = [None] * len(queries) if where is None else where
        return [self._one(q, k, w or Where()) for q, w in zip(queries, filters, strict=True)]

    def _one(self, query: str, k: int, where: Where) -> Ranking:
        known = where.datatype is not None and where.datatype in self.taxonomy.datatypes
        index = self.postings(where.datatype if known else None)
        tokens = list(dict.fromkeys(self.tokenizer(query)))
        numbers = np.array([index.vocabulary[t] for t in tokens if t in index.vocabulary], dtype=np.int32)
        allowed = self._allowed(index, where)
        n = len(index.ids) if allowed.size == 0 else int(allowed.sum())
        found, columns = self._score(index, numbers, len(tokens), allowed, k)
        scores, norm, cov_label, cov_query, raw = columns
        order = np.lexsort((found, -raw, -cov_query, -cov_label, -scores))[:k]
        parts = {"bm25": raw, "bm25_norm": norm, "cov_label": cov_label, "cov_query": cov_query}
        return Ranking(
            index.ids[found[order]].tolist(),
            scores[order],
            {name: values[order] for name, values in parts.items()},
            candidates=n,
            fell_back=not known,
        )

    def _allowed(self, index: Postings, where: Where) -> npt.NDArray[np.bool_]:
        """A mask over the index, or an empty array where nothing is excluded."""
        if not where.exclude:
            return np.zeros(0, dtype=np.bool_)
        excluded = set(where.exclude)

        def passes(id_: str) -> bool:
            concept = self.taxonomy[id_]
            fields = {"id": id_, "datatype": concept.datatype, **concept.metadata}
            return not any(str(fields.get(field)) == value for field, value in excluded)

        return np.fromiter((passes(i) for i in index.ids), dtype=np.bool_, count=len(index.ids))

    def _score(
        self, index: Postings, numbers: _Ints, n_query: int, allowed: npt.NDArray[np.bool_], k: int
    ) -> tuple[_Ints, _Floats]:
        from ._kernel import score

        n = len(index.ids)
        raw = self._buffer("raw", n, np.float64)
        overlap = self._buffer("overlap", n, np.int32)
        result: tuple[_Ints, _Floats] = score(
            numbers,
            n_query,
            index.indptr,
            index.indices,
            index.weights,
            index.label_indptr,
            index.label_indices,
            index.label_lengths,
            allowed,
            self.w_cov,
            k,
            raw,
            overlap,
        )
        return result

    def _buffer(self, name: str, n: int, dtype: Any) -> npt.NDArray[Any]:
        """A zeroed array of at least n places that belongs to this thread; the kernel re-zeroes it."""
        buffer = getattr(self._scratch, name, None)
        if buffer is None or len(buffer) < n:
            buffer = np.zeros(n, dtype=dtype)
            setattr(self._scratch, name, buffer)
        return buffer
