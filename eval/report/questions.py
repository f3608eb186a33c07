"""The analyses of a RAG run, as tables (HCQR paper: Tables 1 to 12)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...retrievers.errors import InputError
from ...signatures.types import UtilityLabel
from ..runs.outcome import RowResult
from ..runs.question_codec import GOLD_TOKENS, LABEL_MEASURES
from ..runs.run import Run
from ..tables import Cell, Table, Value, p_value
from ..utility import Labels, agreement, effect, label_shares, macro, subset_gains

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class CellOf:
    """One cell of the paper's tables: a method, a model, a question set."""

    row: RowResult
    method: str
    model: str
    dataset: str
    mask: Mask

    def values(self, measure: str) -> npt.NDArray[np.float64]:
        """The measure on the cell's questions; NaN where it does not apply or does not exist."""
        if measure not in self.row.values:
            return np.full(int(self.mask.sum()), np.nan)
        return self.row.per_example(measure)[self.mask]

    def labels(self) -> list[UtilityLabel | None]:
        """The labels of the first judge and the first seed; None: unjudged."""
        found: list[UtilityLabel | None] = [None] * int(self.mask.sum())
        for name, label in LABEL_MEASURES.items():
            if name in self.row.values:
                given = (self.row.values[name][0] == 1.0) & ~self.row.failed[0]
                for i in np.flatnonzero(given[self.mask]):
                    found[i] = label
        return found


def cells_of(run: Run) -> list[CellOf]:
    """Every cell of a run, by question set, model and method, in the run's order."""
    datasets = list(dict.fromkeys(e.groups.get("dataset", "") for e in run.examples))
    masks = {d: np.array([e.groups.get("dataset", "") == d for e in run.examples]) for d in datasets}
    return [
        CellOf(row, str(row.settings.get("method", row.name)), _model(row), dataset, masks[dataset])
        for dataset in datasets
        for row in run.rows
    ]


def _model(row: RowResult) -> str:
    return str(row.settings.get("model_name", ""))


def question_tables(run: Run) -> Iterator[Table]:
    """What ``abduce report`` shows of a RAG run beside the tables that every run has."""
    cells = cells_of(run)
    several = len({(c.dataset, c.model) for c in cells}) > 1
    for measure, title in (
        ("Acc", "Accuracy"),
        ("DUR", "Decision-useful rate"),
        (GOLD_TOKENS, "Gold tokens"),
    ):
        if several and measure in run.measures:
            yield cell_table(cells, measure, f"{title} by question set and model")
    clusters = [e.cluster or f"\0{e.id}" for e in run.examples]
    if any(c.row.settings.get("judges") for c in cells):
        yield label_table(cells)
    if baselines := no_rag_cells(cells):
        yield effect_table(cells, baselines, clusters)
        if any(c.row.settings.get("judges") for c in cells):
            yield gain_table(cells, baselines, clusters)
    yield from judge_tables(run)


def cell_table(cells: Sequence[CellOf], measure: str, title: str) -> Table:
    """Methods by (question set, model), with the unweighted average of each question set's models and of
    all cells."""
    methods = list(dict.fromkeys(c.method for c in cells if measure in c.row.values))
    datasets = list(dict.fromkeys(c.dataset for c in cells))
    models = list(dict.fromkeys(c.model for c in cells if c.model)) or [""]
    mean = {(c.method, c.model, c.dataset): _mean(c.values(measure)) for c in cells}
    rows: list[list[Value]] = []
    for method in methods:
        line: list[Value] = [method]
        every = []
        for dataset in datasets:
            found = [mean.get((method, m, dataset), mean.get((method, "", dataset), np.nan)) for m in models]
            every += found
            line += [Cell(v) for v in found]
            if len(models) > 1:
                line.append(Cell(macro(found)))
        rows.append([*line, Cell(macro(every))] if len(datasets) > 1 else line)
    columns = ["row"]
    for dataset in datasets:
        columns += [f"{dataset} {m}".strip() for m in models]
        columns += [f"{dataset} avg."] if len(models) > 1 else []
    return Table([*columns, "avg."] if len(datasets) > 1 else columns, rows, title=title)


def label_table(cells: Sequence[CellOf]) -> Table:
    """Entailed, Useful and Not Useful of every cell, DUR, and how many contexts have no valid label."""
    rows: list[list[Value]] = []
    for c in cells:
        if not c.row.settings.get("judges"):
            continue
        shares = label_shares(c.labels())
        line: list[Value] = [_name(c), shares.judged]
        line += [Cell(shares.share(label)) for label in UtilityLabel]
        rows.append([*line, Cell(shares.dur), shares.unjudged])
    columns = ["context", "judged", *(str(label) for label in LABEL_MEASURES), "DUR", "unjudged"]
    return Table(columns, rows, title="Context utility", notes=["Shares are of the judged contexts."])


def no_rag_cells(cells: Iterable[CellOf]) -> dict[tuple[str, str], CellOf]:
    """The No-RAG cell of each (model, question set)."""
    return {
        (c.model, c.dataset): c
        for c in cells
        if c.row.settings.get("spec", {}).get("program") == "no-rag" and "Acc" in c.row.values
    }


