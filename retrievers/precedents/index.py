"""Precedents: already-tagged facts, searched by locus, that vote for their concepts.

Every precedent gets a log-linear score: a weighted sum of how alike the two loci are (innermost header, whole
header chain, column header, table or passage, the text above it) and of what else they share (the company,
the value, the kind of period, the number of digits). The best ``neighbours`` vote with ``exp(score)``; a
concept's score is its share of the votes. Never is a precedent of the fact's own filing or source context
used, nor one of the same text where either does not say its filing; scope ``others`` also leaves out every
precedent of the fact's company, and those that do not say whose they are; scope ``own`` those of its filings
whose declared period ended after that of the fact's filing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...signatures.types import Fact
from ..base import Floats, Ranking
from ..errors import InputError
from .companies import Companies
from .loci import company_key, locus_of, value_key
from .shelf import Memo, Scope, Shelf, Tagged
from .weights import MENTION, TABLE, TEXT, Weights

__all__ = ["Neighbour", "Precedents", "Scope", "Tagged", "Vote", "Weights"]


@dataclass(frozen=True)
class Neighbour:
    """A precedent as evidence: where it stands, its concept, and its share of the votes."""

    concept: str
    fact_id: str
    filing_id: str
    company: str
    row_header: str
    column_header: str
    weight: float
    same_company: bool
    same_value: bool

    @property
    def locus(self) -> str:
        return " / ".join(h for h in (self.row_header, self.column_header) if h)


@dataclass(frozen=True, eq=False)
class Vote:
    """How the precedents voted for the concept of one fact.

    ``voters`` are groups of equal precedents of the shelf and ``weights`` their votes (both of shape (n,));
    ``allowed`` is how many groups were allowed to vote; ``fell_back`` says that the datatype was missing or
    unknown, so that all were.
    """

    fact: Fact
    shelf: Shelf | None
    voters: npt.NDArray[np.int64]
    weights: Floats
    allowed: int
    fell_back: bool
    once: bool
    company: int

    def ranking(self, k: int = 200) -> Ranking:
        """The concepts by their share of the votes, best first; ties by id."""
        if self.shelf is None or not len(self.voters):
            return Ranking([], np.zeros(0), {}, self.allowed, self.fell_back)
        columns = self.shelf.columns
        concepts, inverse = np.unique(columns["concept"][self.voters], return_inverse=True)
        n = len(concepts)
        contexts = columns["context"][self.voters] if self.once else None
        tally = _tally(inverse, self.weights, n, contexts)
        share = tally / tally.sum()
        ids = np.array([self.shelf.concepts[c] for c in concepts], dtype=object)
        order = np.lexsort((ids.astype(str), -share))[:k]
        parts = {
            "share": share,
            "companies": _distinct(inverse, columns["company"][self.voters], n),
            "precedents": np.bincount(inverse, minlength=n).astype(np.float64),
        }
        kept = {name: values[order] for name, values in parts.items()}
        return Ranking(ids[order].tolist(), share[order], kept, self.allowed, self.fell_back)

    def nearest(self, n: int = 3, distinct: bool = True) -> list[Neighbour]:
        """The nearest precedents themselves, best first; where ``distinct``, one a concept."""
        found: list[Neighbour] = []
        seen: set[str] = set()
        if self.shelf is None:
            return found
        total = float(self.weights.sum())
        for i in np.argsort(-self.weights, kind="stable"):
            if len(found) >= n:
                break
            group = int(self.voters[i])
            concept = self.shelf.concepts[int(self.shelf.columns["concept"][group])]
            if distinct and concept in seen:
                continue
            seen.add(concept)
            shown = self.shelf.shown[group]
            own = self.company >= 0 and int(self.shelf.columns["company"][group]) == self.company
            found.append(
                Neighbour(
                    concept=concept,
                    fact_id=shown.fact_id,
                    filing_id=shown.filing_id or "",
                    company=shown.company or "",
                    row_header=shown.row_header or shown.context.text[_window(shown)],
                    column_header=shown.column_header or "",
                    weight=float(self.weights[i]) / total,
                    same_company=own,
                    same_value=own and value_key(shown.value) == value_key(self.fact.value),
                )
            )
        return found


class Precedents:
    """An index of already-tagged facts.

    Args:
        tagged: facts with their concepts; at least one. Ids of concepts are without a namespace.
        neighbours: how many precedents vote, at least 1.
        weights: by modality (``table``, ``text``); :data:`TABLE` and :data:`TEXT` where not given, and
            :data:`MENTION` for texts whose values are words.
        united: pairs of names of one company that do not look it (a ticker and a name).

    ``nameless`` is how many do not say whose they are: where a fact does, scope ``others`` leaves them out,
    as they may be its company's. Where neither facts nor precedents name companies (notes), companies play
    no part.

    A ranking's components are ``share`` (of the votes, in [0, 1]; also the score), ``companies`` and
    ``precedents`` (how many of each voted for the concept). Its ``candidates`` is the number of groups of
    equal precedents that were allowed to vote. Safe to share between threads.

    Raises:
        InputError: there are no precedents.
    """

    def __init__(
        self,
        tagged: Iterable[Tagged],
        neighbours: int = 300,
        weights: Mapping[str, Weights] | None = None,
        united: Iterable[tuple[str, str]] = (),
    ) -> None:
        if neighbours < 1:
            raise ValueError(f"neighbours must be at least 1, not {neighbours}")
        by: dict[str, list[Tagged]] = {}
        self.companies = Companies()
        for names in united:
            self.companies.unite(*names)
        for one in tagged:
            by.setdefault(one.fact.modality, []).append(one)
        if not by:
            raise InputError("there are no precedents")
        self.neighbours = neighbours
        self.size = sum(map(len, by.values()))
        self.nameless = sum(not company_key(t.fact.company or "") for found in by.values() for t in found)
        self.weights = {"table": TABLE, "text": _text_weights(by.get("text", [])), **(weights or {})}
        self._shelves = {modality: Shelf(found, self.companies) for modality, found in by.items()}
        self._memo = Memo()

    def __len__(self) -> int:
        return self.size

    def __deepcopy__(self, memo: dict[int, Any]) -> Precedents:
        return self  # DSPy's optimizers copy programs; precedents never change

    @property
    def concepts(self) -> set[str]:
        """Every concept that some precedent has."""
        return {c for shelf in self._shelves.values() for c in shelf.concepts}

    def rank(self, fact: Fact, k: int = 200, scope: Scope = "others") -> Ranking:
        """The concepts that the nearest precedents vote for, best first; ties by id.

        Args:
            fact: needs its locus and context; ``filing_id`` and ``company`` decide what is left out.
            k: at most so many concepts, at least 1.
            scope: ``others`` leaves out the fact's company, ``own`` only its filing and later ones.

        Raises:
            ValueError: ``k`` below 1, or another scope.
            InputError: scope ``others``, and the fact does not say whose it is though precedents do.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        return self.vote(fact, scope).ranking(k)

    def vote(self, fact: Fact, scope: Scope = "others") -> Vote:
        """Let the nearest precedents vote; see :meth:`rank`."""
        if scope not in ("others", "own"):
            raise ValueError(f"the scope is 'others' or 'own', not {scope!r}")
        shelf = self._shelves.get(fact.modality)
        weights = self.weights[fact.modality]
        company = self.companies.find(fact.company)
        voters, votes = np.zeros(0, dtype=np.int64), np.zeros(0)
        allowed, fell_back = 0, False
        if shelf is not None:
            able = shelf.allowed(fact, scope, self._memo)
            groups, fell_back, allowed = able.groups, able.fell_back, len(able)
            scores = shelf.scores(fact, locus_of(fact), able, weights, scope, self._memo)
            best = np.arange(allowed)
            if allowed > self.neighbours:
                best = np.sort(np.argpartition(-scores, self.neighbours - 1)[: self.neighbours])
            chosen = scores[best].astype(np.float64)
            voters = groups[best]
            votes = np.exp(chosen - chosen.max(initial=-np.inf)) if allowed else votes
        return Vote(fact, shelf, voters, votes, allowed, fell_back, weights.once, company)


