"""Iterative refinement of a description, with or without what it retrieved (paper: C.1)."""

from __future__ import annotations

import dspy

from ..retrievers.base import Ranking, Retriever
from ..retrievers.taxonomy import Taxonomy
from ..signatures.dimensions import DimensionSchema
from ..signatures.grounding import critique_signature, feedback_signature
from ..signatures.types import Fact, Hypothesis
from .base import Program
from .calls import ask_about
from .config import RefineConfig
from .describe import Describer
from .fusion import final_ranking
from .render import render
from .serialize import Serializer
from .trace import Trace


class Refine(Program):
    """Round 1 describes the fact; each later round critiques and rewrites; all rankings are fused.

    There is no early stop. A round whose replies do not parse issues no query and the next one starts
    from the same interpretation; where no round gave one, the direct query is used (both counted).

    Args:
        feedback: show the concepts that the previous round retrieved (retrieval-feedback refinement);
            else the evidence alone (intrinsic refinement).
    """

    config: RefineConfig

    def __init__(
        self,
        retriever: Retriever,
        schema: DimensionSchema,
        config: RefineConfig | None = None,
        serializer: Serializer | None = None,
        taxonomy: Taxonomy | None = None,
        prompts: str = "default",
        feedback: bool = False,
    ) -> None:
        super().__init__(retriever, serializer, taxonomy, config or RefineConfig())
        self.schema = schema
        self.feedback = feedback
        self.first = Describer(schema, self.serializer, prompts)
        make = feedback_signature if feedback else critique_signature
        self.revise = dspy.Predict(make(schema, prompts))

    async def aforward(self, fact: Fact) -> dspy.Prediction:
        """Rounds of description, all retrieved and fused."""
        trace = self.start()
        previous: Hypothesis | None = None
        retrieved: Ranking | None = None
        for round_ in range(self.config.rounds):
            current = await self._interpret(fact, round_, previous, retrieved, trace)
            if current is None:
                trace.count("failed_rounds")
                continue
            trace.hypotheses.append(current)
            place = len(trace.hypotheses) - 1
            identifier = self.serializer.identify(fact)
            queries = render(fact, identifier, [current], self.schema, ("definition",), round_, place)
            found = self.search(fact, queries, trace)
            previous, retrieved = current, found[0]
        if not trace.rankings:
            self.search(fact, [self.fall_back(fact, trace)], trace)
        return self.answer(final_ranking(self.consolidate(trace), {}, 0.0), trace)

    async def _interpret(
        self, fact: Fact, round_: int, previous: Hypothesis | None, retrieved: Ranking | None, trace: Trace
    ) -> Hypothesis | None:
        with trace.timed("generate"):
            if round_ == 0 or previous is None:
                return await self.first.sample(fact, 0, 1, 0.0, trace)
            shown = {"previous": previous.retrieval_query}
            if self.feedback:
                ids = [] if retrieved is None else retrieved.ids[: self.config.shown]
                shown["candidates"] = self.candidates.show(ids) or "nothing"
            answer = await ask_about(
                self.revise,
                trace,
                "generator",
                fact,
                self.serializer,
                index=round_,
                temperature=0.0,
                inputs=shown,
            )
        return None if answer is None else Hypothesis(retrieval_query=answer.description)
