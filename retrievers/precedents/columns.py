"""Precedents as columns of numbers; equal rows are one voter."""

from __future__ import annotations

import hashlib
import html
import itertools
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...signatures.types import Fact
from .loci import Tokens, column_tokens, context_tokens, digits_of, locus_of, mention_tokens, row_tokens
from .tokensets import key_of

_DECLARED = re.compile(r"[^ ]+ [^ ]+ (\d{4}-\d\d-\d\d)( amended)?")


def declared_end(filing_id: str | None) -> str:
    """The end of the period (ISO) in a filing's id (``ACMEINC 10-K 2024-12-31``); empty if there is none."""
    match = _DECLARED.fullmatch(filing_id or "")
    return match[1] if match else ""


class Tagged(NamedTuple):
    """One precedent: a fact, and the concept it was tagged with."""

    fact: Fact
    concept: str


@dataclass
class CodeBook:
    """Numbers for values, in order of arrival."""

    numbers: dict[Any, int] = field(default_factory=dict)

    def __call__(self, value: Any) -> int:
        return self.numbers.setdefault(value, len(self.numbers))

    def get(self, value: Any) -> int:
        return self.numbers.get(value, -1)

    def __len__(self) -> int:
        return len(self.numbers)


FIELDS = ("header", "chain", "column", "mention")
"""The token sets of a locus."""
KIND = ("period", "digits", "year")
"""The columns that :data:`KEPT` has as one number."""
COLUMNS = (*FIELDS, *"context page content company filing datatype concept".split(), *KIND)
"""What makes two precedents the same voter, each a code or a number."""

KEPT = (*COLUMNS[: -len(KIND)], "kind")
"""The columns of a shelf; ``kind`` numbers its kinds: period, digits and year."""


class Shown(NamedTuple):
    """A precedent for display. ``where`` is its row header, or the text around a mention."""

    fact_id: str
    filing_id: str
    company: str
    where: str
    column_header: str

    @classmethod
    def of(cls, fact: Fact) -> Shown:
        start, end = fact.mention_start or 0, fact.mention_end or 0
        where = fact.row_header or fact.context.text[max(0, start - 60) : end + 50]
        return cls(fact.fact_id, fact.filing_id or "", fact.company or "", where, fact.column_header or "")


class SameValues(NamedTuple):
    """Which groups have a given figure of a company: hashes of both, ascending, and each group."""

    keys: npt.NDArray[np.uint32]
    groups: npt.NDArray[np.int32]

    @classmethod
    def of(cls, found: Mapping[tuple[int, str], set[int]]) -> SameValues:
        keys = np.repeat([cls.key(*pair) for pair in found], [len(g) for g in found.values()])
        groups = np.fromiter(itertools.chain.from_iterable(found.values()), dtype=np.int32, count=len(keys))
        order = np.lexsort((groups, keys))
        return cls(keys[order].astype(np.uint32), groups[order])

    @staticmethod
    def key(company: int, value: str) -> int:
        return key_of((str(company), value)) & 0xFFFFFFFF

    def find(self, company: int, value: str) -> npt.NDArray[np.int32]:
        key = np.uint32(self.key(company, value))
        return self.groups[np.searchsorted(self.keys, key) : np.searchsorted(self.keys, key, "right")]


NOTHING = b"-"
"""The content of a query's empty source context, which is no precedent's."""


_MARKUP = re.compile(r"<[^>]*>")
_NO_LETTER = re.compile(r"[\W_]+")


def content_key(text: str, table: bool = False) -> bytes:
    """A key of a source context's text: a hash of its letters and digits, in order.

    Copies of a text have the same key, whatever their line ends, white space, Unicode form and quotation
    marks (for a ``table`` also markup). Empty for a text without letters and digits.
    """
    shown = html.unescape(_MARKUP.sub(" ", text)) if table else text
    letters = _NO_LETTER.sub("", unicodedata.normalize("NFC", shown))
    return (
        hashlib.blake2b(letters.encode("utf-8", "surrogatepass"), digest_size=8).digest() if letters else b""
    )


class Pages:
    """The source contexts of precedents. Those of a tags file are known only by the windows in its lines:
    each distinct text of an id is a separate page with its own tokens.
    """

    def __init__(self) -> None:
        self.tokens: dict[str, list[Tokens]] = {"context": [], "preceding": []}
        self._seen: dict[int, tuple[int, int, int]] = {}

    def __call__(self, fact: Fact, codes: Mapping[str, CodeBook]) -> tuple[int, int, int]:
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


class Places:
    """Codes of loci. Cells of a row share the row header, and cells of a column the column header; each is
    read once.
    """

    def __init__(self, codes: Mapping[str, CodeBook]) -> None:
        self._codes = [codes[name] for name in FIELDS]
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
def year_number(year: str | None) -> int:
    return int(year) if year and year.isdigit() else 0
