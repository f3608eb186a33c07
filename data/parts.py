"""The parts that the rows of an experiment share: retrievers, schema, serializer, precedents; corpus and
reranker.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..programs.methods import Parts
from ..programs.profiles import Profiles
from ..retrievers.corpus import Corpus
from ..retrievers.errors import InputError
from ..retrievers.precedents.index import Precedents
from ..retrievers.settings import BuiltRetrievers
from ..retrievers.taxonomy import Taxonomy
from ..signatures.dimensions import DimensionSchema, load_schema
from .domains import Domain

if TYPE_CHECKING:  # programs that answer questions are imported where questions are asked
    from ..programs.rag.presets import RAGParts
    from ..programs.rag.rerank import PairScorer


def make_parts(
    taxonomy: Taxonomy,
    domain: Domain,
    retriever: Mapping[str, Any],
    schema: DimensionSchema | None = None,
    precedents: Callable[[], Precedents] | None = None,
) -> Parts:
    """The shared parts of rows over one taxonomy."""
    schema = schema or load_schema(domain.schema)
    return Parts(
        BuiltRetrievers(taxonomy, retriever),
        taxonomy,
        schema,
        domain.serializer,
        Profiles(schema, taxonomy),
        precedents=precedents,
    )


def make_rag_parts(
    corpus: Corpus, retriever: Mapping[str, Any], reranker: Mapping[str, Any] | None = None
) -> RAGParts:
    """The shared parts of rows over one corpus; the cross-encoder is loaded on first use."""
    from ..programs.rag.presets import RAGParts

    built: list[PairScorer] = []
    lock = threading.Lock()

    def scorer() -> PairScorer:
        with lock:
            if not built:
                built.append(cross_encoder(reranker or {}))
            return built[0]

    return RAGParts(BuiltRetrievers(corpus, retriever), corpus, scorer)


def cross_encoder(settings: Mapping[str, Any]) -> PairScorer:
    """The cross-encoder of a ``[reranker]`` table: model (default BAAI/bge-reranker-v2-m3), batch (16),
    tokens (512), device.

    Raises:
        InputError: an unknown setting.
    """
    from ..retrievers.rerank import CrossEncoderScorer

    try:
        return CrossEncoderScorer(**settings)
    except TypeError as e:
        raise InputError(str(e), field="reranker") from e
