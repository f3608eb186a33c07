"""Each hypothesis by itself: the ablation "no ensemble" and the oracle best single (paper: C.4)."""

from __future__ import annotations

import dspy

from ..retrievers.base import Ranking
from ..signatures.types import Fact
from .base import fuse_trace, rank_by_support, verify_pool
from .fhs import FHS
from .fusion import final_ranking
from .trace import Trace
from .window import support_of


class EachAlone(FHS):
    """FHS once per hypothesis, with only that hypothesis: no ensemble.

    The prediction has ``alternatives``, one ranking a hypothesis; a measure of the row is the mean over
    them. Every hypothesis is judged on its own window.
    """

    def forward(self, fact: Fact, gold: str = "") -> dspy.Prediction:
        trace = self.start()
        hypotheses = self.hypotheses(fact, trace)
        self.search(fact, self.queries(fact, hypotheses, trace), trace)
        rankings = [self._alone(fact, j, trace) for j in range(max(1, len(hypotheses)))]
        trace.counters["pool"] = len(fuse_trace(trace, self.config))
        return self.conclude(rankings, gold, trace)

    def conclude(self, rankings: list[Ranking], gold: str, trace: Trace) -> dspy.Prediction:
        """The prediction from the rankings of the single hypotheses."""
        return self.answer(rankings[0], trace, alternatives=rankings)

    def _alone(self, fact: Fact, j: int, trace: Trace) -> Ranking:
        """The ranking of hypothesis ``j`` alone; its verification is recorded in the whole trace."""
        alone = Trace(settings=trace.settings, calls=trace.calls, counters=trace.counters)
        for query, ranking in zip(trace.queries, trace.rankings, strict=True):
            if query.hypothesis in (j, None):
                alone.queries.append(query)
                alone.rankings.append(ranking)
        pool = fuse_trace(alone, self.config).cut(self.config.K)
        if not trace.hypotheses or self.config.beta == 0:
            return final_ranking(pool, {}, 0.0)
        judged = verify_pool(
            fact, [trace.hypotheses[j]], pool, self.verifier, self.profiles, self.config, alone
        )
        for verification in judged:
            verification.hypothesis = j
        trace.judged += judged
        trace.seconds["verify"] = trace.seconds.get("verify", 0.0) + alone.seconds["verify"]
        return rank_by_support(pool, judged, self.config)


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
