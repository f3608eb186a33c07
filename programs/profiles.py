"""The features of a taxonomy's concepts under one schema, worked out when first asked for."""

from __future__ import annotations

from typing import Any

from ..retrievers.taxonomy import Taxonomy
from ..signatures.dimensions import DimensionSchema, Features


class Profiles:
    """Category profiles and text tokens by concept id; kept once worked out.

    Programs over the same taxonomy and schema may share one.
    """

    def __init__(self, schema: DimensionSchema, taxonomy: Taxonomy) -> None:
        self.schema, self.taxonomy = schema, taxonomy
        self._known: dict[str, Features] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Profiles:
        return self

    def __getitem__(self, id_: str) -> Features:
        found = self._known.get(id_)
        if found is None:
            found = self._known[id_] = self.schema.features(self.taxonomy[id_])
        return found

    def profile(self, id_: str) -> tuple[tuple[str, ...], ...]:
        """The category profile of a candidate (SPEC section 3)."""
        return self[id_].profile
