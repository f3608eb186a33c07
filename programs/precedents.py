"""Precedents as a method: the nearest already-tagged facts vote, the locus query fills up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import dspy
import numpy as np

from ..retrievers.base import Ranking, Retriever
from ..retrievers.precedents.index import Neighbour, Precedents
from ..retrievers.precedents.loci import period_of
from ..retrievers.remade import Remade
from ..retrievers.taxonomy import Taxonomy
from ..signatures.types import Fact
from .base import Program
from .config import PrecedentsConfig
from .serialize import Serializer, one_line
from .trace import Query


class PrecedentVote(Program):
    """Rank concepts by the votes of the nearest precedents.

    Args:
        retriever: answers the locus query that fills up the ranking.
        precedents: the index of already-tagged facts; concepts that the taxonomy does not have are
            passed over.
        serializer, taxonomy, config: as for every program.
    """

    config: PrecedentsConfig

    def __init__(
        self,
        retriever: Retriever,
        precedents: Precedents,
        serializer: Serializer | None = None,
        taxonomy: Taxonomy | None = None,
        config: PrecedentsConfig | None = None,
    ) -> None:
        super().__init__(retriever, serializer, taxonomy, config or PrecedentsConfig())
        self.precedents = precedents

    async def aforward(self, fact: Fact) -> dspy.Prediction:
        """The concepts that already-tagged facts vote for."""
        trace = self.start()
        with trace.timed("precedents"):
            vote = self.precedents.vote(fact, self.config.scope)
            factor = self.factor(fact)
            voted = weighed(self.known(vote.ranking(self.config.K)), factor, self.config)
            if not (self.config.alike or self.config.decisions):
                kept = {n: v for n, v in voted.components.items() if n not in ("alike", "decided")}
                voted = replace(voted, components=kept)
            near = vote.nearest(self.config.shown)
        query = Query(self.serializer.locus(fact), "precedents")
        trace.retrieved([query], [voted])
        trace.notes["precedents"] = [describe(n) for n in near]
        if self.config.locus > 0 or (self.config.fill and len(voted) < self.config.K):
            self.search(fact, [Query(self.serializer.locus(fact), "locus")], trace)
        return self.answer(merged(trace.rankings, self.config, factor), trace)

    def factor(self, fact: Fact) -> Callable[[str], float]:
        """What a concept's score is multiplied by, see ``period`` of the settings."""
        said = period_of(fact.column_header or "") if fact.modality == "table" else 0
        named, other = PERIOD_TYPES.get(said), self.config.period
        if named is None or other == 1.0:
            return lambda id_: 1.0
        return lambda id_: (
            1.0 if self.taxonomy[id_].metadata.get("period_type") in (None, "", named) else other
        )

    def known(self, ranking: Ranking) -> Ranking:
        """The ranking without concepts that the taxonomy does not have."""
        keep = [i for i, id_ in enumerate(ranking.ids) if id_ in self.taxonomy]
        return ranking if len(keep) == len(ranking) else ranking.take(keep)


PERIOD_TYPES = {1: "duration", 2: "instant"}
"""What a column header says of time (``loci.period_of``) as taxonomies write it."""


STEEP = 4
"""How fast votes lose weight where the most alike precedent is not alike enough: at half the wanted likeness
they have a sixteenth of it."""


def _as_it_is(id_: str) -> float:
    return 1.0


def weighed(ranking: Ranking, factor: Callable[[str], float], config: PrecedentsConfig) -> Ranking:
    """The ranking with each share of the votes times the concept's factor, all of them less where no voter is
    alike; what was decided before comes first, see the settings. Best first; ties by id."""
    scores = ranking.scores * np.array([factor(id_) for id_ in ranking.ids])
    if config.alike > 0:
        scores = scores * min(1.0, ranking.components["alike"].max(initial=0.0) / config.alike) ** STEEP
    if config.decisions:
        scores = scores + ranking.components["decided"]
    if (scores == ranking.scores).all():
        return ranking
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], ranking.ids[i]))
    return replace(ranking, scores=scores).take(order)


