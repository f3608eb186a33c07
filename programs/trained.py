"""Trained rows: towers, votes and queries weighed by a logit, then the rows of a table together (abduce's
own)."""

from __future__ import annotations

import itertools
import threading
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import dspy
import numpy as np
import numpy.typing as npt

from ..retrievers.base import Floats, Ranking, Retriever, Where
from ..retrievers.precedents.index import Precedents, Vote
from ..retrievers.precedents.loci import column_tokens, company_key
from ..retrievers.taxonomy import Taxonomy
from ..retrievers.towers.features import worded
from ..signatures.types import Fact
from ..signatures.wording import Wording
from .base import Program
from .config import TrainedConfig
from .evidence import CandidateTable, Known, gather
from .generate import Generator
from .learned import CleanTowers, Learned, signs, sure
from .logit import Logit
from .misspelled import AnyWord, Speller
from .precedents import describe
from .serialize import Serializer
from .terms import Terms
from .together import CANDIDATES, Line, joint_tables, line_of
from .trace import Query, Trace

Beside = Callable[[Fact], Sequence[Fact]]
"""The facts that are tagged together with one in the same source context, itself among them."""

DEFAULT = "unspecified NOS"
"""What a taxonomy says of the concept for which nothing more is said; a mention does not say it."""

DEFAULTS = 40
"""How many concepts of a query with these words become candidates."""

BLOCK = 100
"""At most so many lines of one context are judged together."""


@dataclass(frozen=True, eq=False)
class Gathered:
    """What speaks for each candidate of a fact, and where it comes from; ``default``: what a worded mention's
    words find together with :data:`DEFAULT`."""

    fact: Fact
    judge: CleanTowers
    evidence: CandidateTable
    queries: Sequence[Query]
    vote: Vote
    default: Ranking


@dataclass(frozen=True, eq=False)
class Alone(Gathered):
    """A fact judged without the rest of its table: its candidates' log-probabilities in the order of
    ``places``, best first."""

    places: npt.NDArray[np.int64]
    scores: Floats

    @classmethod
    def of(cls, gathered: Gathered, logit: Logit) -> Alone:
        scores = logit.scores(gathered.evidence.table)
        places = np.lexsort((np.array(gathered.evidence.ids, dtype=str), -scores))
        parts = {f.name: getattr(gathered, f.name) for f in fields(Gathered)}
        return cls(**parts, places=places, scores=scores[places])


