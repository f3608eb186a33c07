"""Statements of the HCQR paper about its tables, compared with a run (Sections 5.1 to 5.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...signatures.types import UtilityLabel
from ..tables import Table, Value
from ..utility import label_shares, macro
from .cells import CellOf, counterpart, preset_of

MAIN = ("No-RAG (CoT)", "Simple RAG", "Rewriting", "HyDE", "Rerank-RAG", "MAIN-RAG", "HCQR")


@dataclass(frozen=True)
class Trend:
    """One statement: whether it holds in the run, and the figures."""

    statement: str
    holds: bool
    measured: str


def trend_table(cells: Sequence[CellOf]) -> Table | None:
    """The paper's statements that a run has the rows for; None if there are none."""
    found = [*_accuracy(cells), *_utility(cells), *_controls(cells)]
    if not found:
        return None
    rows: list[list[Value]] = [
        [t.statement, "holds" if t.holds else "does not hold", t.measured] for t in found
    ]
    notes = [
        "Point estimates: a trend that holds need not be significant. Averages are over models, unweighted."
    ]
    return Table(["the paper states", "here", "measured"], rows, title="The paper's trends", notes=notes)


class _Cells:
    """Means of a measure by the paper's rows."""

    def __init__(self, cells: Sequence[CellOf], measure: str) -> None:
        self.measure = measure
        self.of: dict[str, dict[tuple[str, str], float]] = {}
        for c in cells:
            if not np.isnan(mean := c.mean(measure)):
                self.of.setdefault(preset_of(c.row), {})[c.identity, c.dataset] = mean

    def has(self, *presets: str) -> bool:
        return all(p in self.of for p in presets)

    def pairs(self, a: str, b: str) -> list[float]:
        """a - b in every cell that both have."""
        return [self.of[a][k] - self.of[b][k] for k in self.of[a] if k in self.of[b]]

    def by_dataset(self, a: str, b: str) -> dict[str, float]:
        """a - b by question set, averaged over models."""
        datasets = dict.fromkeys(d for _, d in self.of[a])
        return {
            d: macro([self.of[a][k] - self.of[b][k] for k in self.of[a] if k[1] == d and k in self.of[b]])
            for d in datasets
        }

    def average(self, preset: str) -> float:
        return macro(list(self.of[preset].values()))

    def others(self, preset: str) -> list[str]:
        return [p for p in MAIN if p in self.of and p != preset]

    def everywhere(self, statement: str, best: str, others: Sequence[str]) -> Trend:
        wins = [all(v > self.of[o][k] for o in others if k in self.of[o]) for k, v in self.of[best].items()]
        return Trend(statement, all(wins), f"{sum(wins)} of {len(wins)} cells")


def _signed(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:+.3f}".strip() for name, value in values.items())


def _accuracy(cells: Sequence[CellOf]) -> Iterator[Trend]:
    acc = _Cells(cells, "Acc")
    if acc.has("Simple RAG", "No-RAG (CoT)"):
        below = [d < 0 for d in acc.pairs("Simple RAG", "No-RAG (CoT)")]
        statement = "Simple RAG is below No-RAG (CoT) in every cell"
        yield Trend(statement, all(below), f"{sum(below)} of {len(below)} cells")
    if acc.has("HCQR") and len(others := acc.others("HCQR")) > 1:
        yield acc.everywhere("HCQR has the best accuracy in every cell", "HCQR", others)
    if acc.has("HCQR", "Simple RAG"):
        gains = acc.by_dataset("HCQR", "Simple RAG")
        yield Trend(
            "HCQR gains over Simple RAG (+.059 on MedQA, +.036 on MMLU-Med)",
            all(g > 0 for g in gains.values()),
            _signed(gains),
        )
        if "medqa" in gains and "mmlu-med" in gains:
            larger = gains["medqa"] > gains["mmlu-med"]
            yield Trend("the gain is larger on MedQA than on MMLU-Med", larger, _signed(gains))
    if acc.has("HCQR", "No-RAG (CoT)"):
        gains = acc.by_dataset("HCQR", "No-RAG (CoT)")
        yield Trend(
            "HCQR is above No-RAG (CoT) on every question set",
            all(g > 0 for g in gains.values()),
            _signed(gains),
        )
    if acc.has("Rewriting", "HyDE", "MAIN-RAG"):
        means = {p: acc.average(p) for p in ("Rewriting", "HyDE", "MAIN-RAG")}
        holds = min(means["Rewriting"], means["HyDE"]) > means["MAIN-RAG"]
        yield Trend("Rewriting and HyDE are above MAIN-RAG on average", holds, _three_digits(means))
    if acc.has("MAIN-RAG", "No-RAG (CoT)"):
        means = {p: acc.average(p) for p in ("MAIN-RAG", "No-RAG (CoT)")}
        holds = means["MAIN-RAG"] < means["No-RAG (CoT)"]
        yield Trend("MAIN-RAG is below No-RAG (CoT) on average", holds, _three_digits(means))


