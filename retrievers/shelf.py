"""The precedents of one modality, in columns: who may vote, and with what score."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ..signatures.types import Fact
from .errors import InputError
from .loci import Locus, Tokens, company_key, context_tokens, locus_of, same_company, value_key
from .tokensets import Similarities, TokenSets
from .weights import Weights

Scope = Literal["others", "own"]
"""Whose precedents may vote: other companies' only, or the company's own (of other filings) too."""


class Tagged(NamedTuple):
    """One precedent: a fact, and the concept it was tagged with."""

    fact: Fact
    concept: str


@dataclass
class Codes:
    """Values as numbers, in the order they come."""

    numbers: dict[Any, int] = field(default_factory=dict)

    def __call__(self, value: Any) -> int:
        return self.numbers.setdefault(value, len(self.numbers))

    def get(self, value: Any) -> int:
        return self.numbers.get(value, -1)

    def __len__(self) -> int:
        return len(self.numbers)


_FIELDS = ("header", "chain", "column", "mention")
_OTHERS = ("context", "page", "content", "filing", "datatype", "concept")


class Group(NamedTuple):
    """What makes two precedents the same voter, as codes."""

    header: int
    chain: int
    column: int
    mention: int
    context: int
    page: int
    content: int
    company: int
    filing: int
    datatype: int
    concept: int
    period: int
    digits: int
    year: int


class Shelf:
    """Precedents of one modality. Equal ones (a row's cells of several dates) are one group."""

    def __init__(self, tagged: Sequence[Tagged], companies: Companies) -> None:
        self.codes = {
            name: Codes()
            for name in (*_FIELDS, "context", "page", "content", "filing", "datatype", "concept")
        }
        self.companies = companies
        groups: dict[Group, int] = {}
        self.shown: list[Fact] = []
        pages = _Pages()
        values: dict[tuple[int, str], set[int]] = {}
        self.latest = max((_year(t.fact) for t in tagged), default=0)
        for fact, concept in tagged:
            group = self._group(fact, concept, *pages(fact, self.codes))
            number = groups.setdefault(group, len(groups))
            if number == len(self.shown):
                self.shown.append(fact)
            values.setdefault((group.company, value_key(fact.value)), set()).add(number)
        rows = np.array(list(groups), dtype=np.int32).reshape(len(groups), len(Group._fields))
        self.columns = {name: np.ascontiguousarray(rows[:, i]) for i, name in enumerate(Group._fields)}
        self.values = {k: np.fromiter(sorted(v), dtype=np.int64) for k, v in values.items()}
        self.sets = {name: TokenSets(list(self.codes[name].numbers)) for name in _FIELDS}
        self.sets |= {name: TokenSets(found) for name, found in pages.tokens.items()}
        self.concepts = list(self.codes["concept"].numbers)

    def _group(self, fact: Fact, concept: str, context: int, page: int, content: int) -> Group:
        locus = locus_of(fact)
        return Group(
            self.codes["header"](locus.header),
            self.codes["chain"](locus.chain),
            self.codes["column"](locus.column),
            self.codes["mention"](locus.mention),
            context,
            page,
            content,
            self.companies.code(fact.company),
            self.codes["filing"](fact.filing_id),
            self.codes["datatype"](fact.datatype),
            self.codes["concept"](concept),
            locus.period,
            locus.digits,
            _year(fact),
        )

    def allowed(self, fact: Fact, scope: Scope) -> tuple[npt.NDArray[np.int64], bool]:
        """The groups that may vote, and whether the datatype could not be used.

        Raises:
            InputError: scope ``others`` and a fact that does not say whose it is, though precedents do.
        """
        columns, codes = self.columns, self.codes
        datatype = codes["datatype"].get(fact.datatype)
        known = fact.datatype is not None and datatype >= 0
        keep = np.ones(len(self.shown), dtype=np.bool_)
        if known:
            keep &= columns["datatype"] == datatype
        keep &= columns["context"] != codes["context"].get(fact.context.context_id)
        same = columns["content"] == codes["content"].get(content_key(fact.context.text) or NOTHING)
        if fact.filing_id is not None:
            keep &= columns["filing"] != codes["filing"].get(fact.filing_id)
            same &= columns["filing"] == codes["filing"].get(None)
        keep &= ~same
        if scope == "others" and company_key(fact.company or ""):
            keep &= columns["company"] != self.companies.find(fact.company)
            keep &= columns["company"] != self.companies.unknown
        elif scope == "others" and self.companies.named:
            raise InputError(
                f"the fact {fact.fact_id!r} does not say whose it is, and scope 'others' leaves out "
                "precedents of its company: give the company"
            )
        return np.flatnonzero(keep), not known

    def scores(
        self,
        fact: Fact,
        locus: Locus,
        groups: npt.NDArray[np.int64],
        weights: Weights,
        scope: Scope,
        memo: Memo,
    ) -> Similarities:
        """The log-linear score of each group."""
        total = np.zeros(len(groups), dtype=np.float32)

        def add(weight: float, values: npt.NDArray[Any]) -> None:
            if weight:
                np.add(total, np.float32(weight) * values, out=total, casting="unsafe")

        for name in _FIELDS:
            if getattr(weights, name):
                found = memo.similarity(self.sets[name], getattr(locus, name))
                add(getattr(weights, name), found[self.columns[name][groups]])
            same = self.codes[name].get(getattr(locus, name))
            add(getattr(weights, f"same_{name}"), self.columns[name][groups] == same)
        for name, tokens in memo.context(fact).items():
            if getattr(weights, name) and (tokens or name == "context"):
                found = memo.similarity(self.sets[name], tokens)
                add(getattr(weights, name), found[self.columns["page"][groups]])
        add(weights.same_period, self.columns["period"][groups] == locus.period)
        add(weights.digits, np.abs(self.columns["digits"][groups] - locus.digits))
        years = self.columns["year"][groups]
        add(weights.recency, np.where(years > 0, years - self.latest, 0))  # an unknown year is neutral
        company = self.companies.find(fact.company)
        if scope == "own" and company >= 0:
            add(weights.same_company, self.columns["company"][groups] == company)
            same_values = self.values.get((company, value_key(fact.value)))
            if same_values is not None:
                add(weights.same_value, np.isin(groups, same_values, assume_unique=True))
        return total


NOTHING = b"-"
"""The content of a query's empty source context, which is no precedent's."""


def content_key(text: str) -> bytes:
    """What tells the texts of source contexts apart; empty for an empty one, which tells nothing."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() if text else b""


class _Pages:
    """The source contexts of precedents. One of a tags file is known by the windows that its lines show:
    each text of an id is a page of its own, and has its own tokens."""

    def __init__(self) -> None:
        self.tokens: dict[str, list[Tokens]] = {"context": [], "preceding": []}
        self._seen: dict[int, tuple[int, int, int]] = {}

    def __call__(self, fact: Fact, codes: Mapping[str, Codes]) -> tuple[int, int, int]:
        """The codes of a fact's context id, of its page and of its content."""
        known = self._seen.get(id(fact.context))  # facts share their context
        if known is None:
            id_, content = fact.context.context_id, content_key(fact.context.text)
            page = codes["page"]((id_, content))
            known = (codes["context"](id_), page, codes["content"](content))
            self._seen[id(fact.context)] = known
            if page == len(self.tokens["context"]):
                self.tokens["context"].append(context_tokens(fact.context.text, fact.modality == "table"))
                self.tokens["preceding"].append(context_tokens(fact.context.preceding_text, False))
        return known


def _year(fact: Fact) -> int:
    year = fact.taxonomy_year or ""
    return int(year) if year.isdigit() else 0


class Companies:
    """Companies by key; spellings of the same company share a number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def code(self, name: str | None) -> int:
        key = company_key(name or "")
        if key not in self._numbers:
            self._numbers[key] = self.find(name) if self.find(name) >= 0 else len(self._numbers)
        return self._numbers[key]

    @property
    def unknown(self) -> int:
        """The number of those that do not say whose they are; -2 where there are none."""
        return self._numbers.get("", -2)

    @property
    def named(self) -> bool:
        """Whether any says whose it is."""
        return any(self._numbers)

    def find(self, name: str | None) -> int:
        """The number of a company, or -1 where no precedent is of it or there is no name."""
        key = company_key(name or "")
        if not key:
            return -1
        if key in self._numbers:
            return self._numbers[key]
        return next((n for k, n in self._numbers.items() if k and same_company(k, key)), -1)


class Memo(threading.local):
    """The similarities that neighbouring facts share (a table's context, a row's header), per thread."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, tuple[str, ...]], Similarities] = {}
        self._contexts: dict[tuple[str, int], dict[str, tuple[str, ...]]] = {}

    def similarity(self, sets: TokenSets, tokens: tuple[str, ...]) -> Similarities:
        key = (id(sets), tokens)
        if key not in self._found:
            if len(self._found) >= 64:
                self._found.pop(next(iter(self._found)))
            self._found[key] = sets.similarity(tokens)
        return self._found[key]

    def context(self, fact: Fact) -> dict[str, tuple[str, ...]]:
        key = (fact.context.context_id, hash(fact.context.text))
        if key not in self._contexts:
            if len(self._contexts) >= 8:
                self._contexts.pop(next(iter(self._contexts)))
            self._contexts[key] = {
                "context": context_tokens(fact.context.text, fact.modality == "table"),
                "preceding": context_tokens(fact.context.preceding_text, False),
            }
        return self._contexts[key]