class Trained(Program):
    """Rank concepts by what was learned from already-tagged facts.

    Args:
        retriever: answers the locus query and the phrase book's.
        precedents: the already-tagged facts that vote.
        learned: towers and weights; see :mod:`abduce.programs.learned`.
        generator: makes the phrase book's queries.
        serializer, taxonomy, config: as for every program.
        beside: the facts of the same source context; None: each is judged alone.
        wording: how mentions write what the taxonomy words otherwise; they are read in its words. A word
            that the retriever's ``vocabulary`` lacks, where it has one, is read as the one word like it.

    The prediction's ``confidence`` is the probability that the first concept is right; None where the model
    has too few companies to tell.

    Raises:
        InputError: the model was trained for another taxonomy.
        ValueError: it has no weights of the scope.
    """

    config: TrainedConfig

    def __init__(
        self,
        retriever: Retriever,
        precedents: Precedents,
        learned: Learned,
        generator: Generator,
        serializer: Serializer | None = None,
        taxonomy: Taxonomy | None = None,
        config: TrainedConfig | None = None,
        beside: Beside | None = None,
        wording: Wording | None = None,
    ) -> None:
        super().__init__(retriever, serializer, taxonomy, config or TrainedConfig())
        learned.check(self.taxonomy)
        learned.logit(self.config.scope, "table")
        self.precedents, self.learned, self.generator, self.beside = precedents, learned, generator, beside
        self.terms = Terms(wording or Wording())
        self._known = Known(self.taxonomy)
        self._speller = Speller(getattr(retriever, "vocabulary", AnyWord()))
        self._memo = _Memo()

    async def aforward(self, fact: Fact) -> dspy.Prediction:
        """The concepts by what was learned, with ``confidence``."""
        trace = self.start()
        with trace.timed("rank"):
            alone, ranking = self._judged(fact)
        rankings = dict(alone.evidence.rankings)
        if len(alone.default):
            rankings["default"] = alone.default
        queries = [Query(self.serializer.locus(fact), name) for name in rankings]
        known = {q.form: q for q in alone.queries}
        trace.retrieved([known.get(q.form, q) for q in queries], list(rankings.values()))
        if alone.judge.towers is None:
            trace.count("silent_towers")
        near = alone.vote.nearest(self.config.shown)
        trace.notes["precedents"] = [describe(n) for n in near]
        confidence = self._confidence(alone, ranking)
        trace.notes["confidence"] = confidence
        return self.answer(ranking, trace, confidence=confidence)

    def alone(self, fact: Fact) -> Alone:
        """Judge a fact without the rest of its table."""
        return Alone.of(self.gather(fact), self.learned.logit(self.config.scope, fact.modality))

    def gather(self, fact: Fact) -> Gathered:
        """What speaks for each candidate of a fact."""
        scope = self.config.scope
        if worded(fact):
            read = self.terms.wording.expand(fact.value)
            fact = fact.model_copy(update={"value": self._speller.correct(read)})
        judge = self.learned.judge(fact, scope)
        named = bool(company_key(fact.company or ""))
        vote = self.precedents.vote(fact, "others" if named or scope == "others" else "own")
        own = self.precedents.vote(fact, "own") if scope == "own" and named else None
        queries = self._queries(fact)
        wheres = [Where(datatype=fact.datatype)] * len(queries)
        found = self.retriever.search([q.text for q in queries], self.config.K, wheres)
        searched = {q.form: r for q, r in zip(queries, found, strict=True)}
        default = Ranking.of([])
        if worded(fact):
            words = " ".join(self.terms.wording.spoken(fact.value)) or fact.value
            [default] = self.retriever.search([f"{words} {DEFAULT}"], DEFAULTS, wheres[:1])
        evidence = gather(
            fact,
            self._known,
            self.learned.towers,
            judge.towers,
            vote.ranking(self.config.K),
            searched,
            None if own is None else own.ranking(self.config.K),
            self.terms,
            default.ids,
        )
        return Gathered(fact, judge, evidence, queries, own or vote, default)

    def _queries(self, fact: Fact) -> list[Query]:
        """The locus query, and the phrase book's one or two."""
        locus = Query(self.serializer.locus(fact), "locus")
        said = self.generator(fact=fact, J=2, temperature=0.0, trace=Trace())
        texts = [
            h.retrieval_query for h in said if h is not None and h.retrieval_query not in ("", locus.text)
        ]
        return [locus, *(Query(t, name) for t, name in zip(texts, ("phrases", "above"), strict=False))]

    def _judged(self, fact: Fact) -> tuple[Alone, Ranking]:
        """A fact's evidence and final ranking; those of the same line are one."""
        found = self._memo.context(fact)
        key = line_key(fact)
        if key not in found:
            for alone, ranking in self._lines(fact, key):
                found[line_key(alone.fact)] = alone, ranking
        return found[key]

    def _lines(self, fact: Fact, key: object) -> list[tuple[Alone, Ranking]]:
        lines: dict[object, Fact] = {}
        if self.config.joint and self.learned.together is not None and self.beside is not None:
            for other in self.beside(fact):
                lines.setdefault(line_key(other), other)
        lines.setdefault(key, fact)
        ordered = sorted(lines.items(), key=lambda kv: _place(kv[1]))
        at = next(i for i, (k, _) in enumerate(ordered) if k == key) // BLOCK * BLOCK
        found = [self.alone(f) for _, f in ordered[at : at + BLOCK]]
        return list(zip(found, self.rankings(found), strict=True))

    def rankings(self, found: Sequence[Alone]) -> list[Ranking]:
        """The final rankings of the lines of one context: together where a joint logit was learned, else each
        alone."""
        joint = self.learned.joint.get(self.config.scope) if self.config.joint else None
        if joint is None or len(found) == 1:
            return [self._ranking(a, a.scores) for a in found]
        made = []
        for alone, table in zip(found, self.tables(found), strict=True):
            top = len(table)
            mass = float(np.log(np.exp(alone.scores[:top]).sum())) if top else 0.0
            made.append(
                self._ranking(alone, np.concatenate([joint.scores(table) + mass, alone.scores[top:]]))
            )
        return made

    def tables(self, found: Sequence[Alone]) -> list[Floats]:
        """The joint features of the first candidates of each line of one context."""
        assert self.learned.together is not None
        return joint_tables([self.line(a) for a in found], self.learned.together, found[0].judge.group)

    def line(self, alone: Alone) -> Line:
        """A fact as the joint pass sees it."""
        place = self.learned.towers.place
        ids = [alone.evidence.ids[i] for i in alone.places[:CANDIDATES]]
        known = list(itertools.takewhile(place.__contains__, ids))
        numbers = np.array([place[id_] for id_ in known], dtype=np.int64)
        return line_of(alone.fact, numbers, alone.scores[: len(known)])

    def _ranking(self, alone: Alone, scores: Floats) -> Ranking:
        order = np.lexsort((np.arange(len(scores)), -scores))[: self.config.K]
        places = alone.places[order]
        table = alone.evidence
        parts = {
            "towers": table.column("towers")[places],
            "share": np.exp(table.column("share")[places]) * table.column("voted")[places],
            "companies": np.expm1(table.column("companies")[places]),
            "locus": table.column("locus")[places],
            "unseen": table.unseen[places].astype(np.float64),
        }
        ids = [table.ids[i] for i in places]
        seen = [r for r in table.rankings.values() if len(r)]
        candidates = max((r.candidates for r in seen), default=0)
        return Ranking(ids, np.exp(scores[order]), parts, candidates, any(r.fell_back for r in seen))

    def _confidence(self, alone: Alone, ranking: Ranking) -> float | None:
        """The probability that the first concept is right; None where none was learned."""
        logit = self.learned.confidence.get(self.config.scope)
        return None if logit is None else sure(logit, self.signs(alone, ranking))

    def signs(self, alone: Alone, ranking: Ranking) -> Floats:
        """What confidence is computed from."""
        parts = {
            name: float(values[0]) if len(ranking) else 0.0 for name, values in ranking.components.items()
        }
        agreed = alone.evidence.agreement(ranking.ids[0]) if len(ranking) else 0.0
        companies = float(np.log1p(parts["companies"]))
        text = alone.fact.modality == "text"
        return signs(ranking.scores, parts["share"], companies, agreed, parts["unseen"], text)


