"""The compiled pass of :mod:`.bm25`. Apart, because importing numba takes half a second.

Plain loops only: numba compiles them in a second or two, where a call of ``np.partition`` or an index
array inside costs ten. Where the package folder may not be written, numba keeps the compiled code in the
user's cache folder, and where there is none, in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import boolean, float64, int32, int64, njit, types, void


def compiled(*signature: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``njit`` without the GIL, cached on disk where some cache folder can be written."""

    jit: Any = partial(njit, nogil=True, no_cfunc_wrapper=True)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            return jit(*signature, cache=True)(function)  # type: ignore[no-any-return]
        except RuntimeError:  # numba: "no locator available": no cache folder can be written
            return jit(*signature)(function)  # type: ignore[no-any-return]

    return decorate


def _read(dtype: Any) -> Any:
    return types.Array(dtype, 1, "C", readonly=True)


@compiled(boolean(int64, int64, float64[::1], _read(int32), _read(int32), float64[::1], int32[::1]))
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


@compiled(void(int64[::1], int64, int64, float64[::1], _read(int32), _read(int32), float64[::1], int32[::1]))
def _sift_down(heap, at, size, scores, docs, lengths, raw, overlap):  # type: ignore[no-untyped-def]
    """Restore the heap (worst candidate on top) below place ``at``."""
    moving = heap[at]
    child = 2 * at + 1
    while child < size:
        if child + 1 < size and _worse(heap[child + 1], heap[child], scores, docs, lengths, raw, overlap):
            child += 1
        if not _worse(heap[child], moving, scores, docs, lengths, raw, overlap):
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = moving


_POSTINGS = (_read(int64), _read(int32), _read(float64), _read(boolean), _read(int32))
_SCRATCH = (float64[::1], int32[::1], int32[::1], float64[::1], int64[::1])


