"""Compare two rows of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..stats import Difference, PairedCounts
from ..tables import Table, TableCell, Value, p_value

NO_CONTEXTS = (
    "All examples are of one source context: there is nothing to resample, so there is no interval and no p."
)
"""Said where no interval can be given."""


@dataclass(frozen=True)
class Comparison:
    """Row ``a`` against row ``b``: the difference a - b of each measure, paired by example.

    Intervals and p of a difference resample source contexts. ``counts`` has McNemar's counts and exact p for
    right-or-wrong measures (one seed only); that p treats examples as independent.
    """

    a: str
    b: str
    differences: Mapping[str, Difference]
    counts: Mapping[str, PairedCounts]

    def table(self) -> Table:
        """One line per measure: difference with its 95% interval, p, helped and harmed."""
        rows: list[list[Value]] = []
        for name, d in self.differences.items():
            counts = self.counts.get(name)
            helped: list[Value] = (
                [counts.helped, counts.harmed, p_value(counts.p)] if counts else ["", "", ""]
            )
            rows.append([name, d.n, TableCell(d.mean, low=d.low, high=d.high), p_value(d.p), *helped])
        columns = ["measure", "n", "difference [95%]", "p", "helped", "harmed", "McNemar p"]
        notes = [NO_CONTEXTS] if any(math.isnan(d.p) for d in self.differences.values()) else []
        return Table(columns, rows, title=f"{self.a} minus {self.b}", notes=notes)

    def _repr_html_(self) -> str:
        return self.table().html()

    def __str__(self) -> str:
        return self.table().markdown()
