"""The retrieval protocol: a batch of queries in, one :class:`Ranking` per query out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, overload, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..signatures.html import html_table

if TYPE_CHECKING:
    import pandas

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Hit:
    """One position of a ranking. ``rank`` counts from 1; ``components`` are the parts of ``score``."""

    id: str
    score: float
    rank: int
    components: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Sequence[Hit]):
    """Documents with their scores, best first: a sequence of :class:`Hit`. A slice is a ranking whose ranks
    count from 1 again.

    ``scores`` and every array of ``components`` have shape ``(len(ids),)``. ``candidates`` is the number of
    documents that passed the filter (0: unknown). ``fell_back``: the datatype filter did not apply (missing,
    or unknown to the taxonomy) and everything was searched. ``cut``: the query was longer than the encoder
    reads.
    """

    ids: Sequence[str]
    scores: Floats
    components: Mapping[str, Floats] = field(default_factory=dict)
    candidates: int = 0
    fell_back: bool = False
    cut: bool = False

    @classmethod
    def of(cls, ids: Sequence[str], scores: Sequence[float] | None = None, **kwargs: Any) -> Ranking:
        """A ranking from plain lists; default scores fall from ``len(ids)`` to 1."""
        values = range(len(ids), 0, -1) if scores is None else scores
        return cls(list(ids), np.asarray(list(values), dtype=np.float64), **kwargs)

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> Ranking: ...
    def __getitem__(self, index: int | slice) -> Hit | Ranking:
        if isinstance(index, slice):
            return self.take(range(*index.indices(len(self))))
        place = range(len(self))[index]
        parts = {name: float(values[place]) for name, values in self.components.items()}
        return Hit(self.ids[place], float(self.scores[place]), place + 1, parts)

    def __contains__(self, found: object) -> bool:
        """Whether a document (by its id) or a hit is in it."""
        return found in self.ids if isinstance(found, str) else any(hit == found for hit in self)

    def __repr__(self) -> str:
        first = ", ".join(f"{hit.id} {hit.score:.3f}" for hit in self[:3])
        more = ", ..." if len(self) > 3 else ""
        return f"<Ranking of {len(self)}: {first}{more}>"

    def __iter__(self) -> Iterator[Hit]:
        for i, (id_, score) in enumerate(zip(self.ids, self.scores, strict=True)):
            parts = {name: float(values[i]) for name, values in self.components.items()}
            yield Hit(id_, float(score), i + 1, parts)

    def rank_of(self, id_: str) -> int | None:
        """The rank of a document, from 1, or None if it is absent."""
        try:
            return list(self.ids).index(id_) + 1
        except ValueError:
            return None

    def toDict(self) -> dict[str, Any]:
        """Plain values for JSON: every field, arrays as lists."""
        arrays = {name: values.tolist() for name, values in self.components.items()}
        plain = {name: getattr(self, name) for name in ("candidates", "fell_back", "cut")}
        return {"ids": list(self.ids), "scores": self.scores.tolist(), "components": arrays, **plain}

    def to_json(self) -> str:
        """One JSON object; see :meth:`toDict`."""
        return json.dumps(self.toDict(), ensure_ascii=False)

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame with ``rank``, ``id``, ``score`` and a column per component."""
        import pandas

        rows = [{"rank": h.rank, "id": h.id, "score": h.score, **h.components} for h in self]
        return pandas.DataFrame(rows, columns=["rank", "id", "score", *self.components])

    def _repr_html_(self) -> str:
        rows = ([h.rank, h.id, h.score, *h.components.values()] for h in self)
        return html_table(["rank", "id", "score", *self.components], rows, size=len(self))

    def top(self, k: int) -> Ranking:
        """The first ``k`` positions."""
        return self.take(range(min(k, len(self))))

    def take(self, order: Sequence[int]) -> Ranking:
        """The ranking of some positions (from 0), in this order, with their scores and components."""
        places = np.asarray(order, dtype=np.int64)
        parts = {name: values[places] for name, values in self.components.items()}
        ids = [self.ids[i] for i in order]
        return replace(self, ids=ids, scores=self.scores[places], components=parts)


@dataclass(frozen=True)
class Where:
    """A filter on documents. An empty filter lets every document pass.

    ``datatype``: only documents of exactly this datatype. None, or a datatype that no document declares,
    means no restriction, and the ranking says ``fell_back``. ``exclude``: pairs (field, value); documents
    with that value in the field are left out (for example a fact's own filing).
    """

    datatype: str | None = None
    exclude: tuple[tuple[str, str], ...] = ()


@runtime_checkable
class Retriever(Protocol):
    """The interface of every retriever. Implementations are safe to call from several threads."""

    def search(
        self, queries: Sequence[str], k: int, where: Sequence[Where | None] | None = None
    ) -> list[Ranking]:
        """Rank documents for each query.

        Args:
            queries: any texts. A retriever that compares words finds nothing for a query without a known
                word.
            k: the most positions, at least 1; fewer are returned if fewer documents are found.
            where: one filter per query, or None for no filter at all.

        Raises:
            ValueError: ``k`` below 1, or ``where`` of another length than ``queries``.
        """
        ...


def check_search(queries: Sequence[str], k: int, where: Sequence[Where | None] | None) -> None:
    """Raise ValueError for invalid arguments."""
    if isinstance(queries, str):
        raise ValueError("queries must be a list of texts, not one text")
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    if where is not None and len(where) != len(queries):
        raise ValueError(f"{len(where)} filters for {len(queries)} queries: give one per query")
