"""The precedents of one modality in columns: which may vote, and their scores."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ...signatures.types import Fact
from .columns import (
    COLUMNS,
    FIELDS,
    KEPT,
    KIND,
    NOTHING,
    CodeBook,
    Pages,
    Places,
    SameValues,
    Shown,
    Tagged,
    content_key,
    declared_end,
    year_number,
)
from .companies import Companies
from .loci import LocusTokens, Tokens, company_key, context_tokens, value_key
from .tokensets import Similarities, TokenSets
from .weights import Weights

Scope = Literal["others", "own"]
"""Whose precedents may vote: other companies' only, or the company's own (of its other filings, but those
that say that their period ended later) too."""

K = TypeVar("K")
V = TypeVar("V")


class Shelf:
    """Precedents of one modality. Equal ones (a row's cells of several dates) form one group.

    Args:
        columns: :data:`KEPT`, each of shape (groups,).
        kinds: shape (kinds, 3).
        sets: the token sets of loci, source contexts and the texts above them.
        codes: the numbers of source contexts, contents, filings and datatypes.
        concepts: their ids by number.
        values: the figures of companies.
        shown: the first precedent of each group.
        companies: the numbers of companies.
        latest: the latest taxonomy year; 0: unknown.
        decides: whether they are decisions of a person or a company's filing, rather than a collection.
    """

    def __init__(
        self,
        columns: Mapping[str, npt.NDArray[Any]],
        kinds: npt.NDArray[np.int32],
        sets: Mapping[str, TokenSets],
        codes: Mapping[str, CodeBook],
        concepts: Sequence[str],
        values: SameValues,
        shown: Sequence[Shown],
        companies: Companies,
        latest: int,
        decides: bool = True,
    ) -> None:
        self.columns, self.kinds, self.sets, self.codes = columns, kinds, sets, codes
        self.concepts, self.values, self.shown, self.companies = concepts, values, shown, companies
        self.latest, self.decides = latest, decides
        self.typed = any(codes["datatype"].numbers)  # else no fact can lack one
        self.ends = np.array([declared_end(f) for f in codes["filing"].numbers])

    @classmethod
    def of(cls, tagged: Sequence[Tagged], companies: Companies) -> Shelf:
        """The shelf of precedents, at least one."""
        codes = {name: CodeBook() for name in COLUMNS}
        groups: dict[tuple[int, ...], int] = {}
        shown: list[Shown] = []
        pages, places = Pages(), Places(codes)
        values: dict[tuple[int, str], set[int]] = {}
        filing, datatype, tag = (codes[name] for name in ("filing", "datatype", "concept"))
        for fact, concept in tagged:
            company = companies.code(fact.company)
            header, chain, column, mention, period, digits = places(fact)
            context, page, content = pages(fact, codes)
            group = (
                *(header, chain, column, mention, context, page, content, company, filing(fact.filing_id)),
                *(datatype(fact.datatype), tag(concept), period, digits, year_number(fact.taxonomy_year)),
            )
            number = groups.setdefault(group, len(groups))
            if number == len(shown):
                shown.append(Shown.of(fact))
            values.setdefault((company, value_key(fact.value)), set()).add(number)
        n, width = len(groups), len(COLUMNS)
        rows = np.fromiter(itertools.chain.from_iterable(groups), dtype=np.int32, count=n * width)
        table = rows.reshape(n, width)
        kinds, kind = np.unique(table[:, -len(KIND) :], axis=0, return_inverse=True)
        columns = dict(zip(COLUMNS, np.ascontiguousarray(table.T), strict=True))
        columns["kind"] = kind.astype(np.int32).ravel()
        sets = {name: TokenSets(list(codes[name].numbers)) for name in FIELDS}
        sets |= {name: TokenSets(found) for name, found in pages.tokens.items()}
        return cls(
            {name: columns[name] for name in KEPT},
            kinds,
            sets,
            {name: codes[name] for name in ("context", "content", "filing", "datatype")},
            list(codes["concept"].numbers),
            SameValues.of(values),
            shown,
            companies,
            max((year_number(t.fact.taxonomy_year) for t in tagged), default=0),
        )

    def allowed(self, fact: Fact, scope: Scope, memo: Memo, left_out: frozenset[str] = frozenset()) -> Voters:
        """The groups that may vote, without those of the filings ``left_out``.

        If the fact has no company, scope ``others`` leaves no company out.
        """
        codes = self.codes
        named = bool(company_key(fact.company or ""))
        company = self.companies.find(fact.company) if named else -1
        key = (
            codes["datatype"].get(fact.datatype) if fact.datatype is not None else -1,
            codes["context"].get(fact.context.context_id),
            codes["content"].get(memo.context(fact).content or NOTHING),
            None if fact.filing_id is None else codes["filing"].get(fact.filing_id),
            (company, self.companies.unknown) if scope == "others" and named else (),
            (company, declared_end(fact.filing_id)) if scope == "own" and company >= 0 else (-1, ""),
            left_out,
        )
        return memo.voters((id(self), key), lambda: self._voters(*key))

    def _voters(
        self,
        datatype: int,
        context: int,
        content: int,
        filing: int | None,
        companies: tuple[int, ...],
        until: tuple[int, str],
        left_out: frozenset[str],
    ) -> Voters:
        """Those of a datatype, where it is one (not -1), that are of none of the others, nor of a company's
        filing whose period ended after ``until``.

        A fact that says no filing is of the filing that has its source context's text, where there is one.
        """
        columns, numbers = self.columns, self.codes["filing"]
        keep = columns["context"] != context
        if datatype >= 0:
            keep &= columns["datatype"] == datatype
        same = columns["content"] == content
        unsaid = numbers.get(None)
        gone = {numbers.get(name) for name in left_out}
        if filing is not None:
            gone.add(filing)
            same &= columns["filing"] == unsaid
        else:
            gone |= set(np.unique(columns["filing"][same]).tolist()) - {unsaid}
        keep &= ~same
        for number in gone:
            keep &= columns["filing"] != number
        for company in companies:
            keep &= columns["company"] != company
        mine, end = until
        if end and (later := self.ends > end).any():
            keep &= ~((columns["company"] == mine) & later[columns["filing"]])
        return Voters(columns, np.flatnonzero(keep), datatype < 0 and self.typed)

    def scores(
        self, fact: Fact, locus: LocusTokens, voters: Voters, weights: Weights, scope: Scope, memo: Memo
    ) -> Similarities:
        """The log-linear score of each group, summed over the distinct values of each column first."""
        total = np.zeros(len(voters), dtype=np.float32)
        for name in FIELDS:
            weight, bonus = getattr(weights, name), getattr(weights, f"same_{name}")
            if not (weight or bonus):
                continue
            tokens = getattr(locus, name)
            each = np.float32(weight) * memo.similarity(self.sets[name], tokens)
            same = self.sets[name].find(tokens) if bonus else -1
            if same >= 0:
                each[same] += np.float32(bonus)
            total += each[voters[name]]
        near = memo.context(fact)
        page = np.zeros(len(self.sets["context"]), dtype=np.float32)
        if weights.context:
            page += np.float32(weights.context) * memo.similarity(self.sets["context"], near.text)
        if weights.preceding and near.above:
            page += np.float32(weights.preceding) * memo.similarity(self.sets["preceding"], near.above)
        total += page[voters["page"]]
        period, digits, years = self.kinds.T
        each = weights.same_period * (period == locus.period) + weights.digits * np.abs(digits - locus.digits)
        each += weights.recency * np.where(years > 0, years - self.latest, 0)  # an unknown year is neutral
        total += each.astype(np.float32)[voters["kind"]]
        company = self.companies.find(fact.company)
        if scope == "own" and company >= 0:
            total += np.float32(weights.same_company) * (voters["company"] == company)
            same_values = self.values.find(company, value_key(fact.value))
            if weights.same_value and len(same_values):
                total += np.float32(weights.same_value) * np.isin(voters.groups, same_values)
        return total

    def shares_words(
        self, fact: Fact, locus: LocusTokens, voters: Voters, weights: Weights, memo: Memo
    ) -> bool:
        """Whether any of some groups shares a word with a fact, in headers, mention or surrounding text, as
        far as these have weight. True if no words have weight.
        """
        near = memo.context(fact)
        compared = [(name, name, getattr(locus, name)) for name in FIELDS]
        compared += [("context", "page", near.text), ("preceding", "page", near.above)]
        counted = [one for one in compared if getattr(weights, one[0])]
        return not counted or any(
            bool(memo.similarity(self.sets[name], words)[voters[column]].any())
            for name, column, words in counted
            if words
        )

    def alike(
        self, locus: LocusTokens, groups: npt.NDArray[np.int64], weights: Weights, memo: Memo
    ) -> Similarities:
        """The similarity, in [0, 1], of the loci of some groups to one locus.

        By the mention where mentions are words, by the innermost header or the whole chain, whichever is more
        alike, in tables; 1 for numbers in texts, whose surroundings are never alike.
        """
        if weights.once:
            return np.ones(len(groups), dtype=np.float32)
        names = ("mention",) if weights.mention else ("header", "chain")
        each = [memo.similarity(self.sets[n], getattr(locus, n))[self.columns[n][groups]] for n in names]
        most: Similarities = np.maximum.reduce(each)
        return most

    def seen(self, fact: Fact, locus: LocusTokens, concept: str, left_out: frozenset[str]) -> dict[str, bool]:
        """Whether precedents of other companies, outside the left-out filings, have a fact's header (or
        mention) and a concept.
        """
        columns, filings = self.columns, self.codes["filing"]
        others = columns["company"] != (self.companies.find(fact.company) if fact.company else -1)
        for name in (*left_out, fact.filing_id):
            others &= columns["filing"] != filings.get(name) if name is not None else True
        numbers = {id_: number for number, id_ in enumerate(self.concepts)}
        found = {"concept": bool((others & (columns["concept"] == numbers.get(concept, -1))).any())}
        name = "mention" if locus.mention else "header"
        if getattr(locus, name) and (locus.mention or fact.modality == "table"):
            found[name] = bool((others & (columns[name] == self.sets[name].find(getattr(locus, name)))).any())
        return found

    def decided(
        self, fact: Fact, locus: LocusTokens, groups: npt.NDArray[np.int64], memo: Memo
    ) -> npt.NDArray[np.bool_]:
        """The groups of the fact's company with the same header chain (or a mention's words or surrounding
        text) and the same kind of period.
        """
        company = self.companies.find(fact.company) if self.decides else -1
        name = "mention" if locus.mention else "chain"
        place = self.sets[name].find(getattr(locus, name)) if company >= 0 and getattr(locus, name) else -1
        if place < 0:
            return np.zeros(len(groups), dtype=np.bool_)
        columns = self.columns
        found: npt.NDArray[np.bool_] = columns[name][groups] == place
        found &= columns["company"][groups] == company
        found &= self.kinds[columns["kind"][groups], 0] == locus.period
        return found


class Voters:
    """Groups that may vote (``groups``, shape (n,)) and their columns. ``fell_back``: the datatype is missing
    or unknown, so groups of all datatypes are included.
    """

    def __init__(
        self, columns: Mapping[str, npt.NDArray[Any]], groups: npt.NDArray[np.int64], fell_back: bool
    ) -> None:
        self.groups, self.fell_back = groups, fell_back
        self._all = columns
        self._own: dict[str, npt.NDArray[Any]] = {}

    def none(self) -> Voters:
        """No groups."""
        return Voters(self._all, self.groups[:0], self.fell_back)

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """A column of these groups."""
        if name not in self._own:
            self._own[name] = self._all[name][self.groups]
        return self._own[name]


class ContextTokens(NamedTuple):
    """The compared parts of a fact's source context: the tokens of its text and of the text above it, and its
    content key.
    """

    text: Tokens
    above: Tokens
    content: bytes


class Memo(threading.local):
    """Values that adjacent facts share (a table's context, a row's header, the voters), per thread."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, Tokens], Similarities] = {}
        self._contexts: dict[tuple[str, int], ContextTokens] = {}
        self._voters: dict[Any, Voters] = {}

    def similarity(self, sets: TokenSets, tokens: Tokens) -> Similarities:
        return _kept(self._found, (id(sets), tokens), lambda: sets.similarity(tokens), 64)

    def voters(self, key: Any, find: Callable[[], Voters]) -> Voters:
        return _kept(self._voters, key, find, 8)

    def context(self, fact: Fact) -> ContextTokens:
        context = fact.context
        return _kept(
            self._contexts,
            (context.context_id, hash((context.text, context.preceding_text))),
            lambda: ContextTokens(
                context_tokens(context.text, fact.modality == "table"),
                context_tokens(context.preceding_text, False),
                content_key(context.text, fact.modality == "table"),
            ),
            8,
        )


def _kept(known: dict[K, V], key: K, find: Callable[[], V], most: int) -> V:
    """The cached value of a key, computed if missing; beyond ``most`` entries the oldest is dropped."""
    if key not in known:
        if len(known) >= most:
            known.pop(next(iter(known)))
        known[key] = find()
    return known[key]