def merged(
    rankings: Sequence[Ranking], config: PrecedentsConfig, factor: Callable[[str], float] = _as_it_is
) -> Ranking:
    """The final ranking from the vote and, where there is one, the locus query's ranking."""
    voted = rankings[0]
    if len(rankings) == 1:
        return voted
    if config.locus > 0:
        return blended(voted, rankings[1], config.locus, config.K, factor)
    return completed(voted, rankings[1], config.K)


def blended(
    voted: Ranking, located: Ranking, weight: float, k: int, factor: Callable[[str], float] = _as_it_is
) -> Ranking:
    """The concepts of both rankings by share of the votes + ``weight`` / rank by the locus query, the latter
    times the concept's factor.

    Components are those of ``voted`` (0 where it has no such concept) and ``locus`` (the reciprocal rank);
    ties by id.
    """
    share = dict(zip(voted.ids, voted.scores.tolist(), strict=True))
    place = {id_: 1.0 / rank for rank, id_ in enumerate(located.ids, 1)}
    extra = {id_: weight * value * factor(id_) for id_, value in place.items()}
    score = {id_: share.get(id_, 0.0) + extra.get(id_, 0.0) for id_ in {**share, **place}}
    ids = sorted(score, key=lambda id_: (-score[id_], id_))[:k]
    at = {id_: i for i, id_ in enumerate(voted.ids)}
    places = np.array([at.get(id_, -1) for id_ in ids], dtype=np.int64)
    parts = {
        name: np.where(places >= 0, values[places], 0.0) if len(values) else np.zeros(len(ids))
        for name, values in {"share": voted.scores, **voted.components}.items()
    }
    parts["locus"] = np.array([place.get(id_, 0.0) for id_ in ids])
    candidates = max(voted.candidates, located.candidates)
    fell_back = voted.fell_back and located.fell_back
    return Ranking(ids, np.array([score[id_] for id_ in ids]), parts, candidates, fell_back)


def completed(first: Ranking, rest: Ranking, k: int) -> Ranking:
    """``first``, then what ``rest`` has besides, at most ``k`` in all.

    Scores of the second part are negative and fall from 0 (exclusive) to -1; components of ``first`` are 0
    there.
    """
    have = set(first.ids)
    added = [id_ for id_ in rest.ids if id_ not in have][: max(0, k - len(first))]
    if not added:
        return first.top(k)
    falling = -np.arange(1, len(added) + 1, dtype=np.float64) / len(added)
    parts = {name: np.concatenate((v, np.zeros(len(added)))) for name, v in first.components.items()}
    return Ranking(
        [*first.ids, *added],
        np.concatenate((first.scores, falling)),
        parts,
        max(first.candidates, rest.candidates),
        first.fell_back and rest.fell_back,
    ).top(k)


class Demonstrations(Remade):
    """The nearest precedents of a fact as text for a generator: where each stands, and its concept.

    Args:
        precedents, taxonomy: as for :class:`PrecedentVote`; concepts that the taxonomy lacks are left out.
        scope: whose precedents may be shown.
        n: how many, of distinct concepts, at least 1.
        definition: characters of a concept's definition that are shown.
    """

    def __init__(
        self,
        precedents: Precedents,
        taxonomy: Taxonomy,
        scope: Literal["others", "own"] = "others",
        n: int = 3,
        definition: int = 200,
    ) -> None:
        self.precedents, self.taxonomy, self.scope = precedents, taxonomy, scope
        self.n, self.definition = n, definition

    def __call__(self, fact: Fact) -> str:
        near = self.precedents.vote(fact, self.scope).nearest(4 * self.n)
        lines = [self._line(n) for n in near if n.concept in self.taxonomy][: self.n]
        return "\n".join(lines) or "none"

    def _line(self, neighbour: Neighbour) -> str:
        concept = self.taxonomy[neighbour.concept]
        text = concept.definition[: self.definition]
        return one_line(f"{neighbour.locus} -> {concept.label}{': ' + text if text else ''}")


def describe(neighbour: Neighbour) -> dict[str, object]:
    """A precedent as it is written into traces and shown to users."""
    return {
        "concept": neighbour.concept,
        "fact_id": neighbour.fact_id,
        "company": neighbour.company,
        "filing_id": neighbour.filing_id,
        "locus": neighbour.locus,
        "share": round(neighbour.weight, 4),
        "alike": round(neighbour.alike, 4),
        "same_company": neighbour.same_company,
        "same_value": neighbour.same_value,
    }
