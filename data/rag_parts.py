"""What the rows of one question experiment share."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from ..programs.rag.presets import RAGParts
from ..retrievers.corpus import Corpus
from ..retrievers.errors import InputError
from ..retrievers.passages import PassageRetrievers


def cross_encoder(settings: Mapping[str, Any]) -> Any:
    """The cross-encoder of a ``[reranker]`` table: model (default BAAI/bge-reranker-v2-m3), batch (16),
    tokens (512), device."""
    from ..retrievers.rerank import CrossEncoderScorer

    try:
        return CrossEncoderScorer(**settings)
    except TypeError as e:
        raise InputError(str(e), field="reranker") from e


def make_rag_parts(
    corpus: Corpus, retriever: Mapping[str, Any], reranker: Mapping[str, Any] | None = None
) -> RAGParts:
    """What the rows of one experiment share."""
    built: list[Any] = []
    lock = threading.Lock()

    def scorer() -> Any:
        with lock:
            if not built:
                built.append(cross_encoder(reranker or {}))
            return built[0]

    return RAGParts(PassageRetrievers(corpus, retriever), corpus, scorer)
