"""Oracle best single hypothesis: a bound on choosing among FHS's own hypotheses (paper: C.4)."""

from __future__ import annotations

import dspy

from ..signatures.types import Fact
from .base import fuse_trace, rank_by_support, verify_pool
from .fhs import FHS
from .fusion import final_ranking
from .trace import Trace


class OracleBest(FHS):
    """Each hypothesis retrieves, is fused and verified by itself; the one that ranks gold highest is kept.

    It sees the gold concept and is no method. Verification is on each hypothesis's own window.
    """

    needs_gold = True

    def forward(self, fact: Fact, gold: str = "") -> dspy.Prediction:
        trace = self.start()
        hypotheses = self.hypotheses(fact, trace)
        queries = self.queries(fact, hypotheses, trace)
        self.search(fact, queries, trace)
        best: tuple[int, Trace] | None = None
        calls = 0
        for j in range(max(1, len(hypotheses))):
            alone = Trace(settings=trace.settings)
            for query, ranking in zip(trace.queries, trace.rankings, strict=True):
                if query.hypothesis in (j, None):
                    alone.queries.append(query)
                    alone.rankings.append(ranking)
            pool = fuse_trace(alone, self.config)
            alone.counters["pool"] = len(pool)
            alone.pool = pool.cut(self.config.K)
            if hypotheses and self.config.beta > 0:
                judged = verify_pool(
                    fact, [hypotheses[j]], alone.pool, self.verifier, self.profiles, self.config, alone
                )
                alone.final = rank_by_support(alone.pool, judged, self.config)
            else:
                alone.final = final_ranking(alone.pool, {}, 0.0)
            calls += alone.counters["llm_calls"]
            trace.calls += alone.calls
            rank = alone.final.rank_of(gold) or len(self.taxonomy) + 1
            if best is None or rank < best[0]:
                best = (rank, alone)
                trace.notes["chosen_hypothesis"] = j
        assert best is not None
        chosen = best[1]
        assert chosen.final is not None
        chosen.hypotheses, chosen.notes, chosen.calls = trace.hypotheses, trace.notes, trace.calls
        chosen.counters = trace.counters + chosen.counters
        chosen.counters["llm_calls"] = trace.counters["llm_calls"] + calls
        chosen.seconds = trace.seconds
        return self.answer(chosen.final, chosen)
