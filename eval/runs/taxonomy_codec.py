"""How predictions over a taxonomy are recorded and scored: the runner's codec for this family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...programs.own import ranked
from ...retrievers.concept_ids import strip_namespace
from ..metrics import RANKING_MEASURES, accuracy, measure, score_ranking


class TaxonomyCodec:
    """Ranking (top K ids, scores, score components) and trace; R@k and MRR before the selector, Acc after.

    ``Cov`` is the search coverage ``Pr(gold in U)``: where each hypothesis stands alone the mean over their
    own pools, where one was chosen that of its own. The record's ``ranking`` is the method's own, on
    which recall and MRR are measured; the trace's ``final`` is left null, being the same. A row with
    ``alternatives`` (each hypothesis alone) is scored by the mean over them.

    Args:
        more: further measures of the ranking, names that :func:`abduce.eval.metrics.measure` knows.
    """

    name = "taxonomy"

    def __init__(self, more: Sequence[str] = ()) -> None:
        self.measures = tuple(dict.fromkeys((*RANKING_MEASURES, "Acc", "Cov", *more)))
        self._more = {name: measure(name) for name in self.measures[len(RANKING_MEASURES) + 2 :]}

    def encode(self, prediction: Any) -> dict[str, Any]:
        trace = ranked(prediction).trace
        ranking = prediction.get("retrieved", prediction.ranking)
        record = trace.toDict()
        record["final"] = None
        counters = trace.counters
        cost = {
            "llm_calls": counters["llm_calls"],
            "retrievals": counters["retrievals"],
            "datatype_fallback": counters["datatype_fallback"],
            "prompt_tokens": sum(c.prompt_tokens for c in trace.calls),
            "completion_tokens": sum(c.completion_tokens for c in trace.calls),
            "cached_tokens": sum(c.cached_tokens for c in trace.calls),
            "retries": sum(c.retries + c.retry for c in trace.calls),
        }
        encoded = {
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
        alternatives = prediction.get("alternatives")
        if alternatives:
            after = prediction.get("reordered", alternatives)
            encoded["alternatives"] = [
                {"ids": list(r.ids), "top": list(a.ids[:1])} for r, a in zip(alternatives, after, strict=True)
            ]
        return encoded

    def score(self, record: Mapping[str, Any], gold: Any) -> dict[str, float]:
        trace = record["trace"]
        selected = record["selected"] is not None or bool(trace["counters"].get("selector_failed"))
        each = record.get("alternatives") or [{"ids": record["ranking"]["ids"], "top": record["top"]}]
        scored = [
            score_ranking(one["ids"], gold) | {n: m(one["ids"], gold) for n, m in self._more.items()}
            for one in each
        ]
        if selected:
            for values, one in zip(scored, each, strict=True):
                values["Acc"] = accuracy(one["top"], gold)
        mean = {name: sum(values[name] for values in scored) / len(scored) for name in scored[0]}
        found = pools(record)
        mean["Cov"] = sum(strip_namespace(gold) in pool for pool in found) / len(found)
        return mean


def pools(record: Mapping[str, Any]) -> list[set[str]]:
    """The pools U of a record, each the union of rankings: one, or one per hypothesis if each was ranked
    separately (for a chosen hypothesis, only its own).
    """
    trace = record["trace"]
    names, chosen = trace["ids"], trace["notes"].get("chosen_hypothesis")
    if record.get("alternatives"):
        owners: Sequence[int | None] = range(len(record["alternatives"]))
    else:
        owners = [chosen]
    return [
        {
            names[i]
            for query, ranking in zip(trace["queries"], trace["rankings"], strict=True)
            if owner is None or query["hypothesis"] in (owner, None)
            for i in ranking["ids"]
        }
        for owner in owners
    ]
