"""Locus retrieval, abduce's own row: what stands at the locus is the query."""

from __future__ import annotations

import dspy

from ..signatures.types import Fact
from .base import Program
from .trace import Query


class Locus(Program):
    """Identifier + row and column header of a cell, or + the text around a mention; one retrieval."""

    async def aforward(self, fact: Fact) -> dspy.Prediction:
        """The top K concepts for what stands at the locus."""
        trace = self.start()
        (ranking,) = self.search(fact, [Query(self.serializer.locus(fact), "locus")], trace)
        return self.answer(ranking, trace)
