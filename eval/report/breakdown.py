"""Detailed tables of a run: by group of examples, by cost, by kind of failure, against the baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ...retrievers.errors import InputError
from ..runs.comparison import NO_CONTEXTS
from ..runs.run import Run
from ..stats import holm, mean_sd
from ..tables import Table, TableCell, Value, p_value

HEADLINES = ("MRR", "Acc", "R@10")
"""The measure that stands for quality where there is room for one: the first that a run has."""

COMPARED = ("R@1", "R@10", "MRR", "Acc", "DUR")
"""The measures that rows are compared by where nothing else is asked for."""

OTHER = "(other)"
"""The group of everything beyond the largest groups."""


def headline(run: Run) -> str:
    """The run's main measure.

    Raises:
        InputError: the run has no measure.
    """
    if not run.measures:
        raise InputError("the run has no measures")
    return next((m for m in HEADLINES if m in run.measures), run.measures[0])


def group_fields(run: Run) -> list[str]:
    """Fields that split the examples into at least two groups, in order of occurrence."""
    names = dict.fromkeys(name for e in run.examples for name in e.groups)
    return [n for n in names if len({e.groups.get(n, "") for e in run.examples}) > 1]


def groups_of(run: Run, field: str, most: int = 8) -> dict[str, npt.NDArray[np.bool_]]:
    """A mask over the examples for each value of a field, largest first; values after the first ``most`` form
    one group, ``(other)``.

    Raises:
        InputError: no example has the field.
    """
    values = [e.groups.get(field, "") for e in run.examples]
    if not any(values):
        known = ", ".join(dict.fromkeys(n for e in run.examples for n in e.groups)) or "none"
        raise InputError(f"no example has the field {field!r}; there are: {known}", field="by")
    counts = Counter(v or "(none)" for v in values)
    ranked = sorted(counts, key=lambda v: (-counts[v], v))
    kept = ranked if len(ranked) <= most else ranked[: most - 1]
    labels = np.array([v if v in kept else OTHER for v in (v or "(none)" for v in values)])
    names = [*kept, OTHER] if len(kept) < len(ranked) else kept
    return {name: labels == name for name in names}


def referenced(run: Run, field: str) -> list[str]:
    """The measures for which a row's reference gives the paper's numbers by this field."""
    return [
        m
        for m in run.measures
        if any(k.startswith(f"{m} by {field}: ") for r in run.rows for k in r.reference)
    ]


def breakdown(run: Run, field: str, measure: str | None = None, intervals: bool = True) -> Table:
    """One measure of every row by the values of a field (modality, datatype, subject ...).

    A row's reference ``"Acc by modality: table"`` is the paper's number of that cell.

    Raises:
        InputError: an unknown field or measure.
    """
    measure = measure or headline(run)
    if measure not in run.measures:
        raise InputError(f"no measure {measure!r}; there are {', '.join(run.measures)}", field="measure")
    masks = groups_of(run, field)
    rows: list[list[Value]] = []
    for row in run.rows:
        if measure not in row.values:
            continue
        per_example = row.per_example(measure)
        split = [np.where(mask, per_example, np.nan) for mask in masks.values()]
        found = run.bootstrap.intervals(split)
        cells = [
            TableCell(
                i.mean,
                low=i.low if intervals else None,
                high=i.high if intervals else None,
                reference=row.reference.get(f"{measure} by {field}: {value}"),
            )
            for value, i in zip(masks, found, strict=True)
        ]
        rows.append([row.name, *cells])
    columns = ["row", *(f"{name} (n={int(mask.sum()):,})" for name, mask in masks.items())]
    return Table(columns, rows, title=f"{measure} by {field}")


def cost_table(run: Run) -> Table:
    """Means per example: model calls, tokens, retrievals, other counters, and seconds.

    Columns of zeros are left out. Seconds are the wall time of one example in the program; parallel examples
    overlap. The whole run is the time in which any example of the row was running, with its deviation over
    seeds. A row's reference may name a column (``"llm calls"``, ``"retrievals"``).
    """
    names = list(dict.fromkeys(c for row in run.rows for c, v in row.costs.items() if np.nansum(v) > 0))
    rows: list[list[Value]] = []
    for row in run.rows:
        line: list[Value] = [row.name]
        for name in names:
            values = row.costs.get(name)
            reference = row.reference.get(name.replace("_", " "))
            mean = None if values is None else _nanmean(values)
            known = mean is not None or reference is not None
            line.append(TableCell(mean, digits=1, reference=reference) if known else None)
        seconds = row.seconds[~np.isnan(row.seconds)]
        if len(seconds):
            line += [TableCell(float(seconds.mean()), 4), TableCell(float(np.quantile(seconds, 0.95)), 4)]
        else:
            line += [None, None]
        walls = row.walls()
        wall, sd = mean_sd(walls) if walls else (None, None)
        rows.append([*line, TableCell(wall, 1, sd=sd)])
    columns = ["row", *(n.replace("_", " ") for n in names), "seconds", "95th %", "whole run (s)"]
    return Table(columns, rows, title="Cost per example")


def _nanmean(values: npt.NDArray[np.float64]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def against(run: Run, baseline: str, measures: Sequence[str] | None = None) -> Table:
    """Every other row minus the baseline: the difference with its 95% interval, p after Holm over rows, and
    last the counts and exact p of McNemar's test on accuracy, which treats facts as independent.

    Args:
        run: the run.
        baseline: the row that is subtracted.
        measures: the measures; default those of ``COMPARED`` that the run has.

    Raises:
        InputError: no such row.
    """
    chosen = measures or [m for m in COMPARED if m in run.measures] or run.measures
    wanted = [m for m in chosen if m in run[baseline].values]
    others = [row for row in run.rows if row.name != baseline]
    found = {
        row.name: run.compare(row.name, baseline, [m for m in wanted if m in row.values]) for row in others
    }
    adjusted: dict[str, Mapping[str, float]] = {
        m: holm({name: c.differences[m].p for name, c in found.items() if m in c.differences}) for m in wanted
    }
    rows: list[list[Value]] = []
    for name, comparison in found.items():
        line: list[Value] = [name]
        for m in wanted:
            d = comparison.differences.get(m)
            line += (
                ["", ""]
                if d is None
                else [TableCell(d.mean, low=d.low, high=d.high), p_value(adjusted[m][name])]
            )
        counts = comparison.counts.get("Acc")
        line += [counts.helped, counts.harmed, p_value(counts.p)] if counts else ["", "", ""]
        rows.append(line)
    columns = ["row", *(c for m in wanted for c in (m, f"{m} p")), "helped", "harmed", "McNemar p"]
    notes = [
        "In brackets: the 95% interval of each difference by itself, resampling source contexts. p: the same "
        "test after Holm's correction over the rows, so that an interval without 0 may stand beside p > .05."
    ]
    if run.bootstrap.n_clusters < 2:
        notes = [NO_CONTEXTS]
    table = Table(columns, rows, title=f"Difference to {baseline}", notes=notes)
    return table if any(c.counts.get("Acc") for c in found.values()) else _without(table, 3)


def _without(table: Table, last: int) -> Table:
    return Table(table.columns[:-last], [row[:-last] for row in table.rows], table.title, table.notes)


def failure_table(run: Run) -> Table | None:
    """Errors by row with their counts and one example each; None if nothing failed."""
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], tuple[str, str]] = {}
    for row in run.rows:
        for (_, id_), reason in row.errors.items():
            key = row.name, reason["type"]
            counts[key] += 1
            first.setdefault(key, (id_, reason["message"][:120]))
    if not counts:
        return None
    rows: list[list[Value]] = [[row, n, kind, *first[row, kind]] for (row, kind), n in counts.most_common()]
    return Table(["row", "failed", "error", "for example", "reason"], rows, title="Failures")


def label_length(label_tokens: int) -> str:
    """The group of a gold label's length, in tokens of the label (paper: Table 13, Panel B)."""
    for top, name in ((1, "1 token"), (2, "2 tokens"), (4, "3-4 tokens"), (8, "5-8 tokens")):
        if label_tokens <= top:
            return name
    return "9 or more tokens"
