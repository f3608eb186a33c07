"""The compiled pass of :mod:`.bm25`. Apart, because importing numba takes half a second.

Plain loops only: numba compiles them in a second or two, where a call of ``np.partition`` or an index
array inside costs ten. Where the package folder may not be written, numba keeps the compiled code in the
user's cache folder, and where there is none, in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import boolean, float32, float64, int32, int64, njit, types, void

_ROUNDING = 1.000001
"""A score worked out in half the digits, times this, is no lower than the score."""
_BLOCK = 64
"""Documents whose greatest weight is noted, so that a block without hope is passed over."""


def compiled(*signature: Any, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``njit`` without the GIL, cached on disk where some cache folder can be written."""

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

    Ties fall by label coverage, query coverage, raw BM25, then document number. Query coverage is
    the overlap over a constant of the query, so the overlap itself is compared.
    """
    if scores[i] != scores[j]:
        return scores[i] < scores[j]
    a, b = docs[i], docs[j]
    cov_a = overlap[a] / lengths[a] if lengths[a] > 0 else 0.0
    cov_b = overlap[b] / lengths[b] if lengths[b] > 0 else 0.0
    if cov_a != cov_b:
        return cov_a < cov_b
    if overlap[a] != overlap[b]:
        return overlap[a] < overlap[b]
    if raw[a] != raw[b]:
        return raw[a] < raw[b]
    return a > b


@compiled(
    void(int64, int32[::1], int32[::1], float64[::1], int32[::1], _read(int32), float64[::1], int32[::1])
)
def _sort(m, order, spare, scores, docs, lengths, raw, overlap):  # type: ignore[no-untyped-def]
    """Write the candidates 0 to ``m - 1``, best first, into ``order``: a merge sort that leaves halves
    alone that are in order already, as documents of equal score are."""
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


@compiled(void(float64[::1], int64))
def _sift_down(heap, size):  # type: ignore[no-untyped-def]
    """Restore the heap (least value on top) below its top."""
    moving = heap[0]
    at, child = 0, 1
    while child < size:
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= moving:
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = moving


@compiled(void(float64[::1], int64, float64))
def _push(heap, size, value):  # type: ignore[no-untyped-def]
    """Add a value to a heap that holds ``size``."""
    at = size
    while at > 0:
        parent = (at - 1) // 2
        if heap[parent] <= value:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = value


@compiled(types.UniTuple(float64, 2)(float64[::1], int64, float64[::1]), fastmath={"nnan", "nsz"})
def _summits(raw, n, summits):  # type: ignore[no-untyped-def]
    """The least and the greatest of ``n`` values, and the greatest of each block of 64 of them."""
    low = high = raw[0]
    for block in range((n + _BLOCK - 1) // _BLOCK):
        greatest = raw[block * _BLOCK]
        for d in range(block * _BLOCK, min(n, (block + 1) * _BLOCK)):
            greatest = max(greatest, raw[d])
            low = min(low, raw[d])
        summits[block] = greatest
        high = max(high, greatest)
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
    [float64[::1], int32[::1], int32[::1], float64[::1], int32[::1], int32[::1], float64[::1]]
)
_SEARCHED = (_POSTINGS, _read(boolean), float64, int64, _SCRATCH)


@compiled(int64(_read(int32), int64, *_SEARCHED, int32[::1], float64[:, ::1]))
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
            (N places); heap (k places).
        found, columns: out, (k,) document numbers and (5, k) score, bm25_norm, cov_label, cov_query,
            bm25, best first.

    Returns:
        How many places were filled: the lesser of k and the documents that pass.
    """
    indptr, indices, weights, label_indptr, label_indices, label_lengths, label_shares = postings
    raw, overlap, touched, scores, order, spare, heap = scratch
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
    else:  # add up without a branch, and look at every document
        for t in query:
            for j in range(indptr[t], indptr[t + 1]):
                raw[indices[j]] += weights[j]
    for q in range(query.shape[0]):
        t = query[q]
        if q > 0 and query[q - 1] == t:  # a repeat counts in BM25, not in coverage
            continue
        for j in range(label_indptr[t], label_indptr[t + 1]):
            d = label_indices[j]
            if overlap[d] == 0 and (not few or raw[d] == 0.0):
                if masked and not allowed[d]:
                    continue
                touched[m] = d
                m += 1
            overlap[d] += 1
    low = high = 0.0
    blocks = 0
    if few:
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
    elif masked:
        m = 0
        for d in range(n):
            touched[m] = d
            m += allowed[d]
    else:  # those with label overlap are listed, the others looked at by block
        blocks = (n + _BLOCK - 1) // _BLOCK
        low, high = _summits(raw, n, scores)
    if blocks == 0 and m > 0:
        if m == n_passing:
            low = raw[touched[0]]
        for i in range(m):
            high = max(high, raw[touched[i]])
            low = min(low, raw[touched[i]])
    span = high - low
    hopeless = -1.0  # raw BM25 below which a document without label overlap cannot be among the first k
    floor = 0.0  # and the score below which none can
    size = 0
    if blocks >= k:
        for block in range(blocks):
            if size < k:
                _push(heap, size, scores[block])
                size += 1
            elif scores[block] > heap[0]:
                heap[0] = scores[block]
                _sift_down(heap, size)
        hopeless = heap[0]
        floor = (hopeless - low) / span if span > 0.0 else 1.0
        size = 0
    for block in range(blocks):
        if scores[block] >= hopeless:
            for d in range(block * _BLOCK, min(n, (block + 1) * _BLOCK)):
                if raw[d] >= hopeless and overlap[d] == 0:
                    touched[m] = d
                    m += 1
    kept = 0
    by_span = 1.0 / span if span > 0.0 else 0.0
    by_query = 1.0 / n_query if n_query > 0 else 0.0
    for i in range(m):
        d = touched[i]
        if overlap[d] == 0:
            if raw[d] < hopeless:
                continue
        elif span > 0.0:  # without a division, and a little too high: most end here
            most = (raw[d] - low) * by_span + w_cov * overlap[d] * (label_shares[d] + by_query)
            if most * _ROUNDING < floor:
                continue
        value = (raw[d] - low) / span if span > 0.0 else 1.0
        if overlap[d] > 0:
            value += w_cov * (overlap[d] / label_lengths[d] + overlap[d] / n_query)
        if value < floor:
            continue
        if size < k:
            _push(heap, size, value)
            size += 1
        elif value > heap[0]:
            heap[0] = value
            _sift_down(heap, size)
        if size == k and heap[0] > floor:
            floor = heap[0]
            hopeless = low + span * (floor - 1e-9)
        touched[kept] = d
        scores[kept] = value
        kept += 1
    m = 0
    for i in range(kept):
        if scores[i] >= heap[0]:
            touched[m] = touched[i]
            scores[m] = scores[i]
            m += 1
    _sort(m, order, spare, scores, touched, label_lengths, raw, overlap)
    for place in range(size):
        i = order[place]
        d = touched[i]
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
    return size


@compiled(
    void(_read(int32), _read(int64), _read(int64), *_SEARCHED, int64[::1], int32[:, ::1], float64[:, :, ::1])
)
def rank_batch(  # type: ignore[no-untyped-def]
    tokens, starts, n_query, postings, allowed, w_cov, k, scratch, counts, found, columns
):
    """Rank Q queries over the same documents.

    Args:
        tokens, starts: the queries' known tokens one after the other, and Q + 1 places where each
            query begins; ``n_query`` (Q,) counts each query's distinct tokens, known or not.
        counts, found, columns: out, (Q,), (Q, k) and (Q, 5, k); the rest as in :func:`_rank`.
    """
    for q in range(n_query.shape[0]):
        query = tokens[starts[q] : starts[q + 1]]
        counts[q] = _rank(query, n_query[q], postings, allowed, w_cov, k, scratch, found[q], columns[q])
