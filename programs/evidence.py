"""What speaks for each candidate of a fact: ranks, votes and probabilities as one row of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..retrievers.base import Floats, Ranking
from ..retrievers.precedents.loci import period_of
from ..retrievers.taxonomy import Taxonomy
from ..retrievers.towers.features import NEAR, blocks_of, worded
from ..retrievers.towers.model import Towers, best
from ..signatures.tokenize import tok_set
from ..signatures.types import Concept, Fact
from .precedents import PERIOD_TYPES
from .sayings import MentionSides
from .terms import Terms

FEATURES = (
    "towers",
    "share",
    "voted",
    "companies",
    "own share",
    "own voted",
    "locus",
    "phrases",
    "above",
    "label covered",
    "header covered",
    "same words",
    "other period",
    "named",
    "alike",
    "other side",
    "side not said",
    "other encounter",
    "other stage",
)
"""The columns of an evidence table.

``towers``: the logarithm of the towers' probability. ``share``, ``voted``, ``companies``: the logarithm of
the share of other companies' votes, whether there are any, and of how many companies. ``own share``, ``own
voted``: the same where the company's earlier filings vote too. ``locus``, ``phrases``, ``above``: reciprocal
ranks by the locus query and the phrase book's two readings. ``label covered``, ``header covered``, ``same
words``: shares of the label's and of the innermost header's (or the surrounding words') tokens that the other
has, and whether they are the same. ``other period``: the column says a duration and the concept is of an
instant, or the reverse.

Of worded mentions alone: ``named``, ``alike``: how the mention fits the best of the concept's terms
(:class:`~.terms.Fit`); the first is 0 where the votes agree. ``other side``, ``side not said``: the concept
is of another side than the mention's, or of one where the mention says none. ``other encounter``: the
concept's 7th character is not that of an initial encounter, or not what the mention says. ``other stage``:
its numbers, or acute and chronic, are not the mention's.

Nothing speaks against a concept for having no tagged fact: a gate and penalties for such were tried, and
drowned them.
"""

AGREED = 0.9
"""The share of the votes from which on precedents of the same words stand before a term that is the mention,
word for word."""

HALF = 0.5
"""The share of a worded mention's words and pieces of words that the towers must know to say anything."""

LEAST_PROBABILITY, LEAST_SHARE = -20.0, np.log(1e-4)
DEPTH = 60
"""How many concepts of the towers and of each query become candidates."""

DEPTH_OF_MENTION = 100
"""How many concepts of a worded mention's locus query do: its own words say what it is."""


@dataclass(frozen=True, eq=False)
class CandidateTable:
    """The candidates of one fact: ``ids``, their features, shape (n, features), and which of them no tagged
    fact has.

    ``rankings`` are what they come from, by name, best first.
    """

    ids: Sequence[str]
    table: Floats
    unseen: npt.NDArray[np.bool_]
    rankings: Mapping[str, Ranking]

    def column(self, name: str) -> Floats:
        """One feature of every candidate."""
        found: Floats = self.table[:, FEATURES.index(name)]
        return found

    def agreement(self, id_: str) -> float:
        """The share of the rankings that put a concept first, in [0, 1]."""
        firsts = [r.ids[0] == id_ for r in self.rankings.values() if len(r)]
        return sum(firsts) / len(firsts) if firsts else 0.0


def header_of(fact: Fact) -> str:
    """What is compared with labels: the innermost row header; a worded mention; the words around a number."""
    if fact.modality == "table":
        return (fact.row_header or "").rpartition(" | ")[2]
    if worded(fact) or fact.mention_start is None or fact.mention_end is None:
        return fact.value
    start, end = fact.mention_start, fact.mention_end
    text = fact.context.text
    return f"{text[max(0, start - NEAR[0]) : start]} {text[end : end + NEAR[1]]}"


@lru_cache(maxsize=100_000)
def _label(label: str) -> frozenset[str]:
    return tok_set(label)


class Known(dict[str, Concept | None]):
    """The concepts of a taxonomy by id, each read once; None for an id that it lacks."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        super().__init__()
        self._taxonomy = taxonomy

    def __missing__(self, id_: str) -> Concept | None:
        found = None
        if id_ in self._taxonomy:
            found = self._taxonomy[id_]
        self[id_] = found
        return found


def gather(
    fact: Fact,
    taxonomy: Known,
    full: Towers,
    clean: Towers | None,
    vote: Ranking,
    searched: Mapping[str, Ranking],
    own: Ranking | None = None,
    terms: Terms | None = None,
    more: Sequence[str] = (),
) -> CandidateTable:
    """The candidates of a fact and what speaks for each.

    Args:
        fact: where it stands.
        taxonomy: the concepts; what it lacks is no candidate.
        full: the towers that saw everything; they only number the concepts.
        clean: those that have not seen the fact's company; None: they keep silent.
        vote: of other companies' precedents, with components ``share`` and ``companies``.
        searched: rankings of the queries ``locus``, ``phrases`` and ``above``.
        own: the vote in which the company's earlier filings take part.
        terms: of the concepts, with which worded mentions are compared; None: with their labels alone.
        more: further candidates.
    """
    towers = clean or full
    named = worded(fact)
    if clean is not None and named and clean.knows(blocks_of(fact)) < HALF:
        clean = None
    rows, scores = towers.of_fact(fact) if clean is not None else (np.zeros(0, np.int64), np.zeros(0))
    top = best(scores, DEPTH)
    nearest = Ranking(towers.ids[rows[top]].tolist(), scores[top], {}, len(rows))
    rankings = {"towers": nearest, "precedents": vote, **searched}
    if own is not None:
        rankings["own precedents"] = own
    pool: dict[str, int] = {}
    concepts: list[Concept] = []
    for name, ranking in rankings.items():
        votes = name in ("precedents", "own precedents")
        depth = len(ranking) if votes else DEPTH_OF_MENTION if named and name == "locus" else DEPTH
        for id_ in ranking.ids[:depth]:
            if id_ not in pool and (concept := taxonomy[id_]) is not None:
                pool[id_] = len(pool)
                concepts.append(concept)
    for id_ in more:
        if id_ not in pool and (concept := taxonomy[id_]) is not None:
            pool[id_] = len(pool)
            concepts.append(concept)
    ids = list(pool)
    table = np.zeros((len(ids), len(FEATURES)))
    columns = {name: table[:, i] for i, name in enumerate(FEATURES)}

    place = np.full(len(towers.ids) + 1, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    known = np.array([towers.place.get(id_, -1) for id_ in ids], dtype=np.int64)
    inside = np.where(known >= 0, place[known], -1)
    columns["towers"][:] = LEAST_PROBABILITY if clean is not None else 0.0
    columns["towers"][inside >= 0] = np.maximum(scores[inside[inside >= 0]], LEAST_PROBABILITY)

    if (inside >= 0).any():  # what the towers' taxonomy lacks is as likely as the tenth candidate
        columns["towers"][known < 0] = np.sort(columns["towers"][inside >= 0])[-10:][0]

    _votes(vote, pool, columns["share"], columns["voted"], columns["companies"])
    if own is not None:
        _votes(own, pool, columns["own share"], columns["own voted"], None)
    for name in ("locus", "phrases", "above"):
        found = searched.get(name)
        for rank, id_ in enumerate(found.ids[:DEPTH] if found is not None else (), 1):
            if (at := pool.get(id_)) is not None:
                columns[name][at] = 1.0 / rank
    _words(fact, concepts, columns)
    said = PERIOD_TYPES.get(period_of(fact.column_header or "")) if fact.modality == "table" else None
    if said is not None:
        columns["other period"][:] = [
            concept.metadata.get("period_type") not in (None, "", said) for concept in concepts
        ]
    if named and terms is not None:
        _terms(fact, concepts, terms, columns, _agreed(vote))
    unseen = ~np.where(known >= 0, towers.seen[known], False)
    return CandidateTable(ids, table, unseen, rankings)


def _votes(
    vote: Ranking, pool: Mapping[str, int], share: Floats, voted: Floats, companies: Floats | None
) -> None:
    share[:] = LEAST_SHARE
    at = [pool.get(id_, -1) for id_ in vote.ids]
    keep = np.array([i for i, place in enumerate(at) if place >= 0], dtype=np.int64)
    places = np.array(at, dtype=np.int64)[keep]
    share[places] = np.log(np.maximum(vote.scores[keep], 1e-4))
    voted[places] = 1.0
    if companies is not None and "companies" in vote.components:
        companies[places] = np.log1p(vote.components["companies"][keep])


def _words(fact: Fact, concepts: Sequence[Concept], columns: Mapping[str, npt.NDArray[np.float64]]) -> None:
    """How the words of labels and of the innermost header cover each other."""
    header = tok_set(header_of(fact))
    whole = header | tok_set(fact.row_header or "")
    if not whole:
        return
    for i, concept in enumerate(concepts):
        label = _label(concept.label)
        if label:
            columns["label covered"][i] = len(label & whole) / len(label)
        if header:
            columns["header covered"][i] = len(label & header) / len(header)
            columns["same words"][i] = label == header


def _agreed(vote: Ranking) -> bool:
    """Whether precedents of the same words agree on a concept."""
    if not len(vote):
        return False
    return bool(vote.scores[0] >= AGREED and vote.components["alike"][0] >= 1.0)


def _terms(
    fact: Fact,
    concepts: Sequence[Concept],
    terms: Terms,
    columns: Mapping[str, npt.NDArray[np.float64]],
    agreed: bool,
) -> None:
    """How a worded mention fits the terms of concepts, and what in them speaks against it; where precedents
    of the same words agree, they stand before terms."""
    if not concepts:
        return
    found = terms.fits(fact.value, concepts)
    if not agreed:
        columns["named"][:] = [fit.named for fit in found]
    columns["alike"][:] = [fit.alike for fit in found]
    said = MentionSides.of(fact.value)
    against = np.array([said.against(concept) for concept in concepts])
    for i, name in enumerate(("other side", "side not said", "other encounter", "other stage")):
        columns[name][:] = against[:, i]
