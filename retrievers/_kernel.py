"""The compiled pass of :mod:`.bm25`. Apart, because importing numba takes half a second."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def score(  # type: ignore[no-untyped-def]
    query,
    n_query,
    indptr,
    indices,
    weights,
    label_indptr,
    label_indices,
    label_lengths,
    allowed,
    w_cov,
    k,
    raw,
    overlap,
):
    """Score one query and return every document that can be among the first ``k``.

    Args:
        query: known tokens of the query, distinct; ``n_query`` counts the unknown ones too.
        allowed: mask of documents that pass the filter; empty: all pass.
        raw, overlap: zeroed scratch of at least N places; zeroed again on return.

    Returns:
        Document numbers (m,), and an array (5, m) of score, bm25_norm, cov_label, cov_query, bm25;
        m >= min(k, passing), in no particular order (ties at place k are all there).
    """
    n = label_lengths.shape[0]
    masked = allowed.shape[0] > 0
    n_passing = n
    if masked:
        n_passing = 0
        for d in range(n):
            if allowed[d]:
                n_passing += 1
    touched = np.empty(n, dtype=np.int32)
    m = 0
    for t in query:
        for j in range(indptr[t], indptr[t + 1]):
            d = indices[j]
            if masked and not allowed[d]:
                continue
            if raw[d] == 0.0 and overlap[d] == 0:
                touched[m] = d
                m += 1
            raw[d] += weights[j]
        for j in range(label_indptr[t], label_indptr[t + 1]):
            d = label_indices[j]
            if masked and not allowed[d]:
                continue
            if raw[d] == 0.0 and overlap[d] == 0:
                touched[m] = d
                m += 1
            overlap[d] += 1
    low = np.inf if m == n_passing and m > 0 else 0.0
    high = 0.0
    for i in range(m):
        value = raw[touched[i]]
        high = max(high, value)
        low = min(low, value)
    span = high - low
    columns = np.empty((5, m), dtype=np.float64)
    for i in range(m):
        d = touched[i]
        norm = (raw[d] - low) / span if span > 0.0 else 1.0
        cov_label = overlap[d] / label_lengths[d] if label_lengths[d] > 0 else 0.0
        cov_query = overlap[d] / n_query if n_query > 0 else 0.0
        columns[0, i] = norm + w_cov * (cov_label + cov_query)
        columns[1, i] = norm
        columns[2, i] = cov_label
        columns[3, i] = cov_query
        columns[4, i] = raw[d]
    for i in range(m):
        raw[touched[i]] = 0.0
        overlap[touched[i]] = 0
    if m > k:
        least = np.partition(columns[0], m - k)[m - k]
        keep = np.nonzero(columns[0] >= least)[0]
        return touched[keep], columns[:, keep]
    if m in (n_passing, k):
        return touched[:m], columns
    # Documents without a query token share one score; the lowest ids among them fill up.
    rest = 1.0 if span <= 0.0 else 0.0
    extra = min(k, n_passing) - m
    seen = np.zeros(n, dtype=np.bool_)
    for i in range(m):
        seen[touched[i]] = True
    found = np.empty(m + extra, dtype=np.int32)
    out = np.zeros((5, m + extra), dtype=np.float64)
    found[:m] = touched[:m]
    out[:, :m] = columns
    for d in range(n):
        if extra == 0:
            break
        if seen[d] or (masked and not allowed[d]):
            continue
        found[m] = d
        out[0, m] = rest
        out[1, m] = rest
        m += 1
        extra -= 1
    return found, out
