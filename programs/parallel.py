"""Parallel sampling: J free-text samples, retrieved and fused by the same aggregator (paper: C.1).

With J = 1, greedy decoding and no headers it is one-pass free-text grounding.
"""

from __future__ import annotations

from typing import cast, get_args

import dspy

from ..retrievers.base import Retriever
from ..retrievers.taxonomy import Taxonomy
from ..signatures.dimensions import DimensionSchema
from ..signatures.types import Fact
from .base import Program
from .config import SampleConfig
from .describe import Describer, OneCall, ReadingsInOneCall, Sampling
from .fusion import final_ranking
from .generate import Generator, kept_samples
from .render import render
from .running import called
from .serialize import Serializer


def describer_for(
    arm: Sampling | OneCall, schema: DimensionSchema, serializer: Serializer, prompts: str, J: int
) -> Generator:
    """What draws the descriptions of an arm.

    Raises:
        ValueError: no such arm, or more readings than it has.
    """
    if arm in get_args(OneCall):
        return ReadingsInOneCall(schema, serializer, prompts, cast("OneCall", arm), J)
    if arm in get_args(Sampling):
        return Describer(schema, serializer, prompts, cast("Sampling", arm))
    raise ValueError(f"no arm {arm!r}; there are {', '.join((*get_args(Sampling), *get_args(OneCall)))}")


class Parallel(Program):
    """J descriptions become J queries; their rankings are fused. There is nothing to verify.

    Args:
        retriever, schema, serializer, taxonomy: as in FHS.
        config: J and temperature.
        describer: draws the descriptions; a model-backed one where not given.
        prompts: the prompt set.
        arm: how the descriptions come about: samples drawn ``alike`` (the method), ``bare`` (without headers,
            one-pass free-text), ``varied`` (forced variation) or each ``warmer``; or ``diverse`` or
            ``directed`` readings of one greedy call (arms of the design study).
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
        arm: Sampling | OneCall = "alike",
    ) -> None:
        super().__init__(retriever, serializer, taxonomy, config or SampleConfig())
        self.schema = schema
        self.describer: Generator = describer or describer_for(
            arm, schema, self.serializer, prompts, self.config.J
        )

    async def aforward(self, fact: Fact) -> dspy.Prediction:
        """J descriptions, retrieved and fused."""
        trace = self.start()
        with trace.timed("generate"):
            drawn = await called(
                self.describer, fact=fact, J=self.config.J, temperature=self.config.temperature, trace=trace
            )
        trace.hypotheses += kept_samples(drawn, self.config.keep, trace)
        identifier = self.serializer.identify(fact)
        queries = render(fact, identifier, trace.hypotheses, self.schema, ("definition",))
        self.search(fact, queries or [self.fall_back(fact, trace)], trace)
        return self.answer(final_ranking(self.consolidate(trace), {}, 0.0), trace)