def _three_digits(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())


def _utility(cells: Sequence[CellOf]) -> Iterator[Trend]:
    judged = [c for c in cells if c.judged]
    dur = _Cells(judged, "DUR")
    others = dur.others("HCQR")
    if dur.has("HCQR") and others:
        yield dur.everywhere("HCQR has the highest decision-useful rate in every cell", "HCQR", others)
    if dur.has("MAIN-RAG") and (rest := dur.others("MAIN-RAG")):
        means = {p: dur.average(p) for p in ("MAIN-RAG", *rest)}
        lowest = all(means["MAIN-RAG"] < means[p] for p in rest)
        yield Trend("MAIN-RAG has the lowest decision-useful rate on average", lowest, _three_digits(means))
    if dur.has("HCQR") and others:
        yield from _shares(judged, others)
    if gains := [g for c in judged if (g := _gains(c, cells))]:
        entailed, useful, useless = (macro([g[i] for g in gains]) for i in range(3))
        if np.isnan(entailed + useful + useless):  # no context has one of the labels
            return
        yield Trend(
            "gain over No-RAG (CoT): Entailed above Useful above 0 above Not Useful",
            entailed > useful > 0 > useless,
            f"{entailed:+.3f}, {useful:+.3f}, {useless:+.3f}",
        )


def _shares(judged: Sequence[CellOf], others: Sequence[str]) -> Iterator[Trend]:
    ranks: Sequence[tuple[UtilityLabel, str, Callable[[list[float]], float]]] = (
        (UtilityLabel.ENTAILED, "most", max), (UtilityLabel.USEFUL, "most", max),
        (UtilityLabel.NOT_USEFUL, "fewest", min),
    )  # fmt: skip
    for label, word, best in ranks:
        means = {
            p: macro([label_shares(c.labels()).share(label) for c in judged if preset_of(c.row) == p])
            for p in ("HCQR", *others)
        }
        rest = [share for p, share in means.items() if p != "HCQR"]
        holds = means["HCQR"] == best(list(means.values())) and means["HCQR"] not in rest
        yield Trend(f"HCQR has the {word} {label} contexts", holds, _three_digits(means))


def _gains(cell: CellOf, cells: Sequence[CellOf]) -> tuple[float, float, float] | None:
    names = [c.method for c in cells if preset_of(c.row) == "No-RAG (CoT)"]
    base = counterpart(cell, cells, names[0]) if names else None
    if base is None or base.row is cell.row or "Acc" not in cell.row.values:
        return None
    difference, labels = cell.right() - base.right(), np.array(cell.labels(), dtype=object)
    found = [difference[labels == label] for label in UtilityLabel]
    entailed, useful, useless = (float(d.mean()) if len(d) else float("nan") for d in found)
    return entailed, useful, useless


def _controls(cells: Sequence[CellOf]) -> Iterator[Trend]:
    acc = _Cells(cells, "Acc")
    if acc.has("Rewriting", "Rewriting + options", "HCQR"):
        over = acc.by_dataset("Rewriting + options", "Rewriting")
        left = acc.by_dataset("HCQR", "Rewriting + options")
        yield Trend(
            "options give Rewriting a gain that is smaller than what HCQR adds to it",
            all(0 < over[d] < left[d] for d in over),
            "; ".join(f"{d} {over[d]:+.3f}, then {left[d]:+.3f}".strip() for d in over),
        )
    dropped = [f"HCQR - {q}" for q in ("q1", "q2", "q3")]
    if acc.has("HCQR", *dropped):
        losses = {p: acc.by_dataset(p, "HCQR") for p in dropped}
        lower = all(v < 0 for loss in losses.values() for v in loss.values())
        told = "; ".join(f"{p}: {_signed(loss)}" for p, loss in losses.items())
        yield Trend("leaving out any query lowers accuracy on every question set", lower, told)
        means = {p: macro(list(loss.values())) for p, loss in losses.items()}
        yield Trend(
            "leaving out q1 costs most", min(means, key=lambda p: means[p]) == dropped[0], _signed(means)
        )
