"""What a tag rests on, in words."""

from __future__ import annotations

from typing import Any


def evidence_of(prediction: Any) -> str:
    """What the first concept rests on: the nearest precedent that has it, or the query that found it best."""
    ranking, trace = prediction.ranking, prediction.trace
    if not len(ranking):
        return ""
    best = ranking.ids[0]
    for near in trace.notes.get("precedents", ()):
        if near["concept"] == best:
            filing, value = str(near["filing_id"]), "same value" if near["same_value"] else ""
            if str(near["fact_id"]).startswith(filing):
                filing = ""  # it says no more than the fact's id
            whose = ", ".join(str(t) for t in (near["company"], filing, value) if t)
            return f"precedent {near['fact_id']}{f' ({whose})' if whose else ''}: {near['locus']}"
    ranks = [(r.rank_of(best) or 10**9, q.form) for q, r in zip(trace.queries, trace.rankings, strict=False)]
    rank, form = min(ranks, default=(10**9, ""))
    return f"{form} query, rank {rank}" if rank < 10**9 else ""
