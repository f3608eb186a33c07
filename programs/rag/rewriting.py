"""Rewriting: exactly three paraphrase queries, top 5 each, union (paper: 4.3, B.4)."""

from __future__ import annotations

from typing import Any

import dspy

from ...retrievers.base import Retriever
from ...signatures.hcqr import Paraphrase, ParaphraseWithOptions, cut_short
from ...signatures.options import Choices
from ...signatures.types import Question
from ..calls import ask
from ..stages import Stage
from ..trace import Trace
from .base import RAG
from .config import RewritingConfig
from .context import CountTokens, Fused, Passages, estimate_tokens, fuse_queries


class Rewriting(RAG):
    """Multi-query rewriting without a hypothesis; ``options`` shows the answer options to the rewriter
    (the control of Table 5)."""

    config: RewritingConfig

    def __init__(
        self,
        retriever: Retriever,
        passages: Passages,
        config: RewritingConfig | None = None,
        count: CountTokens = estimate_tokens,
    ) -> None:
        super().__init__(retriever, passages, config or RewritingConfig(), count)
        self.rewrite = dspy.Predict(ParaphraseWithOptions if self.config.options else Paraphrase)

    async def retrieve(self, question: Question, trace: Trace) -> Fused:
        inputs: dict[str, Any] = {"question": question.text}
        if self.config.options:
            inputs["options"] = str(Choices.of(question.options))
        with trace.timed("rewrite"):
            queries = await ask(self.rewrite, trace, Stage.REWRITE, **inputs)
        if queries is None:
            return self.fall_back(question, trace)
        named = {"q1": queries.query_1, "q2": queries.query_2, "q3": queries.query_3}
        trace.count("cut_queries", cut_short(named.values()))
        return fuse_queries(
            self.search(named, self.config.per_query, trace), self.passages, self.config.B_max
        )
