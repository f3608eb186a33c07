"""Counts of a split, and of what the datatype filter keeps (FHS paper: Tables 7, 8 and 10, Appendix A.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..retrievers.base import Where
from ..retrievers.filters import applied_datatype
from ..retrievers.taxonomy import Taxonomy
from .example import Example


@dataclass(frozen=True)
class Part:
    """Counts of some facts of a split: facts, source contexts, and distinct gold concepts."""

    name: str
    contexts: int
    facts: int
    concepts: int

    @classmethod
    def of(cls, name: str, examples: Sequence[Example]) -> Part:
        """The counts of these facts."""
        contexts = {e.cluster or e.id for e in examples}
        return cls(name, len(contexts), len(examples), len({e.gold for e in examples}))

    @property
    def facts_per_context(self) -> float:
        """The mean number of facts per source context."""
        return self.facts / self.contexts if self.contexts else 0.0


@dataclass(frozen=True)
class Statistics:
    """A split and its inventory.

    Args:
        parts: the whole, then each value of each group (modality, tier, ...), then what groups share.
        datatypes: share of facts per datatype, most frequent first.
        concepts, undocumented: concepts in the inventory, and those without a definition.
        candidates: mean number of concepts that pass the datatype filter, per fact.
        kept: share of facts whose gold concept passes it.
        shared_concepts: gold concepts that occur in more than one modality.
    """

    parts: Sequence[Part]
    datatypes: Mapping[str, float]
    concepts: int
    undocumented: int
    candidates: float
    kept: float
    shared_concepts: int


def split_statistics(examples: Sequence[Example], taxonomy: Taxonomy) -> Statistics:
    """The counts of a split.

    Raises:
        ValueError: no examples.
    """
    if not examples:
        raise ValueError("there are no facts to count")
    parts = [Part.of("all", examples)]
    modalities: dict[str, set[str]] = {}
    for field in dict.fromkeys(name for e in examples for name in e.groups):
        values = Counter(e.groups[field] for e in examples if field in e.groups)
        if field == "datatype" or len(values) < 2:
            continue
        for value, _ in values.most_common():
            inside = [e for e in examples if e.groups.get(field) == value]
            parts.append(Part.of(f"{field} {value}", inside))
            if field == "modality":
                modalities[value] = {str(e.gold) for e in inside}
    seen = Counter(gold for golds in modalities.values() for gold in golds)
    held = Counter(c.datatype for c in taxonomy)
    passing = kept = 0
    for example in examples:
        datatype = applied_datatype(taxonomy, Where(datatype=example.inputs["fact"].datatype))
        passing += len(taxonomy) if datatype is None else held[datatype]
        kept += datatype is None or taxonomy[str(example.gold)].datatype == datatype
    kinds = Counter(str(e.inputs["fact"].datatype or "none") for e in examples)
    return Statistics(
        parts,
        {kind: n / len(examples) for kind, n in kinds.most_common()},
        len(taxonomy),
        sum(not c.definition.strip() for c in taxonomy),
        passing / len(examples),
        kept / len(examples),
        sum(n > 1 for n in seen.values()),
    )
