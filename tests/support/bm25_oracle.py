"""BM25 with label coverage as its equations say, for comparison; and when a ranking agrees with it."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from abduce.retrievers.collection import Collection
from abduce.retrievers.tokenize import tok


def brute_force(
    collection: Collection[Any], query: str, datatype: str | None, keep: Any, w_cov: float = 1.0
) -> list[tuple[float, ...]]:
    """The score, written down as slowly as it reads: (-score, -label, -query, -bm25, id), ascending.

    Passages that share no token with the query are left out, and so is everything where none shares one.
    """
    with_datatype = datatype is None
    chosen = [c for c in collection if datatype is None or collection.datatype(c) == datatype]
    docs = [Counter(tok(collection.document(c, with_datatype))) for c in chosen]
    average = sum(d.total() for d in docs) / len(docs)
    df = Counter(t for d in docs for t in d)
    q = set(tok(query))
    raw = []
    for d in docs:
        parts = [
            math.log(1 + (len(docs) - df[t] + 0.5) / (df[t] + 0.5))
            * d[t]
            / (d[t] + 1.5 * (0.25 + 0.75 * d.total() / average))
            for t in q
            if t in d
        ]
        raw.append(sum(parts))
    rows = [(c, r) for c, r in zip(chosen, raw, strict=True) if keep(c)]
    low, high = min(r for _, r in rows), max(r for _, r in rows)
    ranked, hits = [], []
    for c, r in rows:
        label = set(tok(collection.heading(c)))
        cov_label, cov_query = len(q & label) / max(len(label), 1), len(q & label) / max(len(q), 1)
        norm = (r - low) / (high - low) if high > low else 1.0
        ranked.append((-(norm + w_cov * (cov_label + cov_query)), -cov_label, -cov_query, -r, c.id))
        if r > 0 or cov_label > 0:
            hits.append(ranked[-1])
    return sorted(ranked if hits and collection.ranked_whole else hits)


def passing(collection: Collection[Any], datatype: str | None, keep: Any) -> int:
    """How many documents pass the filter."""
    return sum(datatype in (None, collection.datatype(c)) and keep(c) for c in collection)


def agree(ranking: Any, expected: list[tuple[float, ...]], k: int) -> None:
    """The same scores, and the same ids wherever scores are further apart than rounding."""
    expected = expected[:k]
    c = ranking.components
    columns = (ranking.scores, c["cov_label"], c["cov_query"], c["bm25"])
    keys = [tuple(-float(x) for x in row) for row in zip(*columns, strict=True)]
    assert [*zip(keys, ranking.ids, strict=True)] == sorted(zip(keys, ranking.ids, strict=True))
    np.testing.assert_allclose(ranking.scores, [-e[0] for e in expected], rtol=0, atol=1e-9)
    for place, (id_, e) in enumerate(zip(ranking.ids, expected, strict=True)):
        near = [x[-1] for x in expected if abs(x[0] - e[0]) < 1e-9]
        assert id_ == e[-1] or (id_ in near and len(near) > 1), (place, id_, e)
