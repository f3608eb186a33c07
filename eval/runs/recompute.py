"""Compute rankings again from a trace, without retrieval or a model."""

from __future__ import annotations

from itertools import compress

from ...programs.base import fuse_trace
from ...programs.config import FHSConfig, PrecedentsConfig
from ...programs.fusion import final_ranking
from ...programs.precedents import merged
from ...programs.trace import Trace
from ...programs.window import mean_support
from ...retrievers.base import Ranking


def recompute(trace: Trace, config: FHSConfig | None = None) -> Ranking:
    """The final ranking again, from the logged rankings and verdicts only.

    With the trace's own settings it equals ``trace.final`` exactly. With others (beta, kappa, fusion, the
    abstention rule) it is the ranking of that configuration on the same retrievals and verdicts. For a method
    that uses each hypothesis separately, it is the ranking of the kept hypothesis (the first, if all were
    kept).
    """
    if trace.pool is None and trace.queries and trace.queries[0].form == "precedents":
        return merged(trace.rankings, PrecedentsConfig.model_validate(trace.settings))
    if config is None:
        known = {k: v for k, v in trace.settings.items() if k in FHSConfig.model_fields}
        config = FHSConfig.model_validate({"beta": 0.0} | known)
    if trace.pool is None and "J" not in trace.settings:  # one retrieval, nothing to fuse
        (ranking,) = trace.rankings
        return ranking
    if trace.pool is None:
        trace = _alone(trace, trace.notes.get("chosen_hypothesis", 0))
    pool = fuse_trace(trace, config).cut(config.K)
    rounds = max((j.round for j in trace.judged), default=0)
    verdicts = [j.verdicts for j in trace.judged if j.round == rounds]
    support = mean_support(pool.ids, verdicts, config.abstain) if config.beta else {}
    return final_ranking(pool, support, config.beta)


def _alone(trace: Trace, hypothesis: int) -> Trace:
    """The part of a trace that belongs to one hypothesis, for a method that uses each separately."""
    kept = [q.hypothesis in (hypothesis, None) for q in trace.queries]
    return Trace(
        queries=list(compress(trace.queries, kept)),
        rankings=list(compress(trace.rankings, kept)),
        judged=[j for j in trace.judged if j.hypothesis == hypothesis],
        settings=trace.settings,
    )
