"""How predictions over a taxonomy are recorded and scored: the runner's codec for this family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..retrievers.taxonomy import strip_namespace
from .metrics import RANKING_MEASURES, accuracy, score_ranking
from .trace import to_json


class TaxonomyCodec:
    """Ranking (top K ids, scores, score components) and trace; R@k and MRR before the selector, Acc after.

    ``Cov`` is the search coverage ``Pr(gold in U)``. The record's ``ranking`` is the method's own, on
    which recall and MRR are measured; the trace's ``final`` is left null, being the same.
    """

    name = "taxonomy"
    measures: Sequence[str] = (*RANKING_MEASURES, "Acc", "Cov")

    def encode(self, prediction: Any) -> dict[str, Any]:
        trace = prediction.trace
        ranking = prediction.get("retrieved", prediction.ranking)
        record = to_json(trace)
        record["final"] = None
        counters = trace.counters
        cost = {
            "llm_calls": counters["llm_calls"],
            "retrievals": counters["retrievals"],
            "datatype_fallback": counters["datatype_fallback"],
            "prompt_tokens": sum(c.prompt_tokens for c in trace.calls),
            "completion_tokens": sum(c.completion_tokens for c in trace.calls),
        }
        return {
            "ranking": {
                "ids": list(ranking.ids),
                "scores": ranking.scores,
                "components": dict(ranking.components),
                "candidates": ranking.candidates,
                "fell_back": ranking.fell_back,
            },
            "selected": trace.selected,
            "top": list(prediction.ranking.ids[:1]),
            "trace": record,
            "cost": cost,
        }

    def score(self, record: Mapping[str, Any], gold: Any) -> dict[str, float]:
        ids = record["ranking"]["ids"]
        values = score_ranking(ids, gold, RANKING_MEASURES)
        trace = record["trace"]
        values["Cov"] = float(strip_namespace(gold) in _pool(trace))
        if record["selected"] is not None or trace["counters"].get("selector_failed"):
            values["Acc"] = accuracy(record["top"], gold)
        return values


def _pool(trace: Mapping[str, Any]) -> set[str]:
    """The union U of all rankings of a trace."""
    names = trace["ids"]
    return {names[i] for i in set().union(*(r["ids"] for r in trace["rankings"]))}
