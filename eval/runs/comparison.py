"""Two rows of a run against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..stats import Difference, PairedCounts
from ..tables import Cell, Table, Value, p_value


@dataclass(frozen=True)
class Comparison:
    """Row ``a`` against row ``b``: the difference a - b of each measure, paired by example.

    ``counts`` has McNemar's counts for the measures that are right or wrong (one seed only).
    """

    a: str
    b: str
    differences: Mapping[str, Difference]
    counts: Mapping[str, PairedCounts]

    def p(self, measure: str) -> float:
        """McNemar's exact p for accuracy, else the clustered bootstrap's."""
        exact = measure == "Acc" and measure in self.counts
        return self.counts[measure].p if exact else self.differences[measure].p

    def table(self) -> Table:
        """One line a measure: difference with its 95% interval, p, helped and harmed."""
        rows: list[list[Value]] = []
        for name, d in self.differences.items():
            counts = self.counts.get(name)
            helped: list[Value] = (
                [counts.helped, counts.harmed, p_value(counts.p)] if counts else ["", "", ""]
            )
            rows.append([name, d.n, Cell(d.mean, low=d.low, high=d.high), p_value(d.p), *helped])
        columns = ["measure", "n", "difference [95%]", "p", "helped", "harmed", "McNemar p"]
        return Table(columns, rows, title=f"{self.a} minus {self.b}")

    def _repr_html_(self) -> str:
        return self.table().html()

    def __str__(self) -> str:
        return self.table().markdown()
