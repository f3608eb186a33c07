"""What the rows of a taxonomy share: retriever, schema, serializer, precedents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..programs.methods import Parts
from ..programs.profiles import Profiles
from ..retrievers.built import Retrievers
from ..retrievers.precedents.index import Precedents
from ..retrievers.taxonomy import Taxonomy
from ..signatures.dimensions import DimensionSchema, load_schema
from .domains import Domain


def make_parts(
    taxonomy: Taxonomy,
    domain: Domain,
    retriever: Mapping[str, Any],
    schema: DimensionSchema | None = None,
    precedents: Callable[[], Precedents] | None = None,
) -> Parts:
    """What the rows of one experiment share."""
    schema = schema or load_schema(domain.schema)
    return Parts(
        Retrievers(taxonomy, retriever),
        taxonomy,
        schema,
        domain.serializer,
        Profiles(schema, taxonomy),
        precedents=precedents,
    )
