"""Features as columns of a sparse matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .features import Blocks

Matrix = Any
"""A scipy CSR matrix of 32-bit floats (scipy has no types that are checked)."""


class Vocabulary:
    """Features in a fixed order; unknown features are ignored."""

    def __init__(self, features: Sequence[str]) -> None:
        self.features = list(features)
        self.columns = {feature: i for i, feature in enumerate(self.features)}

    def __len__(self) -> int:
        return len(self.features)

    @classmethod
    def of(cls, bags: Iterable[Blocks], least: int) -> Vocabulary:
        """The features that occur in at least ``least`` of the bags, sorted by name."""
        counts: Counter[str] = Counter()
        for blocks in bags:
            counts.update({f for block in blocks for f in block})
        return cls(sorted(f for f, n in counts.items() if n >= least))

    def bag(self, blocks: Blocks) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """The columns of a bag and their weights: each block with known features has length 1."""
        columns: list[int] = []
        weights: list[float] = []
        find = self.columns.get
        for block in blocks:
            known = [c for f in block if (c := find(f)) is not None]
            if known:
                columns += known
                weights += [len(known) ** -0.5] * len(known)
        return np.array(columns, dtype=np.int32), np.array(weights, dtype=np.float32)

    def matrix(self, bags: Sequence[Blocks]) -> Matrix:
        """The bags as rows of a CSR matrix of shape (n, features)."""
        from scipy.sparse import csr_matrix

        rows = [self.bag(blocks) for blocks in bags]
        ends = np.cumsum([0, *(len(columns) for columns, _ in rows)])
        columns = np.concatenate([c for c, _ in rows]) if rows else np.zeros(0, np.int32)
        weights = np.concatenate([w for _, w in rows]) if rows else np.zeros(0, np.float32)
        return csr_matrix((weights, columns, ends), shape=(len(bags), len(self)))
