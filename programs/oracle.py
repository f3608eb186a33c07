"""Each hypothesis by itself: the ablation "no ensemble" and the oracle best single (paper: C.4)."""

from __future__ import annotations

from functools import partial

import dspy

from ..retrievers.base import Ranking
from ..signatures.types import Fact, Hypothesis
from .base import alone, fuse_trace, rank_by_support, record_judged, window_for
from .fhs import FHS
from .fusion import final_ranking
from .running import at_once, called
from .trace import Judged, Trace
from .window import support_of


class EachAlone(FHS):
    """FHS once per hypothesis, with only that hypothesis: no ensemble.

    The prediction has ``alternatives``, one ranking a hypothesis; a measure of the row is the mean over
    them. Every hypothesis is judged on its own window, all at the same time.
    """

    async def aforward(self, fact: Fact, gold: str = "") -> dspy.Prediction:
        """FHS with each hypothesis by itself; ``gold`` is read by the oracle alone."""
        trace = self.start()
        hypotheses = await self.hypotheses(fact, trace)
        self.search(fact, self.queries(fact, hypotheses, trace), trace)
        owns = [alone(trace, j) for j in range(max(1, len(hypotheses)))]
        pools = [fuse_trace(own, self.config).cut(self.config.K) for own in owns]
        trace.counters["pool"] = len(fuse_trace(trace, self.config))
        if not hypotheses or self.config.beta == 0:
            return self.conclude([final_ranking(pool, {}, 0.0) for pool in pools], gold, trace)
        with trace.timed("verify"):
            windows = [window_for(pool, self.verifier, self.profiles, self.config) for pool in pools]
            calls = [
                partial(self._judge, fact, hypothesis, window, trace, j)
                for j, (hypothesis, window) in enumerate(zip(hypotheses, windows, strict=True))
            ]
            judged = await at_once(calls)
        record_judged([one for found in judged for one in found], self.config, trace)
        rankings = [rank_by_support(p, found, self.config) for p, found in zip(pools, judged, strict=True)]
        return self.conclude(rankings, gold, trace)

    async def _judge(
        self, fact: Fact, hypothesis: Hypothesis, window: list[str], trace: Trace, j: int
    ) -> list[Judged]:
        """The verification of one hypothesis on its own window; none of an empty window."""
        if not window:
            return []
        verdicts = await called(
            self.verifier, fact=fact, hypothesis=hypothesis, candidates=window, trace=trace, index=j
        )
        return [Judged(j, window, verdicts)]

    def conclude(self, rankings: list[Ranking], gold: str, trace: Trace) -> dspy.Prediction:
        """The prediction from the rankings of the single hypotheses."""
        return self.answer(rankings[0], trace, alternatives=rankings)


class VerifierPicks(EachAlone):
    """The hypothesis whose window the verifier supports most is kept, without fusion (paper: Table 11)."""

    def conclude(self, rankings: list[Ranking], gold: str, trace: Trace) -> dspy.Prediction:
        support = [0.0] * len(rankings)
        for verification in trace.judged:
            values = [support_of(v, self.config.abstain) for v in verification.verdicts or ()]
            known = [v for v in values if v is not None]
            support[verification.hypothesis] = sum(known) / len(known) if known else 0.0
        chosen = support.index(max(support))
        trace.notes["chosen_hypothesis"] = chosen
        return self.answer(rankings[chosen], trace)


class OracleBest(EachAlone):
    """The hypothesis that ranks gold highest is kept. It sees the gold concept: a bound, no method."""

    needs_gold = True

    def conclude(self, rankings: list[Ranking], gold: str, trace: Trace) -> dspy.Prediction:
        missing = len(self.taxonomy) + 1
        ranks = [ranking.rank_of(gold) or missing for ranking in rankings]
        chosen = ranks.index(min(ranks))
        trace.notes["chosen_hypothesis"] = chosen
        return self.answer(rankings[chosen], trace)
