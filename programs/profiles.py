"""The features of a taxonomy's concepts under one schema: stored with it, or worked out when asked for."""

from __future__ import annotations

from ..retrievers.profiles import Profile
from ..retrievers.remade import Remade
from ..retrievers.taxonomy import Taxonomy
from ..signatures.dimensions import DimensionSchema, Features


class Profiles(Remade):
    """Category profiles and text tokens by concept id; kept once worked out.

    Programs over the same taxonomy and schema may share one. Where the taxonomy has profiles stored under the
    schema, these are used.

    Raises:
        InputError: the taxonomy's stored profiles are damaged.
    """

    def __init__(self, schema: DimensionSchema, taxonomy: Taxonomy) -> None:
        self.schema, self.taxonomy = schema, taxonomy
        self._profiles: dict[str, Profile] = {}
        if taxonomy.profiles is not None:
            self._profiles = taxonomy.profiles.read(schema)
        self._known: dict[str, Features] = {}

    def __getitem__(self, id_: str) -> Features:
        found = self._known.get(id_)
        if found is None:
            tokens = self.schema.text_tokens(self.taxonomy[id_])
            found = self._known[id_] = Features(self.profile(id_), tokens)
        return found

    def profile(self, id_: str) -> Profile:
        """The category profile of a candidate."""
        found = self._profiles.get(id_)
        if found is None:
            found = self._profiles[id_] = self.schema.profile(self.taxonomy[id_])
        return found
