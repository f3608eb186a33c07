"""Dense retrieval: encoded documents and inner products, with the same filters and label coverage as BM25.

``s(q, c) = sim^(q, c) + w_cov * (cov_label + cov_query)``, where ``sim^`` is the inner product
range-normalised over every document that passes the filter (paper: Table 17).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .base import Ranking, Where, check_search
from .collection import Collection
from .coverage import LabelCoverage
from .encoders import Encoder, Text, Vectors, cut_queries
from .errors import InputError
from .filters import EVERYTHING, Mask, applied_datatype, fell_back, passing
from .remade import Remade
from .store import open_index, trusting, writing
from .tokenize import Tokenizer, tok
from .vectors import Engine, VectorIndex

_CHUNK = 32


class DenseRetriever(Remade):
    """Ranks documents by the inner product of their vectors with the query's vector.

    Args:
        collection: the taxonomy or corpus to search.
        encoder: texts to vectors (:class:`~abduce.retrievers.encoders.SentenceEncoder`).
        w_cov: weight of the label-coverage terms, at least 0. With 0 the score is the inner product itself.
        engine: ``flat`` (exact), ``hnsw`` or ``ivf``; their settings are those of
            :class:`~abduce.retrievers.vectors.VectorIndex`.
        pool: with an approximate engine and coverage: how many nearest neighbours are added to the documents
            that share a label word with the query; range and ranking are taken over these.
        vectors: (N, d) known document vectors, in id order; default: they are encoded.
        progress: show a bar while documents are encoded.
        tokenizer: the tokenizer of the coverage terms.

    Components are ``similarity`` and, with coverage, ``similarity_norm``, ``cov_label``, ``cov_query``.
    Ties fall by score, label coverage, query coverage, similarity, then id.

    Raises:
        MissingExtra: faiss is not installed.
        InputError: a vector that is not finite, or vectors of another number or width.
    """

    def __init__(
        self,
        collection: Collection[Any],
        encoder: Encoder,
        w_cov: float = 1.0,
        engine: Engine = "flat",
        pool: int = 1000,
        vectors: Vectors | None = None,
        progress: bool = False,
        tokenizer: Tokenizer = tok,
        **engine_settings: Any,
    ) -> None:
        if not w_cov >= 0 or pool < 1:
            raise ValueError(f"need w_cov >= 0 and pool >= 1, not w_cov={w_cov}, pool={pool}")
        self.collection, self.encoder = collection, encoder
        self.w_cov, self.pool = w_cov, pool
        if vectors is None:
            vectors = encoder.encode_documents(document_texts(collection, encoder.pairs), progress)
        if vectors.ndim != 2 or len(vectors) != len(collection):
            raise InputError(f"{vectors.shape} vectors for {len(collection)} documents: one row each")
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(bad):
            raise InputError(
                f"the vectors of {len(bad)} documents are not finite, first {collection.ids[bad[0]]!r}"
            )
        self.vectors = vectors
        self._engine_settings: dict[str, Any] = {"engine": engine, **engine_settings}
        self._index = VectorIndex(vectors, engine, **engine_settings)
        self._coverage = LabelCoverage(collection, tokenizer)
        self._ids = np.array(collection.ids, dtype=object)
        rest = {"w_cov": w_cov, "engine": engine, "pool": pool, "vectors": vectors, "tokenizer": tokenizer}
        self._given = (collection, encoder), {**rest, **engine_settings}  # nothing is encoded again

    def search(
        self, queries: Sequence[str], k: int, where: Sequence[Where | None] | None = None
    ) -> list[Ranking]:
        """Rank documents for each query; see :class:`~abduce.retrievers.base.Retriever`.

        Raises:
            InputError: a query vector is not finite.
        """
        check_search(queries, k, where)
        if not queries:
            return []
        vectors = self.encoder.encode_queries(queries)
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(bad):
            raise InputError(f"the encoder's vector of query {int(bad[0]) + 1} is not finite")
        found = self.search_by_vector(vectors, k, where, queries)
        cut = cut_queries(self.encoder, queries)
        return [replace(r, cut=True) if long else r for r, long in zip(found, cut, strict=True)]

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors (Q, d) of queries, by the query encoder."""
        return self.encoder.encode_queries(texts)

    def encode_documents(self, texts: Sequence[Text]) -> Vectors:
        """Vectors (N, d) of documents (such as HyDE's hypothetical ones), by the document encoder."""
        return self.encoder.encode_documents(texts)

    def search_by_vector(
        self,
        vectors: npt.ArrayLike,
        k: int,
        where: Sequence[Where | None] | None = None,
        queries: Sequence[str] | None = None,
    ) -> list[Ranking]:
        """Rank documents for each query vector (HyDE: the mean of several texts' vectors).

        Args:
            vectors: (Q, d).
            k, where: as in :meth:`search`.
            queries: the texts whose label coverage is added; None: no coverage, whatever ``w_cov``.

        Raises:
            ValueError: vectors of another width, or not finite.
        """
        rows = np.ascontiguousarray(np.atleast_2d(np.asarray(vectors, dtype=np.float32)))
        if rows.ndim != 2 or rows.shape[1] != self.vectors.shape[1]:
            raise ValueError(f"vectors of shape {rows.shape}; the index holds width {self.vectors.shape[1]}")
        if not np.isfinite(rows).all():
            raise ValueError("a query vector is not finite")
        texts = [""] * len(rows) if queries is None else list(queries)
        if len(texts) != len(rows):
            raise ValueError(f"{len(texts)} queries for {len(rows)} vectors")
        check_search(texts, k, where)
        filters: Sequence[Where | None] = [None] * len(rows) if where is None else where
        covered = queries is not None and self.w_cov > 0
        groups: defaultdict[tuple[str | None, tuple[tuple[str, str], ...]], list[int]] = defaultdict(list)
        for i, w in enumerate(filters):
            groups[applied_datatype(self.collection, w or EVERYTHING), (w or EVERYTHING).exclude].append(i)
        answers: dict[int, Ranking] = {}
        found: list[tuple[Any, Any, dict[str, Any]]]
        for members in groups.values():
            mask = passing(self.collection, filters[members[0]])
            n = len(self.collection) if mask is None else int(mask.sum())
            for start in range(0, len(members), _CHUNK):
                part = members[start : start + _CHUNK]
                chosen = rows[part]
                if covered:
                    found = self._covered(chosen, [texts[i] for i in part], k, mask, n)
                else:
                    found = [
                        (places, products, {"similarity": products})
                        for places, products in self._index.nearest(chosen, k, mask)
                    ]
                for i, (places, scores, parts) in zip(part, found, strict=True):
                    fell = fell_back(self.collection, filters[i])
                    answers[i] = Ranking(self._ids[places].tolist(), scores, parts, n, fell)
        return [answers[i] for i in range(len(rows))]

    def _covered(
        self, vectors: Vectors, texts: Sequence[str], k: int, mask: Mask | None, n: int
    ) -> list[tuple[Any, Any, dict[str, Any]]]:
        """Places, scores and components with coverage, best first."""
        exact = self._index.engine == "flat"
        everything = self._index.all_products(vectors) if exact else None
        near = [] if exact else self._index.nearest(vectors, max(k, self.pool), mask)
        found: list[tuple[Any, Any, dict[str, Any]]] = []
        for i, (vector, text) in enumerate(zip(vectors, texts, strict=True)):
            label, query = self._coverage.of(text)
            if everything is not None:
                rows = np.arange(len(self.vectors)) if mask is None else np.flatnonzero(mask)
                similar = everything[i][rows]
            else:
                sharing = query > 0 if mask is None else (query > 0) & mask
                rows = np.union1d(near[i][0], np.flatnonzero(sharing))
                similar = self._index.products(vector, rows).astype(np.float32)
            if not len(rows):
                found.append((rows, np.zeros(0), {}))
                continue
            ends = rows[[similar.argmin(), similar.argmax()]]
            low, high = self._index.products(vector, ends)
            rough = self._norm(similar, low, high) + self.w_cov * (label[rows] + query[rows])
            if len(rows) > k:  # all that rounding could bring among the first k is computed exactly
                cut = np.partition(rough, len(rows) - k)[len(rows) - k]
                margin = 1e-5 * max(1.0, abs(low), abs(high)) / (high - low) if high > low else 0.0
                rows = rows[rough >= cut - margin]
            products = self._index.products(vector, rows)
            norm = self._norm(products, low, high)
            scores = norm + self.w_cov * (label[rows] + query[rows])
            order = np.lexsort((rows, -products, -query[rows], -label[rows], -scores))[:k]
            rows = rows[order]
            parts = {
                "similarity": products[order],
                "similarity_norm": norm[order],
                "cov_label": label[rows],
                "cov_query": query[rows],
            }
            found.append((rows, scores[order], parts))
        return found

    @staticmethod
    def _norm(values: npt.NDArray[Any], low: float, high: float) -> npt.NDArray[np.float64]:
        """Range normalisation; all equal: 1."""
        if high <= low:
            return np.ones(len(values))
        return np.clip((values.astype(np.float64) - low) / (high - low), 0.0, 1.0)

    def save(self, folder: str | Path, overwrite: bool = False) -> None:
        """Write collection and vectors into an index folder (:mod:`.store`).

        Raises:
            InputError: the folder exists or cannot be written.
        """
        with writing(folder, overwrite) as files:
            files.collection(self.collection)
            files.array("vectors", self.vectors)
            settings = {"w_cov": self.w_cov, "pool": self.pool, **self._engine_settings}
            files.finish("dense", {"encoder": self.encoder.name, **settings})

    @classmethod
    def open(cls, folder: str | Path, encoder: Encoder, **settings: Any) -> DenseRetriever:
        """Open an index folder with the encoder for its queries.

        Args:
            folder: a folder written by :meth:`save`.
            encoder: must be the one that the documents were encoded with.
            settings: replace stored settings (``w_cov``, ``engine``, ...).

        Raises:
            InputError: the folder is not a valid dense index, or the encoder's name or width differs.
        """
        stored = open_index(folder, "dense")
        parameters = stored.parameters
        with trusting(folder):
            name = str(parameters.pop("encoder"))
            vectors = stored.take(
                "vectors", "float16 float32", (stored.manifest["collection"]["count"], None)
            )
        if Path(name).name != Path(encoder.name).name:
            raise InputError(f"was encoded by {name!r}, not by {encoder.name!r}", file=folder)
        return cls(stored.collection(), encoder, vectors=vectors, **{**parameters, **settings})


def document_texts(
    collection: Collection[Any], pairs: bool, items: Iterable[Any] | None = None
) -> list[Text]:
    """The encoder's input for each document: its text, or its heading and body as a pair.

    ``items``: the requested items; None: all, in id order.
    """
    chosen = collection if items is None else items
    if not pairs:
        return [collection.document(item) for item in chosen]
    records = (collection.record(item) for item in chosen)
    return [(r.heading, r.body) for r in records]
