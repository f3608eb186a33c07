"""What every evidence-to-taxonomy program shares: retrieval into the trace, and consolidation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import dspy

from ..retrievers.base import Ranking, Retriever, Where
from ..retrievers.taxonomy import Taxonomy
from ..signatures.types import Fact, Hypothesis
from .config import FHSConfig, SearchConfig
from .fusion import Pool, final_ranking, fuse
from .profiles import Profiles
from .running import at_once, called
from .serialize import Serializer
from .state import Stateful, must_be
from .telling import note
from .trace import Judged, Query, Trace
from .verify import Candidates, Verifier
from .window import mean_support, profile_window, support_of


class Program(Stateful):
    """A method that ranks a taxonomy's concepts for a fact.

    ``program(fact=fact)`` returns a ``dspy.Prediction`` with ``ranking`` (at most K concepts, best
    first) and ``trace``. A program whose ``needs_gold`` is true is an oracle and also takes
    ``gold=``, the gold concept's id; one whose ``model_free`` is true runs without a model.

    Args:
        retriever: the first stage.
        serializer: how facts become text.
        taxonomy: what is ranked; the retriever's own where not given.
        config: the method's settings.

    Raises:
        TypeError: ``retriever`` is no :class:`~abduce.retrievers.base.Retriever`.
        ValueError: there is no taxonomy.
    """

    needs_gold = False
    model_free = False
    takes: ClassVar[Mapping[str, type]] = {"fact": Fact, "gold": str}

    config: SearchConfig

    def __init__(
        self,
        retriever: Retriever,
        serializer: Serializer | None = None,
        taxonomy: Taxonomy | None = None,
        config: SearchConfig | None = None,
    ) -> None:
        super().__init__()
        must_be("retriever", retriever, Retriever)
        self.retriever = retriever
        self.serializer = serializer or Serializer()
        found = taxonomy if taxonomy is not None else getattr(retriever, "taxonomy", None)
        if found is None:
            raise ValueError("the retriever has no taxonomy of its own: give one")
        self.taxonomy: Taxonomy = found
        self.candidates = Candidates(found)
        self.config = config or SearchConfig()

    def forward(self, fact: Fact, **more: Any) -> dspy.Prediction:
        """Rank the taxonomy's concepts for a fact; an oracle also takes ``gold``, the gold concept's id.

        It waits in the caller's thread; ``await program.acall(fact=fact)`` does the same on an event loop.

        Raises:
            TypeError: ``fact`` is no :class:`~abduce.signatures.types.Fact`.
        """
        return super().forward(fact=fact, **more)

    def start(self) -> Trace:
        """A fresh trace that knows the settings, and the kind of the verifier where there is one."""
        trace = Trace(settings=self.config.model_dump(mode="json"))
        verifier: Verifier | None = getattr(self, "verifier", None)
        if verifier is not None:
            trace.settings["verifier"] = verifier.kind
        return trace

    def search(self, fact: Fact, queries: Sequence[Query], trace: Trace) -> list[Ranking]:
        """Retrieve K candidates for each query within the fact's datatype, and record it."""
        if not queries:
            return []
        with trace.timed("retrieve") as span:
            where = [Where(datatype=fact.datatype)] * len(queries)
            rankings = self.retriever.search([q.text for q in queries], self.config.K, where)
            note(span, queries=len(queries), K=self.config.K, found=sum(map(len, rankings)))
        trace.retrieved(queries, rankings)
        return rankings

    def consolidate(self, trace: Trace) -> Pool:
        """Fuse every ranking of the trace into its pool, cut to K (Eq. 4 and 5)."""
        with trace.timed("fuse") as span:
            pool = fuse_trace(trace, self.config)
            note(span, pool=len(pool))
            trace.counters["pool"] = len(pool)
            trace.pool = pool.cut(self.config.K)
        return trace.pool

    def fall_back(self, fact: Fact, trace: Trace) -> Query:
        """The direct query, where no sample is left; counted."""
        trace.count("direct_fallback")
        return Query(self.serializer.direct(fact), "direct")

    def answer(self, ranking: Ranking, trace: Trace, **more: Any) -> dspy.Prediction:
        """The prediction of a program whose ranking is final."""
        trace.final = ranking
        return dspy.Prediction(ranking=ranking, trace=trace, **more)


def alone(trace: Trace, hypothesis: int) -> Trace:
    """What one hypothesis did by itself: its own rankings, and those that are of none (a fall-back, a
    companion). Calls, counters and settings are the whole trace's."""
    own = Trace(settings=trace.settings, calls=trace.calls, counters=trace.counters)
    for query, ranking in zip(trace.queries, trace.rankings, strict=True):
        if query.hypothesis in (hypothesis, None):
            own.queries.append(query)
            own.rankings.append(ranking)
    return own


def fuse_trace(trace: Trace, config: SearchConfig) -> Pool:
    """The whole pool of a trace's rankings under a config, hypotheses and companions weighed by it."""
    companions: Mapping[str, float] = getattr(config, "companions", {})
    own: Sequence[float] = getattr(config, "weights", ())

    def weight(query: Query) -> float:
        if query.hypothesis is None:
            return companions.get(query.form, 1.0)
        return own[query.hypothesis] if query.hypothesis < len(own) else 1.0

    weights = [weight(query) for query in trace.queries]
    return fuse(trace.rankings, config.kappa, config.fusion, config.normalise, weights)


async def verify_pool(
    fact: Fact,
    hypotheses: Sequence[Hypothesis],
    pool: Pool,
    verifier: Verifier,
    profiles: Profiles,
    config: FHSConfig,
    trace: Trace,
    round_: int = 0,
) -> list[Judged]:
    """Judge one window (or the whole pool) under every hypothesis at the same time."""
    with trace.timed("verify"):
        window = window_for(pool, verifier, profiles, config)
        if not window:
            return []
        calls = [
            partial(called, verifier, fact=fact, hypothesis=h, candidates=window, trace=trace, index=j)
            for j, h in enumerate(hypotheses)
        ]
        judged = [Judged(j, window, v, round_) for j, v in enumerate(await at_once(calls))]
    record_judged(judged, config, trace)
    return judged


def window_for(pool: Pool, verifier: Verifier, profiles: Profiles, config: FHSConfig) -> list[str]:
    """The candidates that a verifier judges: the profile-diverse window, or the whole pool."""
    if verifier.over == "pool":
        return list(pool.ids)
    return profile_window(pool.by_score(), profiles.profile, config.Kv, config.scan)


def record_judged(judged: Sequence[Judged], config: FHSConfig, trace: Trace) -> None:
    """Put verifications into the trace, and count those that failed or judged nothing."""
    failed = sum(j.verdicts is None for j in judged)
    if failed:
        trace.count("failed_verifications", failed)
    empty = sum(
        j.verdicts is not None and all(support_of(v, config.abstain) is None for v in j.verdicts)
        for j in judged
    )
    if empty:
        trace.count("empty_verifications", empty)
    trace.judged += judged


def rank_by_support(pool: Pool, judged: Sequence[Judged], config: FHSConfig) -> Ranking:
    """The final ranking from the pool and the verdicts (Eq. 2 and 3)."""
    support = mean_support(pool.ids, [j.verdicts for j in judged], config.abstain, config.outside)
    return final_ranking(pool, support, config.beta)
