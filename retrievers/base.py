"""The retrieval protocol: a batch of queries goes in, one :class:`Ranking` a query comes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Hit:
    """One place of a ranking. ``rank`` counts from 1; ``components`` are the parts of ``score``."""

    id: str
    score: float
    rank: int
    components: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Documents in order, best first, with their scores.

    ``scores`` and every array of ``components`` have shape ``(len(ids),)``. ``candidates`` is the
    number of documents that passed the filter (0: not known). ``fell_back`` says that the datatype
    filter did not apply (missing, or unknown to the taxonomy) and everything was searched, ``cut`` that the
    query was longer than what the encoder reads.
    """

    ids: Sequence[str]
    scores: Floats
    components: Mapping[str, Floats] = field(default_factory=dict)
    candidates: int = 0
    fell_back: bool = False
    cut: bool = False

    @classmethod
    def of(cls, ids: Sequence[str], scores: Sequence[float] | None = None, **kwargs: Any) -> Ranking:
        """A ranking from plain lists; without scores they fall from ``len(ids)`` to 1."""
        values = range(len(ids), 0, -1) if scores is None else scores
        return cls(list(ids), np.asarray(list(values), dtype=np.float64), **kwargs)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Hit]:
        for i, (id_, score) in enumerate(zip(self.ids, self.scores, strict=True)):
            parts = {name: float(values[i]) for name, values in self.components.items()}
            yield Hit(id_, float(score), i + 1, parts)

    @property
    def hits(self) -> list[Hit]:
        return list(self)

    def rank_of(self, id_: str) -> int | None:
        """The rank of a document, from 1, or None where it is absent."""
        try:
            return list(self.ids).index(id_) + 1
        except ValueError:
            return None

    def top(self, k: int) -> Ranking:
        """The first ``k`` places."""
        return self.take(range(min(k, len(self))))

    def take(self, order: Sequence[int]) -> Ranking:
        """The ranking of some places (from 0), in this order; scores and components go with their ids."""
        places = np.asarray(order, dtype=np.int64)
        parts = {name: values[places] for name, values in self.components.items()}
        ids = [self.ids[i] for i in order]
        return replace(self, ids=ids, scores=self.scores[places], components=parts)


@dataclass(frozen=True)
class Where:
    """A filter on documents. An empty one lets everything pass.

    ``datatype``: only documents of exactly this datatype; one that no document declares (or None)
    means no restriction, and the ranking says ``fell_back``. ``exclude``: pairs (field, value); a
    document whose field has that value is left out (a fact's own filing, say).
    """

    datatype: str | None = None
    exclude: tuple[tuple[str, str], ...] = ()


@runtime_checkable
class Retriever(Protocol):
    """What every retriever does. Implementations are safe to call from several threads."""

    def search(
        self, queries: Sequence[str], k: int, where: Sequence[Where | None] | None = None
    ) -> list[Ranking]:
        """Rank documents for each query.

        Args:
            queries: any texts. Where words are compared, one without a known word finds nothing.
            k: how many places at most, at least 1; fewer come back where fewer documents are found.
            where: one filter per query, or None for no filter at all.

        Raises:
            ValueError: ``k`` below 1, or ``where`` of another length than ``queries``.
        """
        ...


def check_search(queries: Sequence[str], k: int, where: Sequence[Where | None] | None) -> None:
    """Raise ValueError for arguments that no retriever can answer."""
    if isinstance(queries, str):
        raise ValueError("queries must be a list of texts, not one text")
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    if where is not None and len(where) != len(queries):
        raise ValueError(f"{len(where)} filters for {len(queries)} queries: give one per query")
