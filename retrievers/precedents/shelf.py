"""The precedents of one modality, in columns: who may vote, and with what score."""

from __future__ import annotations

import hashlib
import html
import itertools
import re
import threading
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ...signatures.types import Fact
from ..errors import InputError
from .companies import Companies
from .loci import (
    Locus,
    Tokens,
    column_tokens,
    company_key,
    context_tokens,
    digits_of,
    locus_of,
    mention_tokens,
    row_tokens,
    value_key,
)
from .tokensets import Similarities, TokenSets
from .weights import Weights

Scope = Literal["others", "own"]
"""Whose precedents may vote: other companies' only, or the company's own (of its other filings, but those
that say that their period ended later) too."""

K = TypeVar("K")
V = TypeVar("V")

_DECLARED = re.compile(r"[^ ]+ [^ ]+ (\d{4}-\d\d-\d\d)( amended)?")


def declared_end(filing_id: str | None) -> str:
    """The end of the period (ISO) that a filing's id declares (``ACMEINC 10-K 2024-12-31``); empty where it
    declares none."""
    match = _DECLARED.fullmatch(filing_id or "")
    return match[1] if match else ""


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
_KIND = ("period", "digits", "year")
COLUMNS = (*_FIELDS, *"context page content company filing datatype concept".split(), *_KIND)
"""What makes two precedents the same voter, each a code or a number."""


class Shelf:
    """Precedents of one modality. Equal ones (a row's cells of several dates) are one group."""

    def __init__(self, tagged: Sequence[Tagged], companies: Companies) -> None:
        self.codes = {name: Codes() for name in COLUMNS}
        self.companies = companies
        groups: dict[tuple[int, ...], int] = {}
        self.shown: list[Fact] = []
        pages, places = _Pages(), _Places(self.codes)
        self.values: dict[tuple[int, str], set[int]] = {}
        self.latest = max((_year(t.fact.taxonomy_year) for t in tagged), default=0)
        filing, datatype, tag = (self.codes[name] for name in ("filing", "datatype", "concept"))
        for fact, concept in tagged:
            company = companies.code(fact.company)
            header, chain, column, mention, period, digits = places(fact)
            context, page, content = pages(fact, self.codes)
            group = (
                *(header, chain, column, mention, context, page, content, company, filing(fact.filing_id)),
                *(datatype(fact.datatype), tag(concept), period, digits, _year(fact.taxonomy_year)),
            )
            number = groups.setdefault(group, len(groups))
            if number == len(self.shown):
                self.shown.append(fact)
            self.values.setdefault((company, value_key(fact.value)), set()).add(number)
        n, width = len(groups), len(COLUMNS)
        rows = np.fromiter(itertools.chain.from_iterable(groups), dtype=np.int32, count=n * width)
        table = rows.reshape(n, width)
        self.columns = dict(zip(COLUMNS, np.ascontiguousarray(table.T), strict=True))
        self.kinds, kind = np.unique(table[:, -len(_KIND) :], axis=0, return_inverse=True)
        self.columns["kind"] = kind.astype(np.int32).ravel()
        self.sets = {name: TokenSets(list(self.codes[name].numbers)) for name in _FIELDS}
        self.sets |= {name: TokenSets(found) for name, found in pages.tokens.items()}
        self.concepts = list(self.codes["concept"].numbers)
        self.ends = np.array([declared_end(f) for f in filing.numbers])

    def allowed(self, fact: Fact, scope: Scope, memo: Memo) -> Voters:
        """The groups that may vote.

        Raises:
            InputError: scope ``others`` and a fact that does not say whose it is, though precedents do.
        """
        codes = self.codes
        named = bool(company_key(fact.company or ""))
        if scope == "others" and not named and self.companies.named:
            raise InputError(
                f"the fact {fact.fact_id!r} does not say whose it is, and scope 'others' leaves out "
                "precedents of its company: give the company"
            )
        company = self.companies.find(fact.company) if named else -1
        key = (
            codes["datatype"].get(fact.datatype) if fact.datatype is not None else -1,
            codes["context"].get(fact.context.context_id),
            codes["content"].get(memo.context(fact).content or NOTHING),
            None if fact.filing_id is None else codes["filing"].get(fact.filing_id),
            (company, self.companies.unknown) if scope == "others" and named else (),
            (company, declared_end(fact.filing_id)) if scope == "own" and company >= 0 else (-1, ""),
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
    ) -> Voters:
        """Those of a datatype, where it is one (not -1), that are of none of the others, nor of a company's
        filing whose period ended after ``until``."""
        columns = self.columns
        keep = columns["context"] != context
        if datatype >= 0:
            keep &= columns["datatype"] == datatype
        same = columns["content"] == content
        if filing is not None:
            keep &= columns["filing"] != filing
            same &= columns["filing"] == self.codes["filing"].get(None)
        keep &= ~same
        for company in companies:
            keep &= columns["company"] != company
        mine, end = until
        if end and (later := self.ends > end).any():
            keep &= ~((columns["company"] == mine) & later[columns["filing"]])
        return Voters(columns, np.flatnonzero(keep), datatype < 0)

    def scores(
        self, fact: Fact, locus: Locus, voters: Voters, weights: Weights, scope: Scope, memo: Memo
    ) -> Similarities:
        """The log-linear score of each group, summed over the distinct values of each column first."""
        total = np.zeros(len(voters), dtype=np.float32)
        for name in _FIELDS:
            weight, bonus = getattr(weights, name), getattr(weights, f"same_{name}")
            if not (weight or bonus):
                continue
            tokens = getattr(locus, name)
            each = np.float32(weight) * memo.similarity(self.sets[name], tokens)
            same = self.codes[name].get(tokens)
            if bonus and same >= 0:
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
            same_values = self.values.get((company, value_key(fact.value)))
            if weights.same_value and same_values is not None:
                found = np.fromiter(same_values, dtype=np.int64, count=len(same_values))
                total += np.float32(weights.same_value) * np.isin(voters.groups, found, assume_unique=True)
        return total


