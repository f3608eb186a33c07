"""A search restricted to some concepts of a taxonomy, whatever the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...programs.methods import Parts, build
from ...programs.spec import Spec
from ...retrievers.base import Ranking, Retriever, Where
from ...retrievers.taxonomy import Taxonomy


class Within:
    """A retriever that answers with some concepts alone.

    The whole taxonomy is ranked and the others are left out, so that every concept keeps the score that it
    has in the whole ranking, however deep it stands there.

    Args:
        retriever: searches the whole taxonomy.
        size: how many concepts that has.
        ids: those that may be answered.
    """

    def __init__(self, retriever: Retriever, size: int, ids: Iterable[str]) -> None:
        self.retriever, self.size, self.ids = retriever, size, frozenset(ids)

    def __deepcopy__(self, memo: dict[int, Any]) -> Within:
        return self

    def search(
        self, queries: Sequence[str], k: int, where: Sequence[Where | None] | None = None
    ) -> list[Ranking]:
        """Rank the concepts for each query; see :class:`~abduce.retrievers.base.Retriever`."""
        return [self._kept(whole, k) for whole in self.retriever.search(queries, self.size, where)]

    def _kept(self, whole: Ranking, k: int) -> Ranking:
        keep = [i for i, id_ in enumerate(whole.ids) if id_ in self.ids][:k]
        parts = {name: values[keep] for name, values in whole.components.items()}
        ids = [whole.ids[i] for i in keep]
        return Ranking(ids, whole.scores[keep], parts, len(self.ids), whole.fell_back)


def build_within(spec: Spec, parts: Parts, ids: Sequence[str]) -> Any:
    """The program of a spec over some concepts of its parts' taxonomy alone.

    Args:
        spec, parts: as for :func:`~abduce.programs.methods.build`.
        ids: at least one concept of the taxonomy.
    """
    whole = parts.taxonomy
    some = Taxonomy([whole[id_] for id_ in ids], whole.name, whole.indexed)

    def retriever(changes: Mapping[str, Any]) -> Retriever:
        return Within(parts.retriever(changes), len(whole), ids)

    return build(spec, replace(parts, retriever=retriever, taxonomy=some))
