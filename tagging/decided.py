"""A person's decisions on some facts of a document, applied to similar facts.

The review page suggests by the same rules (``web/src/review/state.ts``). A decision on a closely similar fact
applies unless the program is sure of another concept. A decision on a loosely similar fact applies only if
the program gave both facts the same concept. A corrected suggestion no longer comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..retrievers.base import Ranking
from ..retrievers.concept_ids import strip_namespace
from ..retrievers.errors import InputError
from ..retrievers.taxonomy import Taxonomy
from .alike import numbered
from .decisions import DECIDED, Decision
from .tag import Tag

CLOSE, LOOSE = 0.97, 0.8
"""How sure a suggestion is that a person made for a fact closely, and loosely, alike."""

UNSURE, CERTAIN = 0.5, 0.9
"""Below the first the program is less sure than a person's word of a fact closely alike in another table;
from the second on it is surer than that of one in the same table."""

_CLOSE, _LOOSE = 0, 1


def read_decided(
    decided: str | Path | Mapping[str, str], known: Collection[str], taxonomy: Taxonomy
) -> dict[str, Decision]:
    """A person's decisions, by fact id.

    Args:
        decided: concepts by fact id, or a file (:func:`~.review.again.read_decisions`).
        known: the ids of the facts.
        taxonomy: of the concepts.

    Raises:
        InputError: the file has another format; a decision names an unknown fact or a concept that the
            taxonomy lacks.
    """
    from .review.again import read_decisions

    file = None if isinstance(decided, Mapping) else Path(decided)
    if isinstance(decided, Mapping):
        found = {id_: Decision(id_, "corrected", strip_namespace(c)) for id_, c in decided.items()}
    else:
        found = read_decisions(Path(decided))
    for id_, decision in found.items():
        if id_ not in known:
            raise InputError(f"there is no fact {id_!r:.80}", file=file, field="fact_id")
        if decision.state in DECIDED and decision.concept not in taxonomy:
            raise InputError(f"{taxonomy.name} lacks {decision.concept!r:.80}", file=file, field="concept")
    return found


def none_decided(decisions: Mapping[str, Decision]) -> str:
    """A line that says that nothing is decided; empty if something is."""
    if any(d.state in (*DECIDED, "rejected") for d in decisions.values()):
        return ""
    return "nothing is decided: no fact is accepted, corrected or rejected (in a table: the column state)"


def with_decisions(
    tags: Sequence[Tag], decisions: Mapping[str, Decision], taxonomy: Taxonomy
) -> tuple[Tag, ...]:
    """The tags of a document after a person's decisions on some of its facts.

    A decided fact has the decided concept first (none if it was rejected) and confidence 1.

    Args:
        tags: the program's tags.
        decisions: by fact id.
        taxonomy: of the tags.
    """
    carried = _Carried(tags, decisions)
    return tuple(carried.tag(i, taxonomy) for i in range(len(tags)))


class _Carried:
    def __init__(self, tags: Sequence[Tag], decisions: Mapping[str, Decision]) -> None:
        self.tags = tags
        self.decisions = [decisions.get(tag.fact.fact_id) for tag in tags]
        keys, _ = numbered([tag.fact for tag in tags])
        self.alike: dict[tuple[int, int], list[int]] = {}
        self.keys = keys
        for i, found in enumerate(keys):
            for level in (_CLOSE, _LOOSE):
                if found[level] >= 0:
                    self.alike.setdefault((level, found[level]), []).append(i)

    def others(self, i: int, level: int) -> list[int]:
        return [j for j in self.alike.get((level, self.keys[i][level]), ()) if j != i]

    def votes(self, others: Sequence[int]) -> list[str]:
        """The concepts decided for some facts, most frequent first; ties: latest first."""
        counts: Counter[str] = Counter()
        at: dict[str, str] = {}
        for j in others:
            decision = self.decisions[j]
            if decision is not None and decision.state in DECIDED:
                counts[decision.concept] += 1
                at[decision.concept] = max(at.get(decision.concept, ""), decision.at)
        latest = sorted(counts, key=lambda concept: at[concept], reverse=True)
        return sorted(latest, key=lambda concept: -counts[concept])

    def binds(self, j: int, i: int) -> bool:
        one, other = self.tags[i], self.tags[j]
        sure = one.confidence or 0.0
        same_table = one.fact.context.context_id == other.fact.context.context_id
        if one.concept == other.concept:
            return same_table or sure < CERTAIN
        return sure < (CERTAIN if same_table else UNSURE)

    def refused(self, j: int) -> bool:
        """Whether a person rejected or corrected the program's first concept of a fact."""
        decision = self.decisions[j]
        if decision is None or decision.state not in (*DECIDED, "rejected"):
            return False
        return decision.concept != self.tags[j].concept

    def tag(self, i: int, taxonomy: Taxonomy) -> Tag:
        tag, decision = self.tags[i], self.decisions[i]
        if decision is not None and decision.state == "rejected":
            said = "a person found no concept right"
            return replace(tag, ranking=Ranking.of([]), label="", evidence=said, confidence=1.0)
        if decision is not None and decision.state in DECIDED:
            return _led(tag, [decision.concept], taxonomy, 1.0, "a person decided so")
        own, sure = list(tag.ranking.ids), tag.confidence
        close, loose = self.others(i, _CLOSE), self.others(i, _LOOSE)
        binding = self.votes([j for j in close if self.binds(j, i)])
        if binding:
            said = "a person decided so of a line closely alike"
            return _led(tag, binding, taxonomy, max(sure or 0.0, CLOSE), said)
        likely = self.votes([j for j in loose if self.tags[j].concept == tag.concept])
        if len(likely) == 1 and likely[0] in own:
            said = "a person decided so of a row alike"
            return _led(tag, likely, taxonomy, max(sure or 0.0, LOOSE), said)
        refused = {self.tags[j].concept for j in close if self.refused(j)}
        if tag.concept in refused:
            kept = [id_ for id_ in own if id_ not in refused]
            offered = [*kept[:1], *self.votes(close), *self.votes(loose)]
            said = "a person refused the first concept for a line closely alike"
            return _led(tag, offered, taxonomy, None if sure is None else sure / 2, said)
        return tag


def _led(tag: Tag, first: Sequence[str], taxonomy: Taxonomy, sure: float | None, said: str) -> Tag:
    """The tag with given concepts at the front of its ranking, and evidence that says why."""
    ids = list(dict.fromkeys([*(id_ for id_ in first if id_ in taxonomy), *tag.ranking.ids]))
    changed = ids[:1] != [tag.concept]
    label = taxonomy[ids[0]].label if ids else ""
    evidence = said if changed or not tag.evidence else f"{said}; {tag.evidence}"
    ranking = tag.ranking
    if changed:  # no concept stands below a lesser score
        known = dict(zip(ranking.ids, ranking.scores.tolist(), strict=True))
        scores = [known.get(id_, 0.0) for id_ in ids]
        ranking = Ranking.of(ids, np.maximum.accumulate(scores[::-1])[::-1].tolist())
    return replace(tag, ranking=ranking, label=label, evidence=evidence, confidence=sure)