def line_key(fact: Fact) -> tuple[Any, ...]:
    """What cells of one line share: the row, the datatype, and the column but for its dates. A mention is a
    line of its own."""
    if fact.modality != "table":
        return (fact.fact_id,)
    column = column_tokens(fact.column_header or "")
    return (fact.row_header, fact.row_index, fact.datatype, column)


def _place(fact: Fact) -> tuple[float, float]:
    return float(fact.row_index or 0), float(fact.col_index or fact.mention_start or 0)


def beside(facts: Sequence[Fact]) -> Beside:
    """Which of some facts stand in the same source context of the same filing."""
    contexts: dict[tuple[str, str | None], array[int]] = {}
    for place, fact in enumerate(facts):
        key = fact.context.context_id, fact.filing_id
        contexts.setdefault(key, array("q")).append(place)

    def found(fact: Fact) -> Sequence[Fact]:
        return [facts[i] for i in contexts.get((fact.context.context_id, fact.filing_id), ())]

    return found


class _Memo(threading.local):
    """The lines of the contexts that were judged last, per thread."""

    def __init__(self) -> None:
        self._contexts: dict[Any, dict[object, tuple[Alone, Ranking]]] = {}

    def context(self, fact: Fact) -> dict[object, tuple[Alone, Ranking]]:
        context = fact.context
        key = (context.context_id, hash((context.text, context.preceding_text)), fact.filing_id, fact.company)
        if key not in self._contexts:
            if len(self._contexts) >= 4:
                self._contexts.pop(next(iter(self._contexts)))
            self._contexts[key] = {}
        return self._contexts[key]
