"""Evidence per option (ours): every option is searched for by itself, so that none goes without a hearing."""

from __future__ import annotations

from ...signatures.types import Question
from ..trace import Trace
from .base import RAG
from .context import Fused, fuse_queries


class OptionEvidence(RAG):
    """One query per option, named by its key, and one of the whole question. Their places are taken in turn:
    the first of each, then the second, until ``B_max`` passages are found.

    No model plans and no option is preferred. A question without options is its own only query.
    """

    async def retrieve(self, question: Question, trace: Trace) -> Fused:
        queries = {**question.options, "question": question.text}
        found = self.search(queries, self.config.B_max, trace)
        return fuse_queries(found, self.passages, self.config.B_max, in_turn=True)
