"""Parallel sampling: J free-text samples, retrieved and fused by the same aggregator (paper: C.1).

With J = 1, greedy decoding and no headers it is one-pass free-text grounding.
"""

from __future__ import annotations

import dspy

from ..retrievers.base import Retriever
from ..retrievers.taxonomy import Taxonomy
from ..signatures.dimensions import DimensionSchema
from ..signatures.types import Fact
from .base import Program
from .config import SampleConfig
from .describe import Describer
from .fusion import final_ranking
from .generate import Generator, kept_samples
from .render import render
from .serialize import Serializer


class Parallel(Program):
    """J descriptions become J queries; their rankings are fused. There is nothing to verify.

    Args:
        retriever, schema, serializer, taxonomy: as in FHS.
        config: J and temperature.
        describer: draws the descriptions; a model-backed one where not given.
        prompts: the prompt set.
        varied: the forced-variation arm.
        headers: whether the describer sees a cell's row and column header; one-pass free-text alone does not.
    """

    config: SampleConfig

    def __init__(
        self,
        retriever: Retriever,
        schema: DimensionSchema,
        config: SampleConfig | None = None,
        describer: Generator | None = None,
        serializer: Serializer | None = None,
        taxonomy: Taxonomy | None = None,
        prompts: str = "default",
        varied: bool = False,
        headers: bool = True,
    ) -> None:
        super().__init__(retriever, serializer, taxonomy, config or SampleConfig())
        self.schema = schema
        self.describer: Generator = describer or Describer(schema, self.serializer, prompts, varied, headers)

    def forward(self, fact: Fact) -> dspy.Prediction:
        trace = self.start()
        with trace.timed("generate"):
            drawn = self.describer(
                fact=fact, J=self.config.J, temperature=self.config.temperature, trace=trace
            )
        trace.hypotheses += kept_samples(drawn, self.config.keep, trace)
        identifier = self.serializer.identify(fact)
        queries = render(fact, identifier, trace.hypotheses, self.schema, ("definition",))
        self.search(fact, queries or [self.fall_back(fact, trace)], trace)
        return self.answer(final_ranking(self.consolidate(trace), {}, 0.0), trace)
