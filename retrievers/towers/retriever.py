"""Towers as a first stage: a query counts as a row header or a mention."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..base import Ranking, Where, check_search
from ..errors import InputError
from ..filters import fell_back, passing
from ..remade import Remade
from ..taxonomy import Taxonomy
from .features import header_blocks, mention_blocks
from .model import best
from .store import open_towers


class TowerRetriever(Remade):
    """Ranks concepts by the towers' probability for a text without any context.

    Scores are logarithms of probabilities within the datatype. A query without a known word finds nothing.
    Safe to call from several threads.

    Args:
        taxonomy: the taxonomy to search, which the model was trained for.
        model: a model folder (``abduce train``).

    Raises:
        InputError: no such model, or a model for other concepts.
    """

    def __init__(self, taxonomy: Taxonomy, model: str | Path) -> None:
        self.taxonomy = taxonomy
        self.towers, self.worded = open_towers(model)
        if self.towers.ids.tolist() != taxonomy.ids:
            raise InputError(f"was trained for other concepts than those of {taxonomy.name}", file=model)

    def search(
        self, queries: Sequence[str], k: int, where: Sequence[Where | None] | None = None
    ) -> list[Ranking]:
        """See :class:`~abduce.retrievers.base.Retriever`."""
        check_search(queries, k, where)
        return [
            self._one(query, k, w) for query, w in zip(queries, where or [None] * len(queries), strict=True)
        ]

    def _one(self, query: str, k: int, where: Where | None) -> Ranking:
        unfiltered = where is None or where.datatype is None or fell_back(self.taxonomy, where)
        datatype = None if unfiltered or where is None else where.datatype
        blocks = mention_blocks(query) if self.worded else header_blocks(query, datatype)[:1]
        known = len(self.towers.vocabulary.bag(blocks)[0])
        if not self.worded:
            blocks = header_blocks(query, datatype)
        rows, scores = self.towers.probabilities(blocks, datatype)
        mask = None if where is None else passing(self.taxonomy, where)
        if mask is not None:
            keep = mask[rows]
            rows, scores = rows[keep], scores[keep]
        top = best(scores, k) if known else np.zeros(0, dtype=np.int64)
        fell = where is not None and fell_back(self.taxonomy, where)
        return Ranking(self.towers.ids[rows[top]].tolist(), scores[top], {}, len(rows), fell)
