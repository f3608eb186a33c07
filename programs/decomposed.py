"""Decomposed retrieval: one sub-query for each of four fixed foci, each retrieved, fused (paper: C.1)."""

from __future__ import annotations

import dspy

from ..retrievers.base import Retriever
from ..retrievers.taxonomy import Taxonomy
from ..signatures.dimensions import DimensionSchema
from ..signatures.grounding import decompose_signature
from ..signatures.types import Fact, Hypothesis
from .base import Program
from .calls import ask_about
from .config import SearchConfig
from .fusion import final_ranking
from .render import render
from .serialize import Serializer


class Decomposed(Program):
    """One call, four retrievals: entity and family; temporal; measurement and qualifiers; aggregation
    and structure. It never forms a joint reading of the fact.

    The trace keeps each sub-query as a free-text hypothesis.
    """

    def __init__(
        self,
        retriever: Retriever,
        schema: DimensionSchema,
        config: SearchConfig | None = None,
        serializer: Serializer | None = None,
        taxonomy: Taxonomy | None = None,
        prompts: str = "default",
    ) -> None:
        super().__init__(retriever, serializer, taxonomy, config)
        self.schema = schema
        self.decompose = dspy.Predict(decompose_signature(schema, prompts))

    async def aforward(self, fact: Fact) -> dspy.Prediction:
        """Four sub-queries, retrieved and fused."""
        trace = self.start()
        with trace.timed("generate"):
            answer = await ask_about(
                self.decompose, trace, "generator", fact, self.serializer, temperature=0.0
            )
        if answer is not None:
            trace.hypotheses += [Hypothesis(retrieval_query=text) for text in answer.model_dump().values()]
        identifier = self.serializer.identify(fact)
        queries = render(fact, identifier, trace.hypotheses, self.schema, ("definition",))
        self.search(fact, queries or [self.fall_back(fact, trace)], trace)
        return self.answer(final_ranking(self.consolidate(trace), {}, 0.0), trace)