@compiled(
    int64(
        _read(int32),
        int64,
        *_POSTINGS,
        _read(boolean),
        float64,
        int64,
        *_SCRATCH,
        int32[::1],
        float64[:, ::1],
    )
)
def _rank(  # type: ignore[no-untyped-def]
    query,
    n_query,
    indptr,
    indices,
    weights,
    in_label,
    label_lengths,
    allowed,
    w_cov,
    k,
    raw,
    overlap,
    touched,
    scores,
    heap,
    found,
    columns,
):
    """Score one query over all documents that pass and write the first ``k`` in order.

    Args:
        query: numbers of the query's known tokens, ascending; ``n_query`` counts distinct ones, known or not.
        indptr, indices, weights, in_label: postings by token; ``in_label`` says that the token
            stands in the document's label as well.
        label_lengths: distinct label tokens of each of the N documents.
        allowed: mask of documents that pass the filter (N,); empty: all pass.
        raw, overlap: zeroed scratch of N places; zeroed again on return.
        touched, scores: scratch of N places; ``heap`` of k places.
        found, columns: out, (k,) document numbers and (5, k) score, bm25_norm, cov_label, cov_query,
            bm25, best first.

    Returns:
        How many places were filled: the lesser of k and the documents that pass.
    """
    n = label_lengths.shape[0]
    masked = allowed.shape[0] > 0
    n_passing = n
    if masked:
        n_passing = 0
        for d in range(n):
            if allowed[d]:
                n_passing += 1
    total = 0
    for t in query:
        total += indptr[t + 1] - indptr[t]
    m = 0
    if total < n:  # few postings: note a document when it is first met
        for q in range(query.shape[0]):
            t = query[q]
            if q > 0 and query[q - 1] == t:  # a repeat counts in BM25, not in coverage
                for j in range(indptr[t], indptr[t + 1]):
                    if not masked or allowed[indices[j]]:
                        raw[indices[j]] += weights[j]
                continue
            for j in range(indptr[t], indptr[t + 1]):
                d = indices[j]
                if raw[d] == 0.0 and overlap[d] == 0:
                    if masked and not allowed[d]:
                        continue
                    touched[m] = d
                    m += 1
                raw[d] += weights[j]
                overlap[d] += in_label[j]
    else:  # many: no branches while adding up, then one look at every document
        for q in range(query.shape[0]):
            t = query[q]
            first = q == 0 or query[q - 1] != t
            for j in range(indptr[t], indptr[t + 1]):
                d = indices[j]
                raw[d] += weights[j]
                overlap[d] += in_label[j] & first
        for d in range(n):
            if masked and not allowed[d]:
                raw[d] = 0.0
                overlap[d] = 0
            touched[m] = d
            m += raw[d] != 0.0 or overlap[d] != 0
    high = 0.0
    low = raw[touched[0]] if m == n_passing and m > 0 else 0.0
    for i in range(m):
        value = raw[touched[i]]
        high = max(high, value)
        low = min(low, value)
    span = high - low
    n_touched = m
    if m < k and m < n_passing:
        # Documents without a query token share one score; the lowest numbers among them fill up.
        for d in range(n):
            if raw[d] == 0.0 and overlap[d] == 0 and (not masked or allowed[d]):
                touched[m] = d
                m += 1
                if m in (k, n_passing):
                    break
    size = 0
    hopeless = -1.0  # raw BM25 below which a document without label overlap cannot be among the first k
    for i in range(m):
        d = touched[i]
        if raw[d] < hopeless and overlap[d] == 0:
            continue
        value = (raw[d] - low) / span if span > 0.0 else 1.0
        if overlap[d] > 0:
            value += w_cov * (overlap[d] / label_lengths[d] + overlap[d] / n_query)
        scores[i] = value
        if size < k:
            at = size
            size += 1
            while at > 0:
                parent = (at - 1) // 2
                if not _worse(i, heap[parent], scores, touched, label_lengths, raw, overlap):
                    break
                heap[at] = heap[parent]
                at = parent
            heap[at] = i
        elif value >= scores[heap[0]] and _worse(heap[0], i, scores, touched, label_lengths, raw, overlap):
            heap[0] = i
            _sift_down(heap, 0, size, scores, touched, label_lengths, raw, overlap)
            hopeless = low + span * (scores[heap[0]] - 1e-9)
    for place in range(size - 1, -1, -1):
        i = heap[0]
        d = touched[i]
        found[place] = d
        columns[0, place] = scores[i]
        columns[1, place] = (raw[d] - low) / span if span > 0.0 else 1.0
        columns[2, place] = overlap[d] / label_lengths[d] if overlap[d] > 0 else 0.0
        columns[3, place] = overlap[d] / n_query if overlap[d] > 0 else 0.0
        columns[4, place] = raw[d]
        heap[0] = heap[place]
        _sift_down(heap, 0, place, scores, touched, label_lengths, raw, overlap)
    for i in range(n_touched):
        raw[touched[i]] = 0.0
        overlap[touched[i]] = 0
    return size


@compiled(
    void(
        _read(int32),
        _read(int64),
        _read(int64),
        *_POSTINGS,
        _read(boolean),
        float64,
        int64,
        *_SCRATCH,
        int64[::1],
        int32[:, ::1],
        float64[:, :, ::1],
    )
)
def rank_batch(  # type: ignore[no-untyped-def]
    tokens,
    starts,
    n_query,
    indptr,
    indices,
    weights,
    in_label,
    label_lengths,
    allowed,
    w_cov,
    k,
    raw,
    overlap,
    touched,
    scores,
    heap,
    counts,
    found,
    columns,
):
    """Rank Q queries over the same documents.

    Args:
        tokens, starts: the queries' known tokens one after the other, and Q + 1 places where each
            query begins; ``n_query`` (Q,) counts each query's distinct tokens, known or not.
        counts, found, columns: out, (Q,), (Q, k) and (Q, 5, k); the rest as in :func:`_rank`.
    """
    for q in range(n_query.shape[0]):
        counts[q] = _rank(
            tokens[starts[q] : starts[q + 1]],
            n_query[q],
            indptr,
            indices,
            weights,
            in_label,
            label_lengths,
            allowed,
            w_cov,
            k,
            raw,
            overlap,
            touched,
            scores,
            heap,
            found[q],
            columns[q],
        )
