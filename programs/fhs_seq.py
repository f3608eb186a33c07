"""FHS-Seq: FHS's parallel round, then one revised dimension a round (paper: Section 4.5, Appendix F)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dspy

from ..signatures.dimensions import DimensionSchema
from ..signatures.grounding import revise_signature
from ..signatures.types import Fact, Hypothesis, Judgement
from .base import rank_by_support, verify_pool
from .calls import ask_about
from .config import FHSSeqConfig
from .fhs import FHS
from .render import render
from .trace import Judged, Trace
from .verify import show_hypothesis


def target_dimension(judged: Sequence[Judged], schema: DimensionSchema) -> str | None:
    """The dimension with the largest positive ``no_support - support`` over a round's verdicts.

    Ties fall in canonical order; None where no dimension has a positive balance.
    """
    balance = dict.fromkeys(schema.names, 0)
    for verification in judged:
        for verdict in verification.verdicts or ():
            for name, judgement in verdict.judgements.items():
                balance[name] += (judgement is Judgement.NO_SUPPORT) - (judgement is Judgement.SUPPORT)
    target = max(schema.names, key=lambda name: balance[name])
    return target if balance[target] > 0 else None


class FHSSeq(FHS):
    """The same parts as FHS under sequential control.

    Round 1 is FHS itself. Each later round takes the target dimension of the last window's verdicts
    and asks for a new value and query of the current hypothesis there (at first the first hypothesis);
    the revised hypothesis joins the others, the whole pool is fused again, and every hypothesis is judged
    on the new window. It stops early where no dimension has a positive balance, or a revision does not
    parse.
    """

    config: FHSSeqConfig
    default_config = FHSSeqConfig()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.revise = dspy.Predict(revise_signature(self.schema, self.prompts))

    async def aforward(self, fact: Fact) -> dspy.Prediction:
        """FHS, then rounds of revision (Appendix F)."""
        prediction = await super().aforward(fact=fact)
        trace: Trace = prediction.trace
        if not trace.hypotheses or not trace.judged:
            return prediction
        current = trace.hypotheses[0]
        judged = list(trace.judged)
        targets: list[str] = []
        for round_ in range(1, self.config.rounds + 1):
            target = target_dimension(judged, self.schema)
            if target is None:
                break
            revised = await self._revise(fact, current, target, round_, trace)
            if revised is None:
                break
            targets.append(target)
            current = revised
            self.accept([revised], trace)
            place = len(trace.hypotheses) - 1
            identifier = self.serializer.identify(fact)
            forms = self.config.forms
            self.search(fact, render(fact, identifier, [revised], self.schema, forms, round_, place), trace)
            pool = self.consolidate(trace)
            judged = await verify_pool(
                fact, trace.hypotheses, pool, self.verifier, self.profiles, self.config, trace, round_
            )
        trace.notes["targets"] = targets
        assert trace.pool is not None
        return self.answer(rank_by_support(trace.pool, judged, self.config), trace)

    async def _revise(
        self, fact: Fact, current: Hypothesis, target: str, round_: int, trace: Trace
    ) -> Hypothesis | None:
        with trace.timed("generate"):
            answer = await ask_about(
                self.revise,
                trace,
                "generator",
                fact,
                self.serializer,
                index=self.config.J + round_ - 1,
                temperature=0.0,
                inputs={
                    "hypothesis": f"{show_hypothesis(current, self.schema)}\n"
                    f"retrieval_query: {current.retrieval_query}",
                    "dimension": target,
                },
            )
        if answer is None:
            return None
        return self.schema.hypothesis({**current.values, target: answer.value}, answer.retrieval_query)
