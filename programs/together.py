"""The rows of one table together: which concepts stand in a table with which, and which one below the other.

Counted are companies (or filings) whose already-tagged tables have a pair. Each pair keeps whose they are as
bits, so that a table is judged without those of its own company.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..retrievers.base import Floats
from ..signatures.types import Fact

Numbers = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint8]

FEATURES = ("alone", "table", "below", "above")
"""The columns of a joint table: the logarithm of the probability that the row alone gives, and how much
likelier the concept is for the other rows of the table (mean), for the row just above it, and for the row
just below."""

CANDIDATES = 10
"""How many of a row's concepts are ordered anew."""

DOUBT = 2.0
"""Companies that are imagined to follow the concepts' own frequencies, against chance."""


_ONES = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class Owners:
    """For each key the companies that have it: ``keys`` ascending, shape (keys,); ``bits`` a packed bit for
    each company, shape (keys, ceil(companies / 8))."""

    keys: Numbers
    bits: Bits

    @classmethod
    def of(cls, found: Mapping[int, set[int]], companies: int) -> Owners:
        keys = sorted(found)
        bits = np.zeros((len(keys), -(-companies // 8)), dtype=np.uint8)
        for i, key in enumerate(keys):
            for company in found[key]:
                bits[i, company // 8] |= 1 << company % 8
        return cls(np.array(keys, dtype=np.int64), bits)

    def count(self, keys: Numbers, without: int | None) -> Floats:
        """How many companies have each key, of its shape; ``without`` is one that does not count."""
        if not len(self.keys):
            return np.zeros(keys.shape)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        bits = self.bits[at]
        if without is not None:
            bits = bits.copy()
            bits[..., without // 8] &= 255 - (1 << without % 8)
        many = _ONES[bits].sum(axis=-1, dtype=np.float64)
        return np.where(self.keys[at] == keys, many, 0.0)


@dataclass(frozen=True, eq=False)
class Together:
    """Which concepts stand in one table, and which one just below the other.

    ``single`` is keyed by concept, ``tables`` and ``order`` by ``first * concepts + second``; in ``order``
    the first stands above.
    """

    concepts: int
    companies: int
    single: Owners
    tables: Owners
    order: Owners

    @classmethod
    def count(
        cls, tables: Iterable[tuple[int, Sequence[Sequence[int]]]], concepts: int, companies: int
    ) -> Together:
        """Count tables given as (company, the numbers of the concepts of each row from above)."""
        single: dict[int, set[int]] = {}
        pairs: dict[int, set[int]] = {}
        order: dict[int, set[int]] = {}
        for company, rows in tables:
            inside = sorted({c for row in rows for c in row})
            for a in inside:
                single.setdefault(a, set()).add(company)
                for b in inside:
                    if a != b:
                        pairs.setdefault(a * concepts + b, set()).add(company)
            for up, down in pairwise(rows):
                for key in {a * concepts + b for a in up for b in down}:
                    order.setdefault(key, set()).add(company)
        kept = [{k: v for k, v in found.items() if len(v) > 1} for found in (pairs, order)]
        return cls(
            concepts,
            companies,
            Owners.of(single, companies),
            Owners.of(kept[0], companies),
            Owners.of(kept[1], companies),
        )

    def likelier(self, numbers: Numbers, without: int | None) -> tuple[Floats, Floats, Floats]:
        """How much likelier concepts are where another is known, as logarithms.

        Args:
            numbers: of the concepts, shape (n,).
            without: the company whose tables do not count.

        Returns:
            Three matrices of shape (known, other): in the same table (0 for the concept itself), just below
            the known one, and just above it.
        """
        alone = self.single.count(numbers, without)
        chance = (alone + 0.1) / max(1, self.companies - (without is not None))
        keys = numbers[:, None] * self.concepts + numbers[None, :]

        def lift(together: Floats) -> Floats:
            given = (together + DOUBT * chance[None, :]) / (alone[:, None] + DOUBT)
            value: Floats = np.log(given / chance[None, :])
            return value

        order = self.order.count(keys, without)
        same = lift(self.tables.count(keys, without))
        np.fill_diagonal(same, 0.0)
        return same, lift(order), lift(order.T)


@dataclass(frozen=True, eq=False)
class Line:
    """One row (or mention) of a source context as the joint pass sees it: the numbers of its candidates and
    the logarithms of their probabilities, best first; the row it stands in, and its place from above."""

    candidates: Numbers
    scores: Floats
    row: object
    place: float


def line_of(fact: Fact, candidates: Numbers, scores: Floats) -> Line:
    """A fact as a line."""
    if fact.modality != "table":
        return Line(candidates, scores, fact.fact_id, float(fact.mention_start or 0))
    return Line(candidates, scores, (fact.row_index, fact.row_header), float(fact.row_index or 0))


def joint_tables(lines: Sequence[Line], together: Together, without: int | None = None) -> list[Floats]:
    """The features of the candidates of each line, each of shape (candidates, features)."""
    union = np.unique(np.concatenate([line.candidates for line in lines]))
    m = len(lines)
    odds = np.zeros((m, len(union)))
    for i, line in enumerate(lines):
        odds[i, np.searchsorted(union, line.candidates)] = np.exp(line.scores)
    sums = odds.sum(axis=1, keepdims=True)
    odds = np.divide(odds, sums, out=odds, where=sums > 0)
    same, below, above = (odds @ matrix for matrix in together.likelier(union, without))
    rows = [line.row for line in lines]
    places = np.array([line.place for line in lines])
    found = []
    for i, line in enumerate(lines):
        at = np.searchsorted(union, line.candidates)
        table = np.zeros((len(at), len(FEATURES)))
        table[:, 0] = line.scores
        others = np.array([j for j in range(m) if rows[j] != rows[i]], dtype=np.int64)
        if len(others):
            table[:, 1] = same[np.ix_(others, at)].mean(axis=0)
            up, down = places[others] < line.place, places[others] > line.place
            if up.any():
                nearest = others[up & (places[others] == places[others][up].max())]
                table[:, 2] = below[np.ix_(nearest, at)].mean(axis=0)
            if down.any():
                nearest = others[down & (places[others] == places[others][down].min())]
                table[:, 3] = above[np.ix_(nearest, at)].mean(axis=0)
        found.append(table)
    return found
