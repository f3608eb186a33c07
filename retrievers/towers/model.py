"""Trained towers: vectors of loci and concepts, stored as 8-bit integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...signatures.types import Fact
from ..base import Floats
from .features import Blocks, blocks_of
from .vocabulary import Vocabulary

Bytes = npt.NDArray[np.int8]
Vectors = npt.NDArray[np.float32]


class Quantised:
    """Vectors of shape (n, dimensions) as 8-bit integers, each with its own scale."""

    def __init__(self, values: Bytes, scales: Vectors) -> None:
        self.values, self.scales = values, scales

    @classmethod
    def of(cls, vectors: Vectors) -> Quantised:
        largest = np.abs(vectors).max(axis=1, initial=0.0)
        scales = np.where(largest > 0, largest / 127, 1.0).astype(np.float32)
        return cls(np.rint(vectors / scales[:, None]).astype(np.int8), scales)

    def __len__(self) -> int:
        return len(self.scales)

    def __getitem__(self, rows: Any) -> Vectors:
        found: Vectors = self.values[rows].astype(np.float32) * self.scales[rows][:, None]
        return found


class Towers:
    """Two towers over one taxonomy.

    Args:
        names: the features of loci, distinct.
        features: their vectors.
        ids: the concepts.
        concepts: their vectors.
        seen: which of them have tagged facts, shape (concepts,).
        groups: the datatype of each concept, shape (concepts,); softmax stays within one.

    Safe to share between threads.
    """

    def __init__(
        self,
        names: Sequence[str],
        features: Quantised,
        ids: Sequence[str],
        concepts: Quantised,
        seen: npt.NDArray[np.bool_],
        groups: Sequence[str],
    ) -> None:
        self.names, self.features, self.concepts = names, features, concepts
        self.ids = np.array(list(ids), dtype=object)
        self.seen = np.asarray(seen, dtype=bool)
        self.groups = list(groups)
        self._right: dict[str, Vectors] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Towers:
        return self

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(list(self.names))

    @cached_property
    def place(self) -> Mapping[str, int]:
        """The row of each concept."""
        return {id_: i for i, id_ in enumerate(self.ids.tolist())}

    @cached_property
    def members(self) -> Mapping[str, npt.NDArray[np.int64]]:
        """The rows of each datatype's concepts; ``""`` has all."""
        codes = np.array(self.groups, dtype=object)
        found = {group: np.flatnonzero(codes == group) for group in dict.fromkeys(self.groups)}
        return {**found, "": np.arange(len(codes))}

    def vector(self, blocks: Blocks) -> Vectors:
        """The vector of a bag of features, shape (dimensions,)."""
        columns, weights = self.vocabulary.bag(blocks)
        found: Vectors = (
            weights @ self.features[columns] if len(columns) else np.zeros(self.width, np.float32)
        )
        return found

    def knows(self, blocks: Blocks) -> float:
        """The share, in [0, 1], of the distinct features of a bag that are known."""
        features = {feature for block in blocks for feature in block}
        known = sum(feature in self.vocabulary.columns for feature in features)
        return known / max(1, len(features))

    @property
    def width(self) -> int:
        return int(self.features.values.shape[1])

    def probabilities(self, blocks: Blocks, datatype: str | None) -> tuple[npt.NDArray[np.int64], Floats]:
        """The rows of the datatype's concepts (all concepts if it has none), and the logarithms of their
        probabilities, in row order.
        """
        group = datatype if datatype in self.members else ""
        rows = self.members[group or ""]
        if group not in self._right:
            self._right[group or ""] = self.concepts[rows]
        scores = (self._right[group or ""] @ self.vector(blocks)).astype(np.float64)
        scores -= scores.max(initial=0.0)
        scores -= np.log(np.exp(scores).sum()) if len(scores) else 0.0
        return rows, scores

    def of_fact(self, fact: Fact) -> tuple[npt.NDArray[np.int64], Floats]:
        """:meth:`probabilities` of a fact's locus within its datatype."""
        return self.probabilities(blocks_of(fact), fact.datatype)


def best(scores: Floats, k: int) -> npt.NDArray[np.int64]:
    """The positions of the ``k`` best scores, best first; ties by position."""
    some = np.argpartition(-scores, k - 1)[:k] if len(scores) > k else np.arange(len(scores))
    order: npt.NDArray[np.int64] = some[np.lexsort((some, -scores[some]))]
    return order
