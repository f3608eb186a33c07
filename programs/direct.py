"""Direct retrieval: the serialised fact is the query, verbatim (paper: Appendix C.1)."""

from __future__ import annotations

import dspy

from ..signatures.types import Fact
from .base import Program
from .trace import Query


class Direct(Program):
    """Identifier + the visible text of the whole source context; no model call, one retrieval."""

    def forward(self, fact: Fact) -> dspy.Prediction:
        trace = self.start()
        (ranking,) = self.search(fact, [Query(self.serializer.direct(fact), "direct")], trace)
        return self.answer(ranking, trace)
