"""Turn a :class:`~abduce.retrievers.base.Where` into positions of a collection, for every retriever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .base import Where
from .collection import Collection

Mask = npt.NDArray[np.bool_]
EVERYTHING = Where()


def applied_datatype(collection: Collection[Any], where: Where) -> str | None:
    """The datatype of the filter; None if it is missing or the collection does not declare it."""
    return where.datatype if where.datatype in collection.datatypes else None


def fell_back(collection: Collection[Any], where: Where | None) -> bool:
    """Whether a datatype filter was impossible, so that everything was searched.

    False if no filter was given (``where=None``), or if neither the filter nor the collection has datatypes
    (clinical codes, passages).
    """
    if where is None or applied_datatype(collection, where) is not None:
        return False
    return where.datatype is not None or bool(collection.datatypes)


def excluded(collection: Collection[Any], exclude: Sequence[tuple[str, str]]) -> Mask:
    """A mask (N,) of the items that one of the (field, value) pairs excludes."""
    mask = np.zeros(len(collection), dtype=np.bool_)
    for field, value in exclude:
        numbers, codes = collection.field_codes(field)
        if value in numbers:
            mask |= codes == numbers[value]
    return mask


def passing(collection: Collection[Any], where: Where | None) -> Mask | None:
    """A mask (N,) of the items that pass a filter, or None if all do."""
    where = where or EVERYTHING
    datatype = applied_datatype(collection, where)
    mask: Mask | None = None
    if datatype is not None:
        numbers, codes = collection.field_codes("datatype")
        mask = codes == numbers[datatype]
    if where.exclude:
        kept = ~excluded(collection, where.exclude)
        mask = kept if mask is None else mask & kept
    return mask