def _window(fact: Fact) -> slice:
    start, end = fact.mention_start or 0, fact.mention_end or 0
    return slice(max(0, start - 60), end + 50)


def _text_weights(tagged: Sequence[Tagged]) -> Weights:
    """Worded mentions are compared by their own words, numbers by their surroundings."""
    worded = sum(any(c.isalpha() for c in t.fact.value) for t in tagged)
    return MENTION if worded > len(tagged) / 2 else TEXT


def _tally(concepts: npt.NDArray[Any], votes: Floats, n: int, contexts: npt.NDArray[Any] | None) -> Floats:
    """The votes of each concept; where ``contexts`` are given, only the largest of each counts."""
    if contexts is None:
        total: Floats = np.bincount(concepts, weights=votes, minlength=n).astype(np.float64)
        return total
    pairs, place = np.unique(np.stack((concepts, contexts)), axis=1, return_inverse=True)
    best = np.zeros(pairs.shape[1])
    np.maximum.at(best, place.ravel(), votes)
    return _tally(pairs[0], best, n, None)


def _distinct(concepts: npt.NDArray[Any], of: npt.NDArray[Any], n: int) -> Floats:
    """How many different values each concept has."""
    pairs = np.unique(np.stack((concepts, of)), axis=1)
    counts: Floats = np.bincount(pairs[0], minlength=n).astype(np.float64)
    return counts
