"""Known concepts of facts, checked against a taxonomy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..documents.document import Document
from ..documents.namespaces import namespaces_of
from ..retrievers.errors import InputError
from ..retrievers.taxonomy import Taxonomy


@dataclass(frozen=True)
class Golds:
    """Known concepts of facts. No method sees them.

    ``scored`` maps fact ids to concepts. ``missing`` counts concepts of the taxonomy's namespace that it
    lacks; ``other`` counts those of other namespaces (the company's extension, dei and the like).
    """

    scored: Mapping[str, str]
    missing: int
    other: int

    @classmethod
    def of(cls, document: Document, taxonomy: Taxonomy) -> Golds:
        """A document's own tags; raises InputError if there is nothing to score."""
        if not document.gold:
            raise InputError(f"the document {document.name!r} has no tags to score against")
        tags = document.tags
        known = namespaces_of(tags, taxonomy)
        inside = {i: concept for i, (namespace, concept) in tags.items() if namespace in known}
        scored = {i: concept for i, concept in inside.items() if concept in taxonomy}
        if not scored:
            raise InputError(
                f"none of the {len(tags):,} tags of the document {document.name!r} is a concept of "
                f"{taxonomy.name}: there is nothing to score"
            )
        return cls(scored, len(inside) - len(scored), len(tags) - len(inside))

    @classmethod
    def of_facts(cls, gold: Mapping[str, str], name: str, taxonomy: Taxonomy) -> Golds:
        """The ``gold`` of a facts file; raises InputError if there is nothing to score."""
        if not gold:
            raise InputError(f"the facts {name!r} have no field 'gold' to score against")
        scored = {i: concept for i, concept in gold.items() if concept in taxonomy}
        if not scored:
            raise InputError(
                f"none of the {len(gold):,} concepts of the facts {name!r} is one of {taxonomy.name}: there "
                "is nothing to score"
            )
        return cls(scored, len(gold) - len(scored), 0)
