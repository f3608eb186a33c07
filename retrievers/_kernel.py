"""The compiled pass of :mod:`.bm25`, in a separate module because importing numba takes half a second.

It has only plain loops, which numba compiles in a second or two; a call of ``np.partition`` or an index array
inside would cost ten. The other functions are inlined into one compiled function, because each nested level
is optimised again in the next. The compiled code is cached in the package folder if it is writable, else in
the user's cache folder, else in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import boolean, float32, float64, int32, int64, njit, types, void

_ROUNDING = 1.000001
"""A score worked out without divisions, times this, is no lower than the score, and over this no higher."""
_GROUP = 16
"""Documents of which the greatest score is looked at first."""
_NEVER = -1e300
"""The BM25 score of a document that does not pass: its score reaches no floor."""


def compiled(*signature: Any, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``njit`` without the GIL, cached on disk if a cache folder is writable."""

    jit: Any = partial(njit, nogil=True, no_cfunc_wrapper=True, **options)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            return jit(*signature, cache=True)(function)  # type: ignore[no-any-return]
        except RuntimeError:  # numba: "no locator available": no cache folder can be written
            return jit(*signature)(function)  # type: ignore[no-any-return]

    return decorate


def _read(dtype: Any) -> Any:
    return types.Array(dtype, 1, "C", readonly=True)


@compiled(boolean(int64, int64, float64[::1], int32[::1], _read(int32), float64[::1], int32[::1]))
def _worse(i, j, scores, docs, lengths, raw, overlap):  # type: ignore[no-untyped-def]
    """Whether candidate ``i`` ranks below candidate ``j``.

    Ties are broken by label coverage, query coverage, raw BM25, then document number. Query coverage is the
    overlap over a constant of the query, so the overlap itself is compared.
    """
    a, b = docs[i], docs[j]
    if scores[i] != scores[j]:
        worse = scores[i] < scores[j]
    else:
        cov_a = overlap[a] / lengths[a] if lengths[a] > 0 else 0.0
        cov_b = overlap[b] / lengths[b] if lengths[b] > 0 else 0.0
        if cov_a != cov_b:
            worse = cov_a < cov_b
        elif overlap[a] != overlap[b]:
            worse = overlap[a] < overlap[b]
        elif raw[a] != raw[b]:
            worse = raw[a] < raw[b]
        else:
            worse = a > b
    return worse


@compiled(
    void(int64, int32[::1], int32[::1], float64[::1], int32[::1], _read(int32), float64[::1], int32[::1])
)
def _sort(m, order, spare, scores, docs, lengths, raw, overlap):  # type: ignore[no-untyped-def]
    """Write the candidates 0 to ``m - 1``, best first, into ``order``. This merge sort skips halves that are
    already in order, which is common with equal scores.
    """
    for i in range(m):
        order[i] = i
    width = 1
    while width < m:
        for left in range(0, m - width, 2 * width):
            middle = left + width
            end = min(middle + width, m)
            if not _worse(order[middle - 1], order[middle], scores, docs, lengths, raw, overlap):
                continue
            for i in range(left, middle):
                spare[i] = order[i]
            a, b, at = left, middle, left
            while a < middle and b < end:
                if _worse(spare[a], order[b], scores, docs, lengths, raw, overlap):
                    order[at] = order[b]
                    b += 1
                else:
                    order[at] = spare[a]
                    a += 1
                at += 1
            while a < middle:
                order[at] = spare[a]
                a += 1
                at += 1
        width *= 2


@compiled(float64(float64[::1], int64, int64, int32[::1]))
def _floor(scores, m, k, bins):  # type: ignore[no-untyped-def]
    """A score that at least ``k`` of the ``m`` candidates reach, close to the highest such score; 0 if there
    are fewer.

    Scores below 0 do not count. ``bins`` is scratch.
    """
    top = 0.0
    for i in range(m):
        top = scores[i] if scores[i] > top else top
    if m < k or top == 0.0:
        return 0.0
    bins[:] = 0
    last = bins.shape[0] - 1
    scale = last / top
    for i in range(m):
        if scores[i] >= 0.0:
            bins[np.uint32(np.int32(scores[i] * scale))] += 1
    at, reached = last, bins[last]
    while reached < k and at > 0:
        at -= 1
        reached += bins[at]
    return at / scale / _ROUNDING


