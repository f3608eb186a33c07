"""Rerank-RAG: 150 candidates by the raw question, a cross-encoder, the top 15 (paper: 4.3, B.6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ...retrievers.base import Ranking, Retriever
from ...signatures.types import Question
from ..trace import Query, Trace
from .base import RAG, as_is
from .config import RerankConfig
from .context import CountTokens, Fused, Passages, estimate_tokens


class PairScorer(Protocol):
    """A cross-encoder: one score for each (query, document) pair, higher is better
    (``retrievers.rerank.CrossEncoderScorer``)."""

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> Any: ...


class RerankRAG(RAG):
    """The raw question retrieves a pool, the cross-encoder orders it, the top ``B_max`` are the context.

    Equal scores keep the first stage's order.

    Args:
        reranker: scores (question, title and content) pairs.
    """

    config: RerankConfig

    def __init__(
        self,
        retriever: Retriever,
        passages: Passages,
        reranker: PairScorer,
        config: RerankConfig | None = None,
        count: CountTokens = estimate_tokens,
    ) -> None:
        super().__init__(retriever, passages, config or RerankConfig(), count)
        self.reranker = reranker

    async def retrieve(self, question: Question, trace: Trace) -> Fused:
        depth = max(self.config.pool, self.config.B_max)
        pool = self.search({"question": question.text}, depth, trace)["question"]
        if not len(pool):
            return as_is(pool, "rerank")
        found = [self.passages[id_] for id_ in pool.ids]
        with trace.timed("rerank"):
            pairs = [(question.text, f"{p.title} {p.content}".strip()) for p in found]
            scores = [float(s) for s in self.reranker(pairs)]
        order = sorted(range(len(pool)), key=lambda i: (-scores[i], i))[: self.config.B_max]
        ranking = Ranking.of([pool.ids[i] for i in order], [scores[i] for i in order])
        trace.rankings.append(ranking)
        trace.queries.append(Query(question.text, "rerank"))
        return as_is(ranking, "rerank")
