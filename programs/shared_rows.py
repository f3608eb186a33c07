"""Facts that share their evidence are grounded once.

Tried on the dev split with precedents: sharing evidence over the cells of a row, pushing different rows away
from the same concept, and pulling a table's rows towards it all cost R@1 or left it unchanged. What stays is
what costs nothing and saves calls: cells of one row whose column headers differ in nothing but dates
(2024, 2023, 2022), which share one concept, are grounded by one call.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from ..retrievers.precedents.loci import LocusTokens, locus_of
from ..signatures.types import Fact


def evidence_key(fact: Fact) -> tuple[Any, ...]:
    """What facts that share their evidence have in common.

    For a table cell: source context, row header, datatype, and the column header without dates and the
    kind of period that it names. A mention shares its evidence with no other.
    """
    if fact.modality != "table" or not fact.row_header:
        return (fact.fact_id,)
    locus: LocusTokens = locus_of(fact)
    context = fact.context
    return (
        context.context_id,
        hash(context.text),
        fact.row_header,
        fact.datatype,
        locus.column,
        locus.period,
    )


def first_alike(facts: Iterable[Fact]) -> array[int]:
    """For each fact, the place of the first that shares its evidence (:func:`evidence_key`): its own place
    where none does before it.

    An unlabelled row has no header of its own to compare, so its cells are grouped by their row.
    """
    firsts: dict[int, int] = {}  # by hash, so that 100,000 facts take no room for their texts
    keys = (hash((*evidence_key(fact), fact.row_index)) for fact in facts)
    return array("q", (firsts.setdefault(key, place) for place, key in enumerate(keys)))


def shared_evidence(facts: Sequence[Fact]) -> list[list[int]]:
    """The positions of facts, grouped as in :func:`first_alike`, in the order of their first members."""
    groups: dict[int, list[int]] = {}
    for place, first in enumerate(first_alike(facts)):
        groups.setdefault(first, []).append(place)
    return list(groups.values())
