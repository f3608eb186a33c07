"""HyDE: the mean of hypothetical documents and the question as query vector (paper: 4.3, B.5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable

import dspy
import numpy as np
import numpy.typing as npt

from ...retrievers.base import Ranking, Retriever
from ...retrievers.encoders import cut_queries
from ...signatures.hcqr import WriteHypotheticalPassage
from ...signatures.types import Question
from ..calls import ask
from ..running import at_once
from ..stages import Stage
from ..trace import Query, Trace
from .base import RAG, as_is
from .config import HyDEConfig
from .context import CountTokens, Fused, Passages, estimate_tokens

Vectors = npt.NDArray[Any]


class TwoEncoders(Protocol):
    """Texts to vectors; ``pairs`` says that documents are given as (title, content) pairs."""

    @property
    def pairs(self) -> bool: ...
    def encode_queries(self, texts: Sequence[str]) -> Vectors: ...
    def encode_documents(self, texts: Sequence[Any]) -> Vectors: ...


@runtime_checkable
class VectorRetriever(Protocol):
    """A dense retriever, as HyDE needs it: its encoders and a search by vector."""

    @property
    def encoder(self) -> TwoEncoders: ...
    def search_by_vector(self, vectors: Vectors, k: int) -> list[Ranking]: ...


class HyDE(RAG):
    """Eight hypothetical documents at temperature 0.7; the mean of their vectors and the question's is the
    query.

    The documents go through the article encoder and the question through the query encoder (our reading;
    the paper does not say). A dropped document is left out of the mean; with none left the mean is the
    question's vector, that is Simple RAG, and ``direct_fallback`` is counted.

    With a retriever that has no vectors the mean is taken over scores: the inner product with a mean vector
    is the mean of the inner products, so the document score is the mean of its scores for the question and
    for each hypothetical document (``lexical_depth`` places each, absent is 0). ``lexical_hyde`` is counted.
    """

    config: HyDEConfig

    def __init__(
        self,
        retriever: Retriever,
        passages: Passages,
        config: HyDEConfig | None = None,
        count: CountTokens = estimate_tokens,
    ) -> None:
        super().__init__(retriever, passages, config or HyDEConfig(), count)
        self.imagine = dspy.Predict(WriteHypotheticalPassage)

    async def retrieve(self, question: Question, trace: Trace) -> Fused:
        thunks = [partial(self._imagine, question, i, trace) for i in range(self.config.documents)]
        with trace.timed("hyde"):
            written = [text for text in await at_once(thunks) if text is not None]
        trace.notes["hypothetical_documents"] = written
        if not written:
            trace.count("direct_fallback")
        with trace.timed("retrieve"):
            if isinstance(self.retriever, VectorRetriever):
                trace.count("cut_queries", sum(cut_queries(self.retriever.encoder, [question.text])))
                vector = mean_vector(self.retriever.encoder, question.text, written)
                ranking = self.retriever.search_by_vector(vector, self.config.B_max)[0]
            else:
                trace.count("lexical_hyde")
                ranking = self._mean_scores([question.text, *written])
        trace.retrieved([Query(question.text, "hyde")], [ranking])
        return as_is(ranking, "hyde")

    async def _imagine(self, question: Question, index: int, trace: Trace) -> str | None:
        reply = await ask(
            self.imagine,
            trace,
            Stage.HYDE,
            index=index,
            temperature=self.config.temperature,
            question=question.text,
        )
        return None if reply is None else str(reply.passage)

    def _mean_scores(self, texts: Sequence[str]) -> Ranking:
        total: defaultdict[str, float] = defaultdict(float)
        for ranking in self.retriever.search(texts, max(self.config.lexical_depth, self.config.B_max)):
            for id_, score in zip(ranking.ids, ranking.scores, strict=True):
                total[id_] += float(score)
        best = sorted(total.items(), key=lambda item: (-item[1], item[0]))[: self.config.B_max]
        return Ranking.of([id_ for id_, _ in best], [score / len(texts) for _, score in best])


def mean_vector(encoder: TwoEncoders, question: str, documents: Sequence[str]) -> Vectors:
    """The mean of the question's vector and the documents', shape (1, dimensions), float32.

    A hypothetical document has no title: an encoder of pairs gets an empty one.
    """
    vectors = [np.asarray(encoder.encode_queries([question]), dtype=np.float32)]
    if documents:
        texts = [("", d) for d in documents] if encoder.pairs else list(documents)
        vectors.append(np.asarray(encoder.encode_documents(texts), dtype=np.float32))
    mean: Vectors = np.concatenate(vectors).mean(axis=0, keepdims=True)
    return mean
