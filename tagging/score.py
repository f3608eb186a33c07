"""How often known concepts are found, and what can be accepted unseen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .calibration import Acceptance, Thresholds
from .golds import Golds
from .tag import Tag

CUTS = (1, 10, 50)
"""Ranks at which recall is told."""


@dataclass(frozen=True)
class Group:
    """Some of the scored facts: their number, recall at :data:`CUTS` and MRR, in [0, 1]."""

    name: str
    facts: int
    recall: tuple[float, ...]
    mrr: float


@dataclass(frozen=True)
class Score:
    """How often the known concepts of facts are found.

    Args:
        name, taxonomy: the name of the facts, and the taxonomy.
        groups: all facts; tables and texts; facts whose innermost header (or mention), or whose concept,
            others' precedents have or lack.
        missing, other: known concepts that were not scored, see :class:`~.golds.Golds`.
        accepted: what thresholds chosen on other facts accept; empty without thresholds.
        fitted_on: the facts that the thresholds were chosen on.
    """

    name: str
    taxonomy: str
    groups: tuple[Group, ...]
    missing: int = 0
    other: int = 0
    accepted: tuple[Acceptance, ...] = ()
    fitted_on: str = ""


def score_tags(
    tags: Sequence[Tag],
    golds: Golds,
    name: str,
    taxonomy: str,
    thresholds: Thresholds | None,
    seen: Mapping[str, Mapping[str, bool]],
) -> Score:
    """Score the tags with known concepts; ``seen`` says by fact id what others' precedents have."""
    scored = [t for t in tags if t.fact.fact_id in golds.scored]
    accepted: tuple[Acceptance, ...] = ()
    if thresholds is not None and thresholds.least:
        right = [t.concept == golds.scored[t.fact.fact_id] for t in scored]
        accepted = tuple(by_thresholds(thresholds, [t.confidence or 0.0 for t in scored], right))
    return Score(
        name,
        taxonomy,
        tuple(_groups(scored, golds, seen)),
        golds.missing,
        golds.other,
        accepted,
        thresholds.fitted_on if thresholds is not None else "",
    )


def _groups(scored: Sequence[Tag], golds: Golds, seen: Mapping[str, Mapping[str, bool]]) -> Iterator[Group]:
    members: dict[str, list[Tag]] = {name: [] for name in ("all", "table", "text")}
    for name in ("header", "mention", "concept"):
        members |= {f"{name} seen elsewhere": [], f"{name} unseen": []}
    for tag in scored:
        names = ["all", tag.fact.modality]
        for name, known in seen.get(tag.fact.fact_id, {}).items():
            names.append(f"{name} seen elsewhere" if known else f"{name} unseen")
        for name in names:
            members[name].append(tag)
    for name, tags in members.items():
        ranks = [t.ranking.rank_of(golds.scored[t.fact.fact_id]) for t in tags]
        if ranks:
            recall = tuple(float(np.mean([r is not None and r <= k for r in ranks])) for k in CUTS)
            yield Group(name, len(ranks), recall, float(np.mean([1 / r if r else 0.0 for r in ranks])))


def by_thresholds(
    thresholds: Thresholds, confidence: Sequence[float], right: Sequence[bool]
) -> Iterator[Acceptance]:
    """What thresholds chosen on other facts accept of these."""
    sure, truth = np.asarray(confidence), np.asarray(right)
    for wanted, threshold in thresholds.least.items():
        taken = sure >= (np.inf if threshold is None else threshold)
        precision = float(truth[taken].mean()) if taken.any() else None
        yield Acceptance(wanted, threshold, float(taken.mean()), precision)