class Voters:
    """Groups that may vote (``groups``, shape (n,)) and their columns. ``fell_back`` says that the datatype
    is missing or unknown, so that groups of all datatypes are among them."""

    def __init__(
        self, columns: Mapping[str, npt.NDArray[np.int32]], groups: npt.NDArray[np.int64], fell_back: bool
    ) -> None:
        self.groups, self.fell_back = groups, fell_back
        self._all = columns
        self._own: dict[str, npt.NDArray[np.int32]] = {}

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, name: str) -> npt.NDArray[np.int32]:
        """A column of these groups."""
        if name not in self._own:
            self._own[name] = self._all[name][self.groups]
        return self._own[name]


NOTHING = b"-"
"""The content of a query's empty source context, which is no precedent's."""


_MARKUP = re.compile(r"<[^>]*>")
_NO_LETTER = re.compile(r"[\W_]+")


def content_key(text: str, table: bool = False) -> bytes:
    """What tells the texts of source contexts apart: a hash of their letters and digits, in their order.

    Another copy of a text (line ends, white space, Unicode form, kinds of quotation marks; of a ``table`` its
    markup too) has the same key. Empty for a text that has none of them, which tells nothing.
    """
    shown = html.unescape(_MARKUP.sub(" ", text)) if table else text
    letters = _NO_LETTER.sub("", unicodedata.normalize("NFC", shown))
    return (
        hashlib.blake2b(letters.encode("utf-8", "surrogatepass"), digest_size=8).digest() if letters else b""
    )


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
            table = fact.modality == "table"
            id_, content = fact.context.context_id, content_key(fact.context.text, table)
            page = codes["page"]((id_, content))
            known = (codes["context"](id_), page, codes["content"](content))
            self._seen[id(fact.context)] = known
            if page == len(self.tokens["context"]):
                self.tokens["context"].append(context_tokens(fact.context.text, table))
                self.tokens["preceding"].append(context_tokens(fact.context.preceding_text, False))
        return known


class _Places:
    """The codes of loci. Cells of a row share its header, cells of a column its header: each is read once."""

    def __init__(self, codes: Mapping[str, Codes]) -> None:
        self._codes = [codes[name] for name in _FIELDS]
        self._rows: dict[str | None, tuple[int, int]] = {}
        self._columns: dict[str | None, tuple[int, int]] = {}

    def __call__(self, fact: Fact) -> tuple[int, int, int, int, int, int]:
        """Header, chain, column, mention, period and number of digits of a fact's locus."""
        header, chain, column, mention = self._codes
        words = mention(mention_tokens(fact.value))
        if fact.modality != "table":
            locus = locus_of(fact)
            codes = header(locus.header), chain(locus.chain), column(locus.column)
            return (*codes, words, locus.period, locus.digits)
        row = self._rows.get(fact.row_header)
        if row is None:
            leaf, whole = row_tokens(fact.row_header or "")
            row = self._rows[fact.row_header] = header(leaf), chain(whole)
        above = self._columns.get(fact.column_header)
        if above is None:
            tokens, period = column_tokens(fact.column_header or "")
            above = self._columns[fact.column_header] = column(tokens), period
        return row[0], row[1], above[0], words, above[1], digits_of(fact)


@lru_cache(maxsize=1000)
def _year(year: str | None) -> int:
    return int(year) if year and year.isdigit() else 0


class Near(NamedTuple):
    """What of a fact's source context is compared: the tokens of its text and of the text above it, and the
    key of its content."""

    text: Tokens
    above: Tokens
    content: bytes


class Memo(threading.local):
    """What neighbouring facts share (a table's context, a row's header, who may vote), per thread."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, Tokens], Similarities] = {}
        self._contexts: dict[tuple[str, int], Near] = {}
        self._voters: dict[Any, Voters] = {}

    def similarity(self, sets: TokenSets, tokens: Tokens) -> Similarities:
        return _kept(self._found, (id(sets), tokens), lambda: sets.similarity(tokens), 64)

    def voters(self, key: Any, find: Callable[[], Voters]) -> Voters:
        return _kept(self._voters, key, find, 8)

    def context(self, fact: Fact) -> Near:
        context = fact.context
        return _kept(
            self._contexts,
            (context.context_id, hash((context.text, context.preceding_text))),
            lambda: Near(
                context_tokens(context.text, fact.modality == "table"),
                context_tokens(context.preceding_text, False),
                content_key(context.text, fact.modality == "table"),
            ),
            8,
        )


def _kept(known: dict[K, V], key: K, find: Callable[[], V], most: int) -> V:
    """What is known under a key, found where it is not; the oldest of ``most`` is forgotten."""
    if key not in known:
        if len(known) >= most:
            known.pop(next(iter(known)))
        known[key] = find()
    return known[key]
