"""One row's values over the examples of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...data.example import Example
from ..stats import Floats, mean_sd
from .row import Codec


@dataclass(frozen=True)
class Outcome:
    """What one row did on one example.

    ``began`` is when, in seconds since 1970 (NaN: not known), ``seconds`` how long it took. ``error`` is None
    where it did not fail; ``incomplete`` says that something beside the row's own work did (a judge's
    server), so that trying again may add to it; ``lost`` that a part of the method fell back because a reply
    of its model was no use (:attr:`abduce.programs.trace.Trace.lost_replies`).
    """

    metrics: Mapping[str, float]
    cost: Mapping[str, float]
    seconds: float
    error: Mapping[str, str] | None
    incomplete: bool = False
    began: float = math.nan
    lost: bool = False


@dataclass(frozen=True, eq=False)
class RowResult:
    """One row's values: arrays of shape (seeds, examples), in the run's order.

    A failed example has 0 in every measure of the row. NaN: the measure does not apply to the example, or
    (in an unfinished run) the example is not done. ``costs`` has NaN where an example failed. ``errors``
    has the reason of each failure by (seed, example id): type, message (one line) and place. ``began``:
    when each example was begun, in seconds since 1970.
    """

    name: str
    seeds: Sequence[int]
    values: Mapping[str, Floats]
    costs: Mapping[str, Floats]
    seconds: Floats
    failed: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
    done: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
    reference: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    lines: Sequence[bytes] = ()
    errors: Mapping[tuple[int, str], Mapping[str, str]] = field(default_factory=dict)
    began: Floats | None = None
    lost: np.ndarray[tuple[int, int], np.dtype[np.bool_]] | None = None

    @classmethod
    def collect(
        cls,
        name: str,
        seeds: Sequence[int],
        examples: Sequence[Example],
        outcomes: Mapping[tuple[int, str], Outcome],
        measures: Sequence[str],
        reference: Mapping[str, float],
        settings: Mapping[str, Any],
        lines: Sequence[bytes] = (),
    ) -> RowResult:
        """Arrange outcomes by (seed, example id). ``measures`` orders the columns."""
        grid = [[outcomes.get((seed, e.id)) for e in examples] for seed in seeds]
        flat = [o for line in grid for o in line if o is not None]
        found = dict.fromkeys(m for o in flat for m in o.metrics)
        names = [m for m in measures if m in found or not found] + [m for m in found if m not in measures]
        done = np.array([[o is not None for o in line] for line in grid])
        failed = np.array([[o is not None and o.error is not None for o in line] for line in grid])
        values = {m: _grid([[o.metrics.get(m) if o else None for o in line] for line in grid]) for m in names}
        for table in values.values():
            table[failed] = 0.0
        costs = {
            c: _grid([[o.cost.get(c) if o else None for o in line] for line in grid])
            for c in dict.fromkeys(c for o in flat for c in o.cost)
        }
        seconds = _grid([[o.seconds if o else None for o in line] for line in grid])
        errors = {
            (seed, e.id): o.error
            for seed, line in zip(seeds, grid, strict=True)
            for e, o in zip(examples, line, strict=True)
            if o is not None and o.error is not None
        }
        began = _grid([[o.began if o else None for o in line] for line in grid])
        return cls(
            name, list(seeds), values, costs, seconds, failed, done, reference, settings, lines, errors,
            began, np.array([[o is not None and o.lost for o in line] for line in grid]),
        )  # fmt: skip

    @property
    def fell_back(self) -> int:
        """Over seeds and examples, how many fell back in part because a reply of the model was no use."""
        return 0 if self.lost is None else int(self.lost.sum())

    @property
    def unusable(self) -> float:
        """The share, in [0, 1], of what was done that failed or fell back; 0 where nothing was done."""
        bad = self.failed if self.lost is None else self.failed | self.lost
        return float(bad.sum() / max(1, self.done.sum()))

    def walls(self) -> list[float]:
        """The wall time of the whole row in seconds, one value per seed where it is known.

        It is for how long at least one of its examples was under way; pauses between sessions are left out.
        """
        if self.began is None:
            return []
        found = []
        for began, seconds in zip(self.began, self.seconds, strict=True):
            known = ~(np.isnan(began) | np.isnan(seconds))
            order = np.argsort(began[known])
            starts, ends = began[known][order], (began + seconds)[known][order]
            if len(starts):
                reached = np.maximum.accumulate(ends)
                gaps = np.maximum(0.0, starts[1:] - reached[:-1]).sum()
                found.append(float(reached[-1] - starts[0] - gaps))
        return found

    def per_example(self, measure: str) -> Floats:
        """The mean over seeds for each example, shape (examples,); NaN where the measure does not apply."""
        return _mean(self.values[measure], axis=0)

    def mean(self, measure: str) -> tuple[float, float | None]:
        """Mean over examples, then over seeds, with the standard deviation over seeds (two or more)."""
        means = [float(m) for m in _mean(self.values[measure], axis=1) if not np.isnan(m)]
        return mean_sd(means) if means else (float("nan"), None)


def _grid(rows: list[list[float | None]]) -> Floats:
    return np.array([[np.nan if v is None else v for v in row] for row in rows], dtype=np.float64)


def _mean(table: Floats, axis: int) -> Floats:
    known = ~np.isnan(table)
    with np.errstate(invalid="ignore"):
        mean: Floats = np.where(known, table, 0.0).sum(axis=axis) / known.sum(axis=axis)
    return mean


def read_outcome(record: Mapping[str, Any], gold: Any, codec: Codec | None) -> Outcome:
    """An outcome from a record read back; scored anew by ``codec``, or as it was scored where None."""
    began = float(record.get("began", math.nan))
    if record["status"] != "ok":
        return Outcome({}, {}, record["seconds"], record["error"], began=began)
    metrics = codec.score(record, gold) if codec is not None else record["metrics"]
    incomplete = bool(record.get("incomplete", False))
    lost = bool(record.get("lost", False))
    return Outcome(metrics, record.get("cost", {}), record["seconds"], None, incomplete, began, lost)
