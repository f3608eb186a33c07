"""Free-text interpretations: a description of a fact, one field, no dimensions (paper: C.1)."""

from __future__ import annotations

from functools import partial

import dspy

from ..signatures.dimensions import DimensionSchema
from ..signatures.grounding import describe_signature, varied_signature
from ..signatures.types import Fact, Hypothesis
from .calls import ask_about, fan_out
from .serialize import Serializer
from .trace import Trace


class Describer(dspy.Module):
    """J descriptions of a fact, drawn at the same time.

    Args:
        schema: words of the prompt.
        serializer: how the evidence is written down.
        prompts: name or path of the prompt set.
        varied: forced variation: each sample is told which of how many it is and to be distinct.
        headers: show the row and column header of a cell.

    Raises:
        ValueError: forced variation without headers, which no method has.
    """

    def __init__(
        self,
        schema: DimensionSchema,
        serializer: Serializer | None = None,
        prompts: str = "default",
        varied: bool = False,
        headers: bool = True,
    ) -> None:
        super().__init__()
        self.serializer = serializer or Serializer()
        self.varied = varied
        if varied and not headers:
            raise ValueError("a sample of the forced-variation arm sees the headers")
        self.describe = dspy.Predict(
            varied_signature(schema, prompts) if varied else describe_signature(schema, prompts, headers)
        )

    def forward(self, fact: Fact, J: int, temperature: float, trace: Trace) -> list[Hypothesis | None]:
        return fan_out([partial(self.sample, fact, j, J, temperature, trace) for j in range(J)])

    def sample(self, fact: Fact, j: int, J: int, temperature: float, trace: Trace) -> Hypothesis | None:
        """Description ``j`` of ``J``, or None where its replies did not parse."""
        told = {"sample": f"sample {j + 1} of {J}"} if self.varied else {}
        answer = ask_about(
            self.describe,
            trace,
            "generator",
            fact,
            self.serializer,
            index=j,
            temperature=temperature,
            inputs=told,
        )
        return None if answer is None else Hypothesis(retrieval_query=answer.description)
