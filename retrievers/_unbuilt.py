"""The compiled pass of :mod:`.bm25` without numba, for the first queries of a process: they end before numba
would be imported.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def rank_batch(
    tokens: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int64],
    n_query: npt.NDArray[np.int64],
    postings: tuple[Any, ...],
    allowed: npt.NDArray[np.bool_],
    w_cov: float,
    k: int,
    scratch: tuple[Any, ...],
    counts: npt.NDArray[np.int64],
    found: npt.NDArray[np.int32],
    columns: npt.NDArray[np.float64],
) -> None:
    """Same results as :func:`._kernel.rank_batch`; ``scratch`` is unchanged."""
    passing = np.flatnonzero(allowed) if allowed.size else None
    for q in range(len(n_query)):
        query = tokens[starts[q] : starts[q + 1]]
        counts[q] = _rank(query, int(n_query[q]), postings, passing, w_cov, k, found[q], columns[q])


def _rank(
    query: npt.NDArray[np.int32],
    n_query: int,
    postings: tuple[Any, ...],
    passing: npt.NDArray[np.int64] | None,
    w_cov: float,
    k: int,
    found: npt.NDArray[np.int32],
    columns: npt.NDArray[np.float64],
) -> tuple[int, int]:
    indptr, indices, weights, label_indptr, label_indices, label_lengths, _ = postings
    n = len(label_lengths)
    spans = [slice(indptr[t], indptr[t + 1]) for t in query]
    labels = [slice(label_indptr[t], label_indptr[t + 1]) for t in dict.fromkeys(query.tolist())]
    whose = np.concatenate([indices[s] for s in spans]) if spans else np.zeros(0, dtype=np.int64)
    worth = np.concatenate([weights[s] for s in spans]) if spans else np.zeros(0)
    named = np.concatenate([label_indices[s] for s in labels]) if labels else whose
    summed = np.bincount(whose, worth, n)  # added in the order of the input, as the compiled pass does
    shared = np.bincount(named, minlength=n)
    docs = np.arange(n) if passing is None else passing
    if not len(docs):
        return 0, 0
    raw, overlap, lengths = summed[docs], shared[docs], label_lengths[docs]
    low, high = raw.min(), raw.max()
    span = high - low
    norm = (raw - low) / span if span > 0.0 else np.ones(len(docs))
    covered = np.divide(overlap, lengths, out=np.zeros(len(docs)), where=overlap > 0)
    asked = overlap / n_query if n_query > 0 else overlap
    score = np.where(overlap > 0, norm + w_cov * (covered + asked), norm)
    k = min(k, len(docs))
    near = np.arange(len(docs))
    if k < len(docs):
        near = np.flatnonzero(score >= np.partition(score, len(docs) - k)[len(docs) - k])
    order = np.lexsort((docs[near], -raw[near], -overlap[near], -covered[near], -score[near]))[:k]
    top = near[order]
    found[:k] = docs[top]
    columns[:, :k] = score[top], norm[top], covered[top], asked[top], raw[top]
    return k, int(np.count_nonzero((raw[top] > 0) | (overlap[top] > 0)))
