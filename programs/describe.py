"""Free-text interpretations: descriptions of a fact, without dimensions (paper: C.1, Table 11 Panel A)."""

from __future__ import annotations

from functools import partial
from typing import Literal

import dspy

from ..signatures.dimensions import DimensionSchema
from ..signatures.grounding import (
    describe_signature,
    directed_signature,
    diverse_signature,
    varied_signature,
)
from ..signatures.types import Fact, Hypothesis
from .calls import ask_about
from .running import Part, at_once
from .serialize import Serializer
from .trace import Trace

Sampling = Literal["alike", "bare", "varied", "warmer"]
"""How samples of one prompt are drawn: all alike; alike and without the headers of a cell (one-pass
free-text); told which of how many each is and to be distinct; each warmer than the one before."""

OneCall = Literal["diverse", "directed"]
"""How one greedy call gives several readings: told to be diverse, or each to differ in one respect."""

STEP = 0.2
"""By how much each ``warmer`` sample's temperature is above the one before (0.8, 1.0, 1.2, ...)."""

WARMEST = 2.0
"""The highest temperature that is asked for."""


class Describer(Part):
    """J descriptions of a fact, each a call of its own, drawn at the same time.

    Args:
        schema: words of the prompt.
        serializer: how the evidence is written down.
        prompts: name or path of the prompt set.
        arm: how the samples are drawn.
    """

    def __init__(
        self,
        schema: DimensionSchema,
        serializer: Serializer | None = None,
        prompts: str = "default",
        arm: Sampling = "alike",
    ) -> None:
        super().__init__()
        self.serializer = serializer or Serializer()
        self.arm: Sampling = arm
        if arm == "varied":
            self.describe = dspy.Predict(varied_signature(schema, prompts))
        else:
            self.describe = dspy.Predict(describe_signature(schema, prompts, headers=arm != "bare"))

    async def aforward(self, fact: Fact, J: int, temperature: float, trace: Trace) -> list[Hypothesis | None]:
        """J descriptions in the order of the samples; None for a dropped one."""
        return await at_once([partial(self.sample, fact, j, J, temperature, trace) for j in range(J)])

    async def sample(self, fact: Fact, j: int, J: int, temperature: float, trace: Trace) -> Hypothesis | None:
        """Description ``j`` of ``J``, or None where its replies did not parse."""
        if self.arm == "warmer":
            temperature = min(temperature + j * STEP, WARMEST)
        answer = await ask_about(
            self.describe,
            trace,
            "generator",
            fact,
            self.serializer,
            index=j,
            temperature=temperature,
            inputs={"sample": f"sample {j + 1} of {J}"} if self.arm == "varied" else {},
        )
        return None if answer is None else Hypothesis(retrieval_query=answer.description)


class ReadingsInOneCall(Part):
    """J whole readings of a fact from one greedy call (arms of the design study; paper: Table 11, Panel A).

    Args:
        schema, serializer, prompts: as for :class:`Describer`.
        arm: ``diverse``: the readings are told to differ; ``directed``: four readings, each told to differ in
            one respect (family; period; qualifier and aggregation; scope).
        J: how many readings, at least 1; of ``directed`` at most 4.

    Raises:
        ValueError: more directed readings than there are respects.
    """

    def __init__(
        self,
        schema: DimensionSchema,
        serializer: Serializer | None = None,
        prompts: str = "default",
        arm: OneCall = "diverse",
        J: int = 4,
    ) -> None:
        super().__init__()
        self.serializer = serializer or Serializer()
        if arm == "directed" and J > 4:
            raise ValueError(f"directed readings differ in four respects, so J is at most 4, not {J}")
        make = directed_signature(schema, prompts) if arm == "directed" else None
        self.describe = dspy.Predict(make or diverse_signature(schema, J, prompts))

    async def aforward(self, fact: Fact, J: int, temperature: float, trace: Trace) -> list[Hypothesis | None]:
        """J readings of one call; only None where its replies did not parse."""
        answer = await ask_about(self.describe, trace, "generator", fact, self.serializer, temperature=0.0)
        if answer is None:
            return [None] * J
        return [Hypothesis(retrieval_query=text) for text in answer.readings()[:J]]
