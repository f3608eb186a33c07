"""The evidence for a tag, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..programs.precedents import PERIOD_TYPES
from ..retrievers.precedents.loci import period_of
from ..retrievers.taxonomy import Taxonomy
from ..signatures.tokenize import tok_set
from ..signatures.types import Fact

PERIODS = {"duration": "a period of time", "instant": "a day"}


def evidence_of(fact: Fact, prediction: Any, taxonomy: Taxonomy) -> str:
    """The evidence for the first concept.

    The nearest precedent with this concept and the votes, or the query that ranked it best; the words that
    its label shares with the fact; and what the column says about time.
    """
    ranking = prediction.ranking
    if not len(ranking):
        return ""
    votes = list(_votes(ranking, prediction.trace))
    first = _precedent(ranking, prediction.trace) or ("" if votes else _query(ranking, prediction.trace))
    reasons = [first, *votes]
    label = taxonomy[ranking.ids[0]].label
    reasons.append(_words(fact, label))
    reasons.append(_period(fact, taxonomy[ranking.ids[0]].metadata.get("period_type")))
    return "; ".join(filter(None, reasons))


def _precedent(ranking: Any, trace: Any) -> str:
    best = ranking.ids[0]
    near = next((n for n in trace.notes.get("precedents", ()) if n["concept"] == best), None)
    if near is None:
        return ""
    filing, value = str(near["filing_id"]), "same value" if near["same_value"] else ""
    if str(near["fact_id"]).startswith(filing):
        filing = ""  # it says no more than the fact's id
    whose = ", ".join(str(t) for t in (near["company"], filing, value) if t)
    return f"precedent {near['fact_id']}{f' ({whose})' if whose else ''}: {near['locus']}"


def _votes(ranking: Any, trace: Any) -> Iterator[str]:
    """How the precedents voted for the first concept."""
    votes = next(
        (r for q, r in zip(trace.queries, trace.rankings, strict=False) if q.form == "precedents"), None
    )
    place = None if votes is None else votes.rank_of(ranking.ids[0])
    if votes is None or place is None:
        return
    parts = {name: float(values[place - 1]) for name, values in votes.components.items()}
    if parts.get("decided"):
        yield "decided so before for the same line of the company"
    if "share" in parts:
        companies = int(parts.get("companies", 0))
        of = f" from {companies} compan{'ies' if companies > 1 else 'y'}" if companies else ""
        yield f"{parts['share']:.0%} of the votes{of}"
    if "alike" in parts:
        yield f"headers or words {parts['alike']:.0%} alike"


def _query(ranking: Any, trace: Any) -> str:
    best, never = ranking.ids[0], 10**9
    ranks = [(r.rank_of(best) or never, q.form) for q, r in zip(trace.queries, trace.rankings, strict=False)]
    rank, form = min(ranks, default=(never, ""))
    return f"{form} query, rank {rank}" if rank < never else ""


def _words(fact: Fact, label: str) -> str:
    """The label's words that are in the fact's headers, or in and around the mention."""
    if fact.modality == "table":
        said = f"{fact.row_header or ''} {fact.column_header or ''}"
    else:
        start, end = fact.mention_start or 0, fact.mention_end or 0
        said = fact.context.text[max(0, start - 100) : end + 60]
    there = tok_set(said)
    shared = [word for word in dict.fromkeys(label.replace(",", " ").split()) if tok_set(word) & there]
    return f"words of the label: {' '.join(shared)}" if shared else ""


def _period(fact: Fact, wanted: object) -> str:
    """Whether the column names the concept's period type."""
    if fact.modality != "table" or wanted not in PERIODS:
        return ""
    named = PERIOD_TYPES.get(period_of(fact.column_header or ""))
    if named is None:
        return ""
    agrees = "as the concept does" if named == wanted else f"the concept {PERIODS[str(wanted)]}"
    return f"the column names {PERIODS[named]}, {agrees}"
