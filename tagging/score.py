"""How often the tags that a document has were found, and what could be accepted unseen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from rich.console import Console
from rich.table import Table as RichTable

from ..documents.document import Document
from ..documents.namespaces import namespaces_of
from ..retrievers.base import Ranking
from ..retrievers.errors import InputError
from ..retrievers.taxonomy import Taxonomy
from ..signatures.types import Fact
from .calibration import Calibration, risk_coverage


class Tagged(Protocol):
    """A fact with its ranking and how sure its first concept is."""

    @property
    def fact(self) -> Fact: ...
    @property
    def ranking(self) -> Ranking: ...
    @property
    def confidence(self) -> float | None: ...
    @property
    def concept(self) -> str: ...


@dataclass(frozen=True)
class Golds:
    """A document's own tags against a taxonomy.

    ``scored`` maps a fact's id to its concept; ``missing`` counts the tags of the taxonomy's own namespace
    whose concept it lacks; ``other`` those of other namespaces (the company's extension, dei and the like).
    """

    scored: Mapping[str, str]
    missing: int
    other: int

    @classmethod
    def of(cls, document: Document, taxonomy: Taxonomy) -> Golds:
        """Raises InputError where there is nothing to score."""
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


def print_score(
    document: Document,
    golds: Golds,
    tagged: Sequence[Tagged],
    taxonomy: Taxonomy,
    calibration: Calibration | None,
    console: Console,
) -> None:
    """Print how often the document's own tags were found, by modality, and what could be accepted unseen."""
    scored = [t for t in tagged if t.fact.fact_id in golds.scored]
    table = RichTable(title=f"{document.name}: {len(scored):,} tagged facts of {taxonomy.name}")
    for name in ("facts", "n", "R@1", "R@10", "R@50", "MRR"):
        table.add_column(name, justify="left" if name == "facts" else "right")
    for group in ("all", "table", "text"):
        chosen = [t for t in scored if group in ("all", t.fact.modality)]
        ranks = [t.ranking.rank_of(golds.scored[t.fact.fact_id]) for t in chosen]
        if chosen:
            shares = [np.mean([r is not None and r <= k for r in ranks]) for k in (1, 10, 50)]
            mrr = np.mean([1 / r if r else 0.0 for r in ranks])
            table.add_row(group, f"{len(chosen):,}", *(f"{v:.3f}" for v in (*shares, mrr)))
    console.print(table)
    if golds.other or golds.missing:
        console.print(
            f"Not scored: {golds.other:,} values with tags of the company's own or of other taxonomies (dei, "
            f"srt), {golds.missing:,} whose concept is not in {taxonomy.name}",
            markup=False,
        )
    if calibration is not None and calibration.wanted:
        right = [t.concept == golds.scored[t.fact.fact_id] for t in scored]
        console.print(fixed_table(calibration, [t.confidence or 0.0 for t in scored], right))


def fixed_table(calibration: Calibration, confidence: Sequence[float], right: Sequence[bool]) -> RichTable:
    """What the thresholds of a calibration, chosen on other facts, accept of these."""
    sure, truth = np.asarray(confidence), np.asarray(right)
    lines = []
    for wanted, threshold in zip(calibration.wanted, calibration.thresholds, strict=True):
        taken = sure >= (np.inf if threshold is None else threshold)
        precision = float(truth[taken].mean()) if taken.any() else None
        lines.append((wanted, threshold, float(taken.mean()), precision))
    return _accepted(f"What may be accepted unseen, by thresholds fixed on {calibration.split}", lines)


def acceptance_table(confidence: Sequence[float], right: Sequence[bool]) -> RichTable:
    """A risk-coverage table: what share of these facts can be accepted at which precision, by the thresholds
    that are best on them."""
    lines = risk_coverage(confidence, right)
    return _accepted(
        "What can be accepted unseen", [(x.wanted, x.threshold, x.coverage, x.precision) for x in lines]
    )


def _accepted(title: str, lines: Iterable[tuple[float, float | None, float, float | None]]) -> RichTable:
    """A line for each wanted precision: threshold (None: there is none), accepted share, share of right ones
    among them (None: none is accepted)."""
    table = RichTable(title=title)
    for name in ("for a precision of", "confidence at least", "accepted", "right among them"):
        table.add_column(name, justify="right")
    for wanted, threshold, accepted, precision in lines:
        shown = "-" if threshold is None else f"{threshold:.3f}"
        right = "-" if threshold is None or precision is None else f"{precision:.1%}"
        table.add_row(f"{wanted:.0%}", shown, f"{accepted:.1%}", right)
    return table