def effect_table(
    cells: Sequence[CellOf], baselines: dict[tuple[str, str], CellOf], clusters: Sequence[Hashable]
) -> Table:
    """Every method against No-RAG with the same model: helped, harmed, McNemar's exact test."""
    rows: list[list[Value]] = []
    for c in cells:
        base = baselines.get((c.model, c.dataset))
        if base is None or base.row is c.row or "Acc" not in c.row.values:
            continue
        ours, theirs = _right(c), _right(base)
        found = effect(ours, theirs, _some(clusters, c.mask))
        d, counts = found.difference, found.counts
        rows.append(
            [
                _name(c), Cell(found.baseline.mean), Cell(found.accuracy.mean),
                Cell(d.mean, low=d.low, high=d.high), counts.helped, counts.harmed, p_value(counts.p),
            ]
        )  # fmt: skip
    columns = ["row", "No-RAG", "Acc", "difference", "helped", "harmed", "p"]
    notes = [
        "helped: right with the method, wrong without retrieval; harmed: the other way round. First seed.",
        "p: McNemar's exact test. In brackets: 95% intervals, resampling questions with the same text.",
    ]
    return Table(columns, rows, title="Helped and harmed against No-RAG", notes=notes)


def gain_table(
    cells: Sequence[CellOf], baselines: dict[tuple[str, str], CellOf], clusters: Sequence[Hashable]
) -> Table:
    """Accuracy and gain over No-RAG on the same questions, by label; below, averages over all cells."""
    rows: list[list[Value]] = []
    every: dict[UtilityLabel, list[tuple[float, float]]] = {label: [] for label in UtilityLabel}
    for c in cells:
        base = baselines.get((c.model, c.dataset))
        if base is None or base.row is c.row or not c.row.settings.get("judges"):
            continue
        line: list[Value] = [_name(c)]
        for g in subset_gains(_right(c), _right(base), c.labels(), _some(clusters, c.mask)):
            line += [g.n, Cell(g.accuracy.mean), Cell(g.gain.mean, low=g.gain.low, high=g.gain.high)]
            every[g.label].append((g.accuracy.mean, g.gain.mean))
        rows.append(line)
    if len(rows) > 1:
        line = ["average of cells"]
        for pairs in every.values():
            line += [None, Cell(macro([a for a, _ in pairs])), Cell(macro([b for _, b in pairs]))]
        rows.append(line)
    columns = ["row"]
    for label in LABEL_MEASURES:
        columns += [f"{label} n", "Acc", "gain"]
    return Table(columns, rows, title="Accuracy by label, and same-subset gain over No-RAG")


def judge_tables(run: Run) -> Iterator[Table]:
    """Who judged, with which prompt; and how far two judges agree."""
    judges: list[dict[str, str]] = next(
        (row.settings["judges"] for row in run.rows if row.settings.get("judges")), []
    )
    if not judges:
        return
    rows: list[list[Value]] = [[j["name"], j["model"], j["version"], j["prompt_sha256"][:16]] for j in judges]
    yield Table(["judge", "model", "version", "prompt (sha256)"], rows, title="Judges")
    if len(judges) == 2:
        yield from agreement_tables(run, [j["name"] for j in judges])


def agreement_tables(run: Run, names: Sequence[str]) -> Iterator[Table]:
    """Cohen's kappa of two judges for each row and over all, and what one says where the other says what."""
    first: list[UtilityLabel | None] = []
    second: list[UtilityLabel | None] = []
    rows: list[list[Value]] = []
    for row in run.rows:
        a, b = _two_judges(run, row)
        try:
            found = agreement(a, b)
        except ValueError:
            continue
        rows.append([row.name, found.n, Cell(found.agreed), Cell(found.kappa)])
        first, second = first + list(a), second + list(b)
    if not rows:
        return
    total = agreement(first, second)
    rows.append(["all", total.n, Cell(total.agreed), Cell(total.kappa)])
    title = f"Agreement of {names[0]} and {names[1]}"
    yield Table(["row", "n", "agreed", "kappa"], rows, title=title)
    body: list[list[Value]] = [[str(a), *total.table[a].values()] for a in UtilityLabel]
    yield Table([f"{names[0]} \\ {names[1]}", *map(str, UtilityLabel)], body, title=f"{title}: counts")


def _two_judges(run: Run, row: RowResult) -> tuple[Labels, Labels]:
    pairs: dict[tuple[int, str], tuple[UtilityLabel | None, UtilityLabel | None]] = {}
    try:
        for record in run.records(row.name):
            given: list[dict[str, Any]] = record.get("utility") or []
            if len(given) == 2:
                a, b = (None if g["label"] is None else UtilityLabel(g["label"]) for g in given)
                pairs[record["seed"], record["id"]] = a, b
    except InputError:  # the run kept no records
        return [], []
    return [a for a, _ in pairs.values()], [b for _, b in pairs.values()]


def _name(c: CellOf) -> str:
    return f"{c.dataset}: {c.row.name}" if c.dataset else c.row.name


def _right(c: CellOf) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = c.row.values["Acc"][0][c.mask]
    return found


def _some(values: Sequence[Hashable], mask: Mask) -> list[Hashable]:
    return [v for v, inside in zip(values, mask, strict=True) if inside]


def _mean(values: npt.NDArray[np.float64]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
