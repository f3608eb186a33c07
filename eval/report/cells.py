"""The cells of a question run: a method, a model, a question set (HCQR paper: Tables 1 to 12)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...signatures.types import UtilityLabel
from ..runs.outcome import RowResult
from ..runs.question_codec import LABEL_MEASURES
from ..runs.run import Run

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class CellOf:
    """One cell of the paper's tables.

    ``model`` is the model's name in tables. ``identity`` identifies the model with its request and decoding
    settings. Both are empty if the row calls none. ``folder`` is the run folder of a joined run.
    """

    row: RowResult
    method: str
    model: str
    identity: str
    folder: Path | None
    dataset: str
    mask: Mask

    @property
    def name(self) -> str:
        return f"{self.dataset}: {self.row.name}" if self.dataset else self.row.name

    @property
    def judged(self) -> bool:
        """Whether a judge was asked about the row's contexts."""
        return bool(self.row.settings.get("judges"))

    def values(self, measure: str) -> npt.NDArray[np.float64]:
        """The measure on the cell's questions; NaN if it does not apply or exist."""
        if measure not in self.row.values:
            return np.full(int(self.mask.sum()), np.nan)
        return self.row.per_example(measure)[self.mask]

    def mean(self, measure: str) -> float:
        """The mean of :meth:`values`; NaN if there are none."""
        values = self.values(measure)
        known = values[~np.isnan(values)]
        return float(known.mean()) if len(known) else float("nan")

    def right(self) -> npt.NDArray[np.float64]:
        """1 if the first seed's answer is right, 0 if it is wrong or failed."""
        found: npt.NDArray[np.float64] = self.row.values["Acc"][0][self.mask]
        return found

    def labels(self) -> list[UtilityLabel | None]:
        """The labels of the first judge and the first seed; None: unjudged, or the question failed."""
        found: list[UtilityLabel | None] = [None] * int(self.mask.sum())
        for name, label in LABEL_MEASURES.items():
            if name in self.row.values:
                given = (self.row.values[name][0] == 1.0) & ~self.row.failed[0]
                for i in np.flatnonzero(given[self.mask]):
                    found[i] = label
        return found


def cells_of(run: Run) -> list[CellOf]:
    """Every cell of a run, by question set, model and method, in the run's order.

    Different models with the same name in several folders are distinguished by folder.
    """
    datasets = list(dict.fromkeys(e.groups.get("dataset", "") for e in run.examples))
    masks = {d: np.array([e.groups.get("dataset", "") == d for e in run.examples]) for d in datasets}
    about = {row.name: _model(run, row) for row in run.rows}
    known: dict[str, set[str]] = {}
    for name, identity, _ in about.values():
        known.setdefault(name, set()).add(identity)
    cells = []
    for dataset in datasets:
        for row in run.rows:
            name, identity, folder = about[row.name]
            if len(known[name]) > 1 and folder is not None:
                name = f"{name} ({folder.name})".strip()
            method = str(row.settings.get("method", row.name))
            cells.append(CellOf(row, method, name, identity, folder, dataset, masks[dataset]))
    return cells


def _model(run: Run, row: RowResult) -> tuple[str, str, Path | None]:
    """(name, identity, folder); if a run records no model identities, each folder has one."""
    folder = run.sources[row.name][0] if row.name in run.sources else None
    name = str(row.settings.get("model_name", ""))
    if not calls_model(row):
        return "", "", folder
    return name, f"{name}\0{row.settings.get('model') or folder or ''}", folder


def calls_model(row: RowResult) -> bool:
    """Whether a row answers with a model; assumed for unknown rows."""
    config = row.settings.get("config")
    return not isinstance(config, dict) or bool(config.get("answer", True))


def counterpart(cell: CellOf, cells: Iterable[CellOf], method: str) -> CellOf | None:
    """The cell of another method with the same model and questions, preferably of the same folder."""
    same = [
        c
        for c in cells
        if c.method == method and c.dataset == cell.dataset and c.identity in ("", cell.identity)
    ]
    return min(same, key=lambda c: c.folder != cell.folder, default=None)


def preset_of(row: RowResult) -> str:
    """The paper's name for a row, by program and settings; otherwise the row's name."""
    program = row.settings.get("spec", {}).get("program", "")
    config = row.settings.get("config", {})
    if program == "hcqr":
        if config.get("expose_hypothesis") or row.settings["spec"].get("planner") == "rules":
            return row.name
        if config.get("drop"):
            return f"HCQR - {config['drop']}"
        return "HCQR" if config.get("options", True) else "HCQR - options"
    if program == "rewriting":
        return "Rewriting + options" if config.get("options") else "Rewriting"
    names = {
        "no-rag": "No-RAG (CoT)",
        "simple": "Simple RAG",
        "hyde": "HyDE",
        "rerank": "Rerank-RAG",
        "main-rag": "MAIN-RAG",
    }
    return names.get(program, row.name)


def method_of(cells: Sequence[CellOf], preset: str) -> str | None:
    """The run's method that is this row of the paper."""
    return next((c.method for c in cells if preset_of(c.row) == preset), None)
