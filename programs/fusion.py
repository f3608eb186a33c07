"""Consensus fusion and the final score (paper: Section 4.3, Eq. 3 to 5, Appendix B.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..retrievers.base import Floats, Ranking


@dataclass(frozen=True, eq=False)
class Pool:
    """The candidate pool ``U`` in fused order.

    ``fused`` holds S(c) of Eq. 4. ``scores`` holds the scores for later stages: S~(c) of Eq. 5 in [0, 1], or
    S itself if scores are raw. Both have shape ``(len(ids),)``. ``candidates`` is the most documents that any
    ranking searched (0: unknown). ``fell_back``: the datatype filter did not apply to some ranking.
    """

    ids: Sequence[str]
    fused: Floats
    scores: Floats
    candidates: int = 0
    fell_back: bool = False

    def __len__(self) -> int:
        return len(self.ids)

    def cut(self, k: int) -> Pool:
        """The first ``k`` candidates; scores stay normalised over the whole pool."""
        return Pool(self.ids[:k], self.fused[:k], self.scores[:k], self.candidates, self.fell_back)

    def by_score(self) -> list[str]:
        """Ids by score, ties by id: the order of the window and of the final ranking."""
        order = sorted(zip((-self.scores).tolist(), self.ids, strict=True))
        return [id_ for _, id_ in order]


def range_norm(scores: Floats) -> Floats:
    """``(S - min) / (max - min)`` over all given scores (Eq. 5); all tied: 0."""
    if scores.size == 0:
        return scores
    span = scores.max() - scores.min()
    if span <= 0:
        return np.zeros_like(scores)
    normed: Floats = (scores - scores.min()) / span
    return normed


def fuse(
    rankings: Sequence[Ranking],
    kappa: float = 60.0,
    fusion: Literal["sum", "mean"] = "sum",
    normalise: bool = True,
    weights: Sequence[float] | None = None,
) -> Pool:
    """Reciprocal rank fusion of rankings into one pool (Eq. 4 and 5).

    A candidate's score is the sum over the rankings that returned it. Ties are broken by the first ranking
    that returned it, its best rank, then id.

    Args:
        rankings: any number; ranks count from 1.
        kappa: the fusion constant.
        fusion: ``sum``, or ``mean``: the sum divided by the number of rankings with the candidate.
        normalise: whether ``scores`` are range-normalised over the pool.
        weights: one factor per ranking (the papers' methods use none).
    """
    factors = [1.0] * len(rankings) if weights is None else list(weights)
    places: dict[str, int] = {}
    found = [np.array([places.setdefault(i, len(places)) for i in r.ids], dtype=np.int64) for r in rankings]
    names, n = list(places), len(places)
    total, count = np.zeros(n), np.zeros(n, dtype=np.int64)
    first, best = np.full(n, len(rankings)), np.full(n, np.iinfo(np.int64).max)
    for r, (at, factor) in enumerate(zip(found, factors, strict=True)):
        ranks = np.arange(1, len(at) + 1)
        np.add.at(total, at, factor / (kappa + ranks))
        np.add.at(count, at, 1)
        np.minimum.at(first, at, r)
        np.minimum.at(best, at, ranks)
    if fusion == "mean":
        total = total / count
    by_name = np.empty(n, dtype=np.int64)
    by_name[sorted(range(n), key=names.__getitem__)] = np.arange(n)
    order = np.lexsort((by_name, best, first, -total))
    ids, fused = [names[i] for i in order], total[order]
    candidates = max((r.candidates for r in rankings), default=0)
    fell_back = any(r.fell_back for r in rankings)
    return Pool(ids, fused, range_norm(fused) if normalise else fused, candidates, fell_back)


def final_ranking(pool: Pool, support: Mapping[str, float], beta: float) -> Ranking:
    """``S_final = S~ + beta * v`` over the pool, ordered by score, then id (Eq. 3).

    Args:
        pool: already cut to K.
        support: v(c) in [0, 1] for every candidate; empty if no verifier ran.
        beta: the verifier's weight.

    Returns:
        A ranking with the components ``fused``, ``fused_norm`` and ``support``.
    """
    v = np.array([support.get(c, 0.0) for c in pool.ids], dtype=np.float64)
    scores = pool.scores + beta * v
    keys = list(zip((-scores).tolist(), pool.ids, strict=True))
    order = sorted(range(len(pool)), key=keys.__getitem__)
    return Ranking(
        [pool.ids[i] for i in order],
        scores[order],
        {"fused": pool.fused[order], "fused_norm": pool.scores[order], "support": v[order]},
        pool.candidates,
        pool.fell_back,
    )
