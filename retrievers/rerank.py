"""Rerank a first stage with a cross-encoder (Rerank-RAG)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .base import Ranking, Retriever, Where, check_search
from .collection import Collection
from .encoders import check_model_folder
from .errors import InputError, MissingExtra
from .remade import Remade

DEFAULT_MODEL = "BAAI/bge-reranker-v2-m3"


class PairScorer(Protocol):
    """Scores (query, document) pairs; higher is better."""

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> npt.ArrayLike:
        """Scores, one per pair."""
        ...


class CrossEncoderScorer(Remade):
    """A sentence-transformers cross-encoder with one output; scores are its logits.

    Args:
        model: model folder or hub name.
        batch: pairs per forward pass.
        tokens: longest pair, in tokens; the rest is cut off.
        device: ``cpu``, ``cuda``, ...; None: a GPU if there is one.

    Raises:
        MissingExtra: sentence-transformers is not installed.
        InputError: a folder without a model, a model that cannot be loaded, or with several outputs.
    """

    def __init__(
        self, model: str | Path = DEFAULT_MODEL, batch: int = 16, tokens: int = 512, device: str | None = None
    ) -> None:
        check_model_folder(model)
        try:
            import torch
            from sentence_transformers import CrossEncoder
        except ImportError as e:
            raise MissingExtra("sentence-transformers", "dense") from e
        try:
            self._model = CrossEncoder(str(model), max_length=tokens, device=device)
        except (OSError, ValueError, KeyError, RuntimeError) as e:
            reason = (str(e).strip() or type(e).__name__).splitlines()[0]
            raise InputError(f"the model {str(model)!r} cannot be loaded: {reason}", field="model") from e
        outputs = int(self._model.config.num_labels)
        if outputs != 1:
            raise InputError(f"the model {str(model)!r} has {outputs} outputs, not 1", field="model")
        if str(self._model.device).startswith("cuda"):
            self._model.half()
        self._batch = batch
        self._identity = torch.nn.Identity()
        self._lock = threading.Lock()  # a fast tokenizer may not be used by two threads at once

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> npt.ArrayLike:
        with self._lock:
            scores: npt.ArrayLike = self._model.predict(
                list(pairs), batch_size=self._batch, show_progress_bar=False, activation_fn=self._identity
            )
        return scores

    def scores(self, query: str, documents: Sequence[str]) -> npt.ArrayLike:
        """Scores of one query's documents."""
        return self([(query, document) for document in documents]) if documents else []


class RerankRetriever(Remade):
    """The first stage's best documents in the order of a pair scorer.

    Args:
        first: any retriever over ``collection``.
        collection: the source of the documents' texts.
        scorer: scores (query, document text) pairs.
        depth: the number of first-stage documents to score.

    If more than ``depth`` positions are requested, the rest of the first stage follows in its own order, with
    scores that fall by 1 per position. Ties keep the first stage's order. Components are the first stage's
    rank (``rank_first``) and score (``score_first``).

    Raises:
        ValueError: ``depth`` below 1.
    """

    def __init__(
        self, first: Retriever, collection: Collection[Any], scorer: PairScorer, depth: int = 150
    ) -> None:
        if depth < 1:
            raise ValueError(f"depth must be at least 1, not {depth}")
        self.first, self.collection, self.scorer, self.depth = first, collection, scorer, depth

    def search(
        self, queries: Sequence[str], k: int, where: Sequence[Where | None] | None = None
    ) -> list[Ranking]:
        """Rank documents for each query; see :class:`~abduce.retrievers.base.Retriever`.

        Raises:
            InputError: the scorer gives a score that is not finite.
        """
        check_search(queries, k, where)
        rankings = self.first.search(queries, max(k, self.depth), where)
        pairs = [
            (query, self.collection.document(self.collection[id_]))
            for query, ranking in zip(queries, rankings, strict=True)
            for id_ in ranking.ids[: self.depth]
        ]
        scores = np.asarray(self.scorer(pairs), dtype=np.float64).reshape(-1) if pairs else np.zeros(0)
        if len(scores) != len(pairs) or not np.isfinite(scores).all():
            raise InputError("the reranker's scores are not finite numbers, one a pair")
        answers, start = [], 0
        for ranking in rankings:
            n = min(self.depth, len(ranking))
            answers.append(self._reorder(ranking, scores[start : start + n]).top(k))
            start += n
        return answers

    def _reorder(self, ranking: Ranking, scores: npt.NDArray[np.float64]) -> Ranking:
        n, total = len(scores), len(ranking)
        order = np.concatenate([np.argsort(-scores, kind="stable"), np.arange(n, total)])
        floor = scores.min() if n else 0.0
        merged = np.concatenate([scores[order[:n]], floor - np.arange(1, total - n + 1)])
        parts = {"rank_first": order + 1.0, "score_first": ranking.scores[order]}
        ids = [ranking.ids[i] for i in order.tolist()]
        return Ranking(ids, merged, parts, ranking.candidates, ranking.fell_back, ranking.cut)
