"""Precedents: already-tagged facts, searched by locus, that vote for their concepts.

Every precedent gets a log-linear score: a weighted sum of the similarities of the two loci (innermost header,
whole header chain, column header, table or passage, the text above it) and of other agreements (the company,
the value, the kind of period, the number of digits). The best ``neighbours`` vote with ``exp(score)``; a
concept's score is its share of the votes. Precedents of the fact's own filing or source context never vote,
nor do those of the same text if either names no filing. Scope ``others`` also leaves out precedents of the
fact's company, and those without a company name. Scope ``own`` leaves out the company's filings whose period
ended after that of the fact's filing.
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
from .columns import Tagged
from .companies import Companies
from .loci import company_key, locus_of, value_key
from .shelf import Memo, Scope, Shelf
from .weights import MENTION, TABLE, TEXT, Weights

__all__ = ["Neighbour", "Precedents", "Scope", "Tagged", "Vote", "Weights"]


@dataclass(frozen=True)
class Neighbour:
    """A precedent as evidence: its concept, its place (``where`` is its row header, or the text around a
    mention), its share of the votes (``weight``), and its similarity.
    """

    concept: str
    fact_id: str
    filing_id: str
    company: str
    where: str
    column_header: str
    weight: float
    alike: float
    same_company: bool
    same_value: bool

    @property
    def locus(self) -> str:
        return " / ".join(h for h in (self.where, self.column_header) if h)


@dataclass(frozen=True, eq=False)
class Vote:
    """The votes of the precedents for one fact.

    ``voters`` are groups of equal precedents, ``of`` the numbers of their shelves, and ``weights`` their
    votes. ``alike`` is the similarity of the loci (:meth:`.shelf.Shelf.alike`); ``decided`` marks decisions
    of the fact's own company (:meth:`.shelf.Shelf.decided`). All have shape (n,). ``allowed`` is the number
    of groups that were allowed to vote. ``fell_back``: the datatype was missing or unknown, so groups of all
    datatypes were.
    """

    fact: Fact
    shelves: Sequence[Shelf]
    of: npt.NDArray[np.int64]
    voters: npt.NDArray[np.int64]
    weights: Floats
    alike: Floats
    decided: npt.NDArray[np.bool_]
    allowed: int
    fell_back: bool
    once: bool

    def _column(self, name: str) -> npt.NDArray[np.int64]:
        """A column of the voters; codes of different shelves differ."""
        found = np.zeros(len(self.voters), dtype=np.int64)
        for number, shelf in enumerate(self.shelves):
            here = self.of == number
            found[here] = shelf.columns[name][self.voters[here]].astype(np.int64) + (number << 32)
        return found

    def concept(self, code: int) -> str:
        """The concept of a code in the column ``concept``."""
        return self.shelves[code >> 32].concepts[code & 0xFFFFFFFF]

    def ranking(self, k: int = 200) -> Ranking:
        """The concepts by their share of the votes, best first; ties by id."""
        if not len(self.voters):
            return Ranking([], np.zeros(0), {}, self.allowed, self.fell_back)
        codes, of_code = np.unique(self._column("concept"), return_inverse=True)
        names = np.array([self.concept(code) for code in codes.tolist()], dtype=object)
        ids, of_name = np.unique(names, return_inverse=True)  # shelves may share concepts
        inverse, n = of_name[of_code], len(ids)
        tally = _tally(inverse, self.weights, n, self._column("context") if self.once else None)
        share = tally / tally.sum()
        order = np.lexsort((ids.astype(str), -share))[:k]
        parts = {
            "share": share,
            "companies": _distinct(inverse, self._column("company"), n),
            "precedents": np.bincount(inverse, minlength=n).astype(np.float64),
            "alike": _most(inverse, self.alike, n),
            "decided": _most(inverse, self.decided.astype(np.float64), n),
        }
        kept = {name: values[order] for name, values in parts.items()}
        return Ranking(ids[order].tolist(), share[order], kept, self.allowed, self.fell_back)

    def nearest(self, n: int = 3, distinct: bool = True) -> list[Neighbour]:
        """The nearest precedents, best first; with ``distinct``, one per concept."""
        found: list[Neighbour] = []
        seen: set[str] = set()
        total = float(self.weights.sum())
        codes = self._column("concept").tolist()
        for i in np.argsort(-self.weights, kind="stable"):
            if len(found) >= n:
                break
            concept = self.concept(codes[i])
            if distinct and concept in seen:
                continue
            seen.add(concept)
            shelf, group = self.shelves[int(self.of[i])], int(self.voters[i])
            shown = shelf.shown[group]
            company = shelf.companies.find(self.fact.company)
            own = company >= 0 and int(shelf.columns["company"][group]) == company
            same = own and group in shelf.values.find(company, value_key(self.fact.value))
            weight = float(self.weights[i]) / total
            alike = float(self.alike[i])
            found.append(Neighbour(concept, *shown, weight, alike, own, bool(same)))
        return found


class Precedents:
    """An index of already-tagged facts.

    Args:
        tagged: facts with their concepts, at least one. Concept ids have no namespace.
        neighbours: the number of precedents that vote, at least 1.
        weights: by modality (``table``, ``text``); :data:`TABLE` and :data:`TEXT` where not given, and
            :data:`MENTION` for texts whose values are words.
        united: pairs of names of the same company that look different (a ticker and a name).

    ``nameless`` counts precedents without a company name. If the fact has a company, scope ``others`` leaves
    them out, because they may be of the same company. If neither facts nor precedents name companies (notes),
    companies have no effect.

    A ranking's components are ``share`` (of the votes, in [0, 1]; also the score), ``companies`` and
    ``precedents`` (how many of each voted for the concept), ``alike`` and ``decided`` (of its best voter, see
    :class:`Vote`). Its ``candidates`` is the number of groups of
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
        self.left_out: frozenset[str] = frozenset()
        self.size = sum(map(len, by.values()))
        self.nameless = sum(not company_key(t.fact.company or "") for found in by.values() for t in found)
        known = {"table": TABLE, "text": _text_weights(by.get("text", [])), **(weights or {})}
        self.shelves = [
            (modality, Shelf.of(found, self.companies), known[modality]) for modality, found in by.items()
        ]
        self._memo = Memo()

    @classmethod
    def of_shelves(
        cls,
        shelves: Iterable[tuple[str, Shelf, Weights]],
        size: int,
        nameless: int,
        neighbours: int = 300,
        left_out: Iterable[str] = (),
    ) -> Precedents:
        """An index from existing shelves, each with its modality and weights.

        Args:
            shelves: at least one.
            size, nameless: the number of precedents, and of those without a company name.
            neighbours: how many vote.
            left_out: filings that never vote.
        """
        made = cls.__new__(cls)
        made.shelves, made.size, made.nameless = list(shelves), size, nameless
        made.neighbours, made.left_out = neighbours, frozenset(left_out)
        made.companies = made.shelves[0][1].companies
        made._memo = Memo()
        return made

    def beside(self, other: Precedents) -> Precedents:
        """Both indexes together; the best precedents of all vote."""
        return self.of_shelves(
            [*self.shelves, *other.shelves],
            self.size + other.size,
            self.nameless + other.nameless,
            self.neighbours,
            self.left_out | other.left_out,
        )

    def without(self, filings: Iterable[str]) -> Precedents:
        """The same index without the votes of these filings."""
        return self.of_shelves(
            self.shelves, self.size, self.nameless, self.neighbours, self.left_out | set(filings)
        )

    def __len__(self) -> int:
        return self.size

    def __deepcopy__(self, memo: dict[int, Any]) -> Precedents:
        return self  # DSPy's optimizers copy programs; precedents never change

    @property
    def concepts(self) -> set[str]:
        """Every concept of some precedent."""
        return {c for _, shelf, _ in self.shelves for c in shelf.concepts}

    def knows(self, company: str | None) -> bool:
        """Whether some precedent is of a company."""
        return any(shelf.companies.find(company) >= 0 for _, shelf, _ in self.shelves)

    def seen(self, fact: Fact, concept: str) -> dict[str, bool]:
        """What others' precedents have of a fact: its ``concept``, and its innermost ``header`` or its
        ``mention`` (neither for a header without words or a number in text).
        """
        found = [
            shelf.seen(fact, locus_of(fact), concept, self.left_out)
            for modality, shelf, _ in self.shelves
            if modality == fact.modality
        ]
        return {
            name: any(one.get(name, False) for one in found) for name in {n for one in found for n in one}
        }

    def rank(self, fact: Fact, k: int = 200, scope: Scope = "others") -> Ranking:
        """The concepts that the nearest precedents vote for, best first; ties by id.

        Args:
            fact: needs its locus and context; ``filing_id`` and ``company`` decide what is left out.
            k: the most concepts, at least 1.
            scope: ``others`` leaves out the fact's company, ``own`` only its filing and later ones.

        Raises:
            ValueError: ``k`` below 1, or an unknown scope.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        return self.vote(fact, scope).ranking(k)

    def vote(self, fact: Fact, scope: Scope = "others") -> Vote:
        """Let the nearest precedents vote; see :meth:`rank`. If none shares a word with the fact, there are
        no votes.
        """
        if scope not in ("others", "own"):
            raise ValueError(f"the scope is 'others' or 'own', not {scope!r}")
        chosen = [(shelf, weights) for modality, shelf, weights in self.shelves if modality == fact.modality]
        of, groups, scores = [], [], []
        fell_back, locus = False, locus_of(fact)
        for number, (shelf, weights) in enumerate(chosen):
            may_vote = shelf.allowed(fact, scope, self._memo, self.left_out)
            fell_back = fell_back or may_vote.fell_back
            if not shelf.shares_words(fact, locus, may_vote, weights, self._memo):
                may_vote = may_vote.none()
            of.append(np.full(len(may_vote), number))
            groups.append(may_vote.groups)
            scores.append(shelf.scores(fact, locus, may_vote, weights, scope, self._memo))
        found = np.concatenate(scores) if scores else np.zeros(0, dtype=np.float32)
        allowed = len(found)
        best = np.arange(allowed)
        if allowed > self.neighbours:
            best = np.sort(np.argpartition(-found, self.neighbours - 1)[: self.neighbours])
        nearest = found[best].astype(np.float64)
        votes = np.exp(nearest - nearest.max(initial=-np.inf)) if allowed else np.zeros(0)
        none = np.zeros(0, dtype=np.int64)
        shelf_of = np.concatenate(of)[best] if of else none
        voters = np.concatenate(groups)[best] if groups else none
        alike, decided = np.zeros(len(voters)), np.zeros(len(voters), dtype=np.bool_)
        for number, (shelf, weights) in enumerate(chosen):
            here = shelf_of == number
            alike[here] = shelf.alike(locus, voters[here], weights, self._memo)
            decided[here] = shelf.decided(fact, locus, voters[here], self._memo)
        return Vote(
            fact,
            [shelf for shelf, _ in chosen],
            shelf_of,
            voters,
            votes,
            alike,
            decided,
            allowed,
            fell_back,
            any(weights.once for _, weights in chosen),
        )


def _text_weights(tagged: Sequence[Tagged]) -> Weights:
    """Worded mentions are compared by their words, numbers by the text around them."""
    worded = sum(any(c.isalpha() for c in t.fact.value) for t in tagged)
    return MENTION if worded > len(tagged) / 2 else TEXT


def _most(concepts: npt.NDArray[Any], values: Floats, n: int) -> Floats:
    """The largest value of each concept."""
    found = np.zeros(n)
    np.maximum.at(found, concepts, values)
    return found


def _tally(concepts: npt.NDArray[Any], votes: Floats, n: int, contexts: npt.NDArray[Any] | None) -> Floats:
    """The votes of each concept; with ``contexts``, only the largest vote per context counts."""
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