@compiled(types.UniTuple(float64, 2)(float64[::1], int64), fastmath={"nnan", "nsz"})
def _extremes(raw, n):  # type: ignore[no-untyped-def]
    """The least and the greatest of ``n`` values."""
    low = high = raw[0]
    for d in range(n):
        low = min(low, raw[d])
        high = max(high, raw[d])
    return low, high


_POSTINGS = types.Tuple(
    [
        _read(int64),
        _read(int32),
        _read(float64),
        _read(int64),
        _read(int32),
        _read(int32),
        float32[::1],
    ]
)
_SCRATCH = types.Tuple(
    [float64[::1], int32[::1], int32[::1], float64[::1], int32[::1], int32[::1], int32[::1]]
)


@njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _rank(  # type: ignore[no-untyped-def]
    query, n_query, postings, allowed, w_cov, k, scratch, found, columns
):
    """Score one query over all documents that pass and write the first ``k`` in order.

    Args:
        query: numbers of the query's known tokens, ascending; ``n_query`` counts distinct ones, known or not.
        postings: indptr, indices, weights (by token, weights above 0); label_indptr, label_indices (by token,
            the documents whose label has it); label_lengths (distinct label tokens of each of the N
            documents); label_shares (1 over that, or 0).
        allowed: mask of documents that pass the filter (N,); empty: all pass.
        scratch: raw, overlap (N places, zeroed, and zeroed again on return); touched, scores, order, spare
            (N places); bins (any number of places; more cut closer).
        found, columns: out, (k,) document numbers and (5, k) score, bm25_norm, cov_label, cov_query,
            bm25, best first.

    Returns:
        How many places were filled, the lesser of k and the documents that pass; and how many of them hold a
        token of the query, which rank above the others.
    """
    indptr, indices, weights, label_indptr, label_indices, label_lengths, label_shares = postings
    raw, overlap, touched, scores, order, spare, bins = scratch
    n = label_lengths.shape[0]
    masked = allowed.shape[0] > 0
    n_passing = n
    if masked:
        n_passing = 0
        for d in range(n):
            n_passing += allowed[d]
    total = 0
    for t in query:
        total += indptr[t + 1] - indptr[t]
    m = 0
    few = 8 * total < n
    low = high = 0.0
    if few:  # note a document when it is first met, and look at those alone
        for t in query:
            for j in range(indptr[t], indptr[t + 1]):
                d = indices[j]
                if raw[d] == 0.0:
                    if masked and not allowed[d]:
                        continue
                    touched[m] = d
                    m += 1
                raw[d] += weights[j]
        for q in range(query.shape[0]):
            t = query[q]
            if q > 0 and query[q - 1] == t:  # a repeat counts in BM25, not in coverage
                continue
            for j in range(label_indptr[t], label_indptr[t + 1]):
                d = label_indices[j]
                if overlap[d] == 0 and raw[d] == 0.0:
                    if masked and not allowed[d]:
                        continue
                    touched[m] = d
                    m += 1
                overlap[d] += 1
        if m < k:
            # Documents without a query token share one score; the lowest numbers among them fill up.
            for d in range(n):
                if m >= n_passing:
                    break
                if raw[d] == 0.0 and overlap[d] == 0 and (not masked or allowed[d]):
                    touched[m] = d
                    m += 1
                    if m >= k:
                        break
        if m > 0 and m == n_passing:
            low = raw[touched[0]]
        for i in range(m):
            high = max(high, raw[touched[i]])
            low = min(low, raw[touched[i]])
    else:  # add up without a branch
        for t in query:
            for j in range(indptr[t], indptr[t + 1]):
                raw[np.uint32(indices[j])] += weights[j]
        for q in range(query.shape[0]):
            t = query[q]
            if q > 0 and query[q - 1] == t:
                continue
            for j in range(label_indptr[t], label_indptr[t + 1]):
                overlap[np.uint32(label_indices[j])] += 1
        if not masked:
            low, high = _extremes(raw, n)
        elif n_passing > 0:
            low = np.inf
            for d in range(n):
                if allowed[d]:
                    low = min(low, raw[d])
                    high = max(high, raw[d])
                else:
                    raw[d] = _NEVER
                    overlap[d] = 0
    span = high - low
    base, by_span = (0.0, 1.0 / span) if span > 0.0 else (1.0, 1.0)
    by_query = 1.0 / n_query if n_query > 0 else 0.0
    # Scores without a division, a little too high or too low; exact ones only where these reach far enough.
    groups = m
    if few:
        for i in range(m):
            d = touched[i]
            scores[i] = base + (raw[d] - low) * by_span + w_cov * overlap[d] * (label_shares[d] + by_query)
    else:  # of every so-manieth document the greatest: neighbours are alike, and shall not hide each other
        groups = (n + _GROUP - 1) // _GROUP
        scores[:groups] = 0.0
        for start in range(0, n, groups):
            size = min(groups, n - start)
            end = start + size
            r, o, s = raw[start:end], overlap[start:end], label_shares[start:end]
            for g in range(size):
                near = base + (r[g] - low) * by_span + w_cov * o[g] * (s[g] + by_query)
                scores[g] = near if near > scores[g] else scores[g]
    floor = _floor(scores, groups, k, bins)
    kept = 0
    if few:
        for i in range(m):
            if scores[i] * _ROUNDING >= floor:
                touched[kept] = touched[i]
                kept += 1
    else:
        for g in range(groups):
            if scores[g] * _ROUNDING >= floor:
                for d in range(g, n, groups):
                    near = base + (raw[d] - low) * by_span + w_cov * overlap[d] * (label_shares[d] + by_query)
                    if near * _ROUNDING >= floor:
                        touched[kept] = d
                        kept += 1
    for i in range(kept):
        d = touched[i]
        scores[i] = (raw[d] - low) / span if span > 0.0 else 1.0
        if overlap[d] > 0:
            scores[i] += w_cov * (overlap[d] / label_lengths[d] + overlap[d] / n_query)
    floor = _floor(scores, kept, k, bins)
    m = 0
    for i in range(kept):
        if scores[i] >= floor:
            touched[m] = touched[i]
            scores[m] = scores[i]
            m += 1
    _sort(m, order, spare, scores, touched, label_lengths, raw, overlap)
    size = min(m, k)
    hits = 0
    for place in range(size):
        i = order[place]
        d = touched[i]
        hits += raw[d] > 0.0 or overlap[d] > 0
        found[place] = d
        columns[0, place] = scores[i]
        columns[1, place] = (raw[d] - low) / span if span > 0.0 else 1.0
        columns[2, place] = overlap[d] / label_lengths[d] if overlap[d] > 0 else 0.0
        columns[3, place] = overlap[d] / n_query if overlap[d] > 0 else 0.0
        columns[4, place] = raw[d]
    if few:
        for t in query:
            for j in range(indptr[t], indptr[t + 1]):
                raw[indices[j]] = 0.0
            for j in range(label_indptr[t], label_indptr[t + 1]):
                overlap[label_indices[j]] = 0
    else:
        raw[:n] = 0.0
        overlap[:n] = 0
    return size, hits


@compiled(
    void(
        _read(int32),
        _read(int64),
        _read(int64),
        _POSTINGS,
        _read(boolean),
        float64,
        int64,
        _SCRATCH,
        int64[:, ::1],
        int32[:, ::1],
        float64[:, :, ::1],
    )
)
def rank_batch(  # type: ignore[no-untyped-def]
    tokens, starts, n_query, postings, allowed, w_cov, k, scratch, counts, found, columns
):
    """Rank Q queries over the same documents.

    Args:
        tokens, starts: the queries' known tokens one after the other, and Q + 1 places where each
            query begins; ``n_query`` (Q,) counts each query's distinct tokens, known or not.
        counts, found, columns: out, (Q, 2), (Q, k) and (Q, 5, k): what :func:`_rank` returns and writes; the
            rest as there.
    """
    for q in range(n_query.shape[0]):
        query = tokens[starts[q] : starts[q + 1]]
        counts[q, 0], counts[q, 1] = _rank(
            query, n_query[q], postings, allowed, w_cov, k, scratch, found[q], columns[q]
        )
