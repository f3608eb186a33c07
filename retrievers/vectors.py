"""Nearest neighbours of vectors under a filter: exact in numpy or faiss, approximate by HNSW or IVF."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .encoders import Vectors
from .errors import MissingExtra
from .filters import Mask

Engine = Literal["flat", "hnsw", "ivf"]
Places = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_TIES = 32
_GPU_PLACES = 2048
"""faiss returns no more places than this on a GPU, and filters none."""


class VectorIndex:
    """Inner-product search over N vectors.

    Args:
        vectors: float32 of shape (N, d); may be a memory map.
        engine: ``flat`` is exact; ``hnsw`` and ``ivf`` are approximate, and faster from a few hundred
            thousand vectors.
        hnsw_links, hnsw_build, hnsw_search: HNSW's M, efConstruction and efSearch.
        ivf_lists, ivf_probes: IVF's number of lists (None: 4 sqrt(N)) and of lists searched.

    Raises:
        MissingExtra: faiss is not installed.
    """

    def __init__(
        self,
        vectors: Vectors,
        engine: Engine = "flat",
        hnsw_links: int = 32,
        hnsw_build: int = 200,
        hnsw_search: int = 256,
        ivf_lists: int | None = None,
        ivf_probes: int = 16,
    ) -> None:
        if engine not in ("flat", "hnsw", "ivf"):
            raise ValueError(f"no vector engine {engine!r}; there are flat, hnsw, ivf")
        try:
            import faiss
        except ImportError as e:
            raise MissingExtra("faiss", "dense") from e
        self.vectors, self.engine = vectors, engine
        self._faiss = faiss
        self._index: Any
        n, d = vectors.shape
        self._search, self._probes = hnsw_search, ivf_probes
        if engine == "hnsw":
            self._index = faiss.IndexHNSWFlat(d, hnsw_links, faiss.METRIC_INNER_PRODUCT)
            self._index.hnsw.efConstruction = hnsw_build
        elif engine == "ivf":
            lists = min(ivf_lists or max(1, int(4 * n**0.5)), n)
            self._index = faiss.IndexIVFFlat(faiss.IndexFlatIP(d), d, lists, faiss.METRIC_INNER_PRODUCT)
            self._index.train(np.ascontiguousarray(vectors))
        else:
            self._index = faiss.IndexFlatIP(d)
        self._index.add(np.ascontiguousarray(vectors))
        self._on_gpu = engine == "flat" and faiss.get_num_gpus() > 0
        if self._on_gpu:
            self._index = faiss.index_cpu_to_all_gpus(self._index)

    def nearest(self, queries: Vectors, k: int, passing: Mask | None) -> list[tuple[Places, Floats]]:
        """The k best vectors per query: (positions, inner products), best first, ties by position.

        Products are recomputed in double precision, so equal vectors tie. If an approximate engine finds too
        few (a narrow filter), exact search replaces it.
        """
        n = len(self.vectors) if passing is None else int(passing.sum())
        k = min(k, n)
        if k == 0:
            return [(np.zeros(0, dtype=np.int64), np.zeros(0))] * len(queries)
        wanted = min(n, k + _TIES)
        if self._on_gpu and (passing is not None or wanted > _GPU_PLACES):
            everything = np.arange(len(self.vectors)) if passing is None else np.flatnonzero(passing)
            exact = [self.ordered(query, everything) for query in queries]
            return [(places[:k], products[:k]) for places, products in exact]
        found = []
        _, rows = self._index.search(
            np.ascontiguousarray(queries), wanted, **self._parameters(passing, wanted)
        )
        for query, row in zip(queries, rows, strict=True):
            places = row[row >= 0].astype(np.int64)
            if len(places) < k and self.engine != "flat":
                places = np.arange(len(self.vectors)) if passing is None else np.flatnonzero(passing)
            places, products = self.ordered(query, places)
            while self.engine == "flat" and len(places) < n and products[k - 1] <= products[-1] + 1e-6:
                # The cut at k may run through a tie that reaches beyond what was fetched.
                more = min(n, 4 * len(places))
                _, wide = self._index.search(query[None], more, **self._parameters(passing, more))
                places, products = self.ordered(query, wide[0].astype(np.int64))
            found.append((places[:k], products[:k]))
        return found

    def ordered(self, query: Vectors, places: Places) -> tuple[Places, Floats]:
        """Places by exact inner product, descending; ties by place."""
        products = self.products(query, places)
        order = np.lexsort((places, -products))
        return places[order], products[order]

    def products(self, query: Vectors, places: Places) -> Floats:
        """Exact inner products with the vectors at some places, in double precision."""
        chosen = self.vectors[places].astype(np.float64)
        return np.asarray((chosen * query.astype(np.float64)).sum(axis=1))

    def all_products(self, queries: Vectors) -> Vectors:
        """Inner products of every query with every vector, single precision, (Q, N)."""
        return np.asarray(queries @ self.vectors.T)

    def _parameters(self, passing: Mask | None, k: int) -> dict[str, Any]:
        faiss = self._faiss
        selector = None
        if passing is not None:
            selector = faiss.IDSelectorBitmap(np.packbits(passing, bitorder="little"))
        if self.engine == "hnsw":
            return {"params": faiss.SearchParametersHNSW(sel=selector, efSearch=max(self._search, k))}
        if self.engine == "ivf":
            return {"params": faiss.SearchParametersIVF(sel=selector, nprobe=self._probes)}
        return {} if selector is None else {"params": faiss.SearchParameters(sel=selector)}
