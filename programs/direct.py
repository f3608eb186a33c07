"""Direct retrieval: the serialised fact is the query, verbatim (paper: Appendix C.1)."""

from __future__ import annotations

import dspy

from ..signatures.types import Fact
from .base import Program
from .trace import Query


class Direct(Program):
    """Identifier + the visible text of the whole source context; no model call, one retrieval."""

    async def aforward(self, fact: Fact) -> dspy.Prediction:
        """The top K concepts for the serialised fact."""
        trace = self.start()
        (ranking,) = self.search(fact, [Query(self.serializer.direct(fact), "direct")], trace)
        return self.answer(ranking, trace)
