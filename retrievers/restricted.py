"""Retrievers over a part of a taxonomy: some concepts, or the concepts of some datatypes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Collection as Values
from dataclasses import replace
from typing import Any

from .base import Ranking, Retriever, Where
from .filters import fell_back
from .remade import Remade
from .taxonomy import Taxonomy

ABSTRACT = (("abstract", "True"), ("abstract", "true"))
"""What says of a concept that it only orders others and has no value."""


def not_among(taxonomy: Taxonomy, datatypes: Values[str]) -> tuple[tuple[str, str], ...]:
    """The (field, value) pairs that exclude abstract concepts and those without one of the given datatypes.

    Datatypes have no effect if the taxonomy declares none of the given ones.
    """
    if not any(d in taxonomy.datatypes for d in datatypes):
        return ABSTRACT
    others = sorted(d for d in taxonomy.datatypes if d not in datatypes)
    return (*(("datatype", d) for d in (*others, "None")), *ABSTRACT)


class Narrowed(Remade):
    """Searches as ``inner`` does, but without the documents of ``exclude`` where a query has no datatype that
    the taxonomy declares. Such rankings still say ``fell_back``; ``candidates`` counts what was searched.

    Args:
        inner: a retriever over ``taxonomy``.
        taxonomy: the taxonomy that declares the datatypes.
        exclude: pairs (field, value), see :func:`not_among`.
    """

    def __init__(self, inner: Retriever, taxonomy: Taxonomy, exclude: Sequence[tuple[str, str]]) -> None:
        self.inner, self.taxonomy, self.exclude = inner, taxonomy, tuple(exclude)

    def search(
        self, queries: Sequence[str], k: int, where: Sequence[Where | None] | None = None
    ) -> list[Ranking]:
        """See :class:`~abduce.retrievers.base.Retriever`."""
        if where is not None:
            where = [self._narrow(w) for w in where]
        return self.inner.search(queries, k, where)

    def _narrow(self, where: Where | None) -> Where | None:
        if where is None or not fell_back(self.taxonomy, where):
            return where
        return replace(where, exclude=(*where.exclude, *self.exclude))


Make = Callable[[Mapping[str, Any]], Retriever]


def narrowed(make: Make, taxonomy: Taxonomy, datatypes: Values[str]) -> Make:
    """A function that makes retrievers from settings, narrowed to some datatypes if a query has none."""
    exclude = not_among(taxonomy, datatypes)
    return lambda settings: Narrowed(make(settings), taxonomy, exclude)


class Within(Remade):
    """A retriever that returns only some concepts.

    The whole taxonomy is ranked and the others are left out, so every concept keeps its score in the whole
    ranking, at any depth.

    Args:
        retriever: searches the whole taxonomy.
        size: the number of concepts in the whole taxonomy.
        ids: the concepts that may be returned.
    """

    def __init__(self, retriever: Retriever, size: int, ids: Iterable[str]) -> None:
        self.retriever, self.size, self.ids = retriever, size, frozenset(ids)

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
