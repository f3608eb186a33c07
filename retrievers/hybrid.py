"""Fusion of any retrievers: weighted reciprocal ranks, or weighted normalised scores (paper: Table 17)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from .base import Ranking, Retriever, Where, check_search
from .remade import Remade

Method = Literal["rrf", "scores"]


class HybridRetriever(Remade):
    """Fuses the results of several retrievers.

    ``rrf``: ``sum_i w_i / (kappa + rank_i)`` over the rankings that returned a document. ``scores``: ``sum_i
    w_i * S^_i``, where ``S^_i`` is the i-th score range-normalised over what that retriever returned (all
    equal: 1), and 0 if it did not return the document. Each part applies its own filter and ``w_cov``.

    Args:
        parts: at least one retriever; all search the same documents.
        method: ``rrf`` or ``scores``.
        weights: one per part, at least 0 and not all 0; None: all 1. A part with weight 0 is not called.
        kappa: the constant of the reciprocal ranks, above 0.
        depth: how many positions each part returns (at least the ``k`` of the call).

    Ties fall by score, first part that returned the document, best rank, then id. Components are
    ``rank_1``, ``rank_2``, ... (0 where absent) by part.

    Raises:
        ValueError: a setting out of range.
    """

    def __init__(
        self,
        parts: Sequence[Retriever],
        method: Method = "rrf",
        weights: Sequence[float] | None = None,
        kappa: float = 60.0,
        depth: int = 200,
    ) -> None:
        weights = [1.0] * len(parts) if weights is None else [float(w) for w in weights]
        if not parts or len(weights) != len(parts):
            raise ValueError(
                f"{len(weights)} weights for {len(parts)} retrievers: give at least one, one each"
            )
        if not all(0 <= w < float("inf") for w in weights) or not any(weights):
            raise ValueError(f"weights must be at least 0 and not all 0, not {weights}")
        if method not in ("rrf", "scores"):
            raise ValueError(f"no fusion method {method!r}; there are rrf, scores")
        if not kappa > 0 or depth < 1:
            raise ValueError(f"need kappa > 0 and depth >= 1, not kappa={kappa}, depth={depth}")
        self.parts, self.weights, self.method = list(parts), weights, method
        self.kappa, self.depth = kappa, depth

    def search(
        self, queries: Sequence[str], k: int, where: Sequence[Where | None] | None = None
    ) -> list[Ranking]:
        """Rank documents for each query; see :class:`~abduce.retrievers.base.Retriever`."""
        check_search(queries, k, where)
        depth = max(k, self.depth)
        asked = [
            part.search(queries, depth, where) if weight > 0 else None
            for part, weight in zip(self.parts, self.weights, strict=True)
        ]
        return [self._fuse([None if a is None else a[i] for a in asked], k) for i in range(len(queries))]

    def _fuse(self, rankings: Sequence[Ranking | None], k: int) -> Ranking:
        scores: dict[str, float] = {}
        first: dict[str, int] = {}
        ranks: dict[str, list[int]] = {}
        for i, (ranking, weight) in enumerate(zip(rankings, self.weights, strict=True)):
            if ranking is None:
                continue
            shares = self._shares(ranking)
            for rank, (id_, share) in enumerate(zip(ranking.ids, shares, strict=True), 1):
                scores[id_] = scores.get(id_, 0.0) + weight * share
                first.setdefault(id_, i)
                ranks.setdefault(id_, [0] * len(rankings))[i] = rank
        best = {id_: min(r for r in given if r) for id_, given in ranks.items()}
        order = sorted(scores, key=lambda id_: (-scores[id_], first[id_], best[id_], id_))[:k]
        given = [r for r in rankings if r is not None]
        return Ranking(
            order,
            np.array([scores[id_] for id_ in order], dtype=np.float64),
            {
                f"rank_{i + 1}": np.array([ranks[id_][i] for id_ in order], dtype=np.float64)
                for i in range(len(rankings))
            },
            candidates=max(r.candidates for r in given),
            fell_back=any(r.fell_back for r in given),
            cut=any(r.cut for r in given),
        )

    def _shares(self, ranking: Ranking) -> list[float]:
        """The contribution of each position of a ranking, before its weight."""
        if self.method == "rrf":
            return [1.0 / (self.kappa + rank) for rank in range(1, len(ranking) + 1)]
        if not len(ranking):
            return []
        low, high = float(ranking.scores.min()), float(ranking.scores.max())
        if high <= low:
            return [1.0] * len(ranking)
        return [float(s) for s in (ranking.scores - low) / (high - low)]
