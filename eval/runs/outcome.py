"""One row's values over the examples of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...data.example import Example
from ..stats import Floats, mean_sd
from .row import Codec


@dataclass(frozen=True)
class Outcome:
    """The outcome of one row on one example.

    ``began`` is the start in seconds since 1970 (NaN: unknown), ``seconds`` the duration. ``error`` is None
    if it did not fail. ``incomplete``: something besides the row failed (such as a judge's server), so
    another try may complete it. ``lost``: a part of the method fell back because its model's reply was
    unusable (:attr:`abduce.programs.trace.Trace.lost_replies`).
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

    A failed example has 0 in every measure. NaN: the measure does not apply to the example, or (in an
    unfinished run) the example is not done. ``costs`` has NaN for failed examples. ``errors`` has the reason
    of each failure by (seed, example id): type, message (one line) and place. ``began``: the start of each
    example in seconds since 1970.
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

    @property
    def fell_back(self) -> int:
        """Over seeds and examples, how many fell back in part because the model's reply was unusable."""
        return 0 if self.lost is None else int(self.lost.sum())

    @property
    def unusable(self) -> float:
        """The share, in [0, 1], of finished examples that failed or fell back; 0 if none is finished."""
        bad = self.failed if self.lost is None else self.failed | self.lost
        return float(bad.sum() / max(1, self.done.sum()))

    def walls(self) -> list[float]:
        """The wall time of the whole row in seconds, one value per seed if known.

        It is the time in which at least one of its examples was running, without pauses between sessions.
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
        """The mean over seeds for each example, shape (examples,); NaN if the measure does not apply."""
        return _mean(self.values[measure], axis=0)

    def mean(self, measure: str) -> tuple[float, float | None]:
        """Mean over examples, then over seeds, with the standard deviation over seeds (two or more)."""
        means = [float(m) for m in _mean(self.values[measure], axis=1) if not np.isnan(m)]
        return mean_sd(means) if means else (float("nan"), None)


class Outcomes:
    """One row's outcomes so far, as arrays of shape (seeds, examples): a few bytes per outcome.

    Args:
        seeds: the row's seeds.
        examples: the run's examples; each is referred to by position.

    Attributes:
        errors: the reason of each failure, by (seed, position).
    """

    def __init__(self, seeds: Sequence[int], examples: Sequence[Example]) -> None:
        self.seeds = list(seeds)
        self._rows = {seed: s for s, seed in enumerate(self.seeds)}
        self._examples = examples
        self._shape = (len(self.seeds), len(examples))
        self._values: dict[str, Floats] = {}
        self._costs: dict[str, Floats] = {}
        self.seconds, self.began = self._unknown(), self._unknown()
        self.done = np.zeros(self._shape, dtype=np.bool_)
        self.incomplete = np.zeros(self._shape, dtype=np.bool_)
        self.lost = np.zeros(self._shape, dtype=np.bool_)
        self.errors: dict[tuple[int, int], Mapping[str, str]] = {}

    def _unknown(self) -> Floats:
        return np.full(self._shape, np.nan)

    def put(self, seed: int, place: int, outcome: Outcome) -> None:
        """Store an outcome; it replaces an earlier one."""
        at = self._rows[seed], place
        for tables, given in ((self._values, outcome.metrics), (self._costs, outcome.cost)):
            for table in tables.values():
                table[at] = np.nan
            for name, value in given.items():
                if name not in tables:
                    tables[name] = self._unknown()
                tables[name][at] = value
        self.seconds[at], self.began[at] = outcome.seconds, outcome.began
        self.done[at], self.incomplete[at], self.lost[at] = True, outcome.incomplete, outcome.lost
        self.errors.pop((seed, place), None)
        if outcome.error is not None:
            self.errors[seed, place] = outcome.error

    def is_done(self, seed: int, place: int) -> bool:
        return bool(self.done[self._rows[seed], place])

    def todo(self, seed: int, again: bool) -> Sequence[int]:
        """The unfinished positions; ``again``: also those that another try may improve, because they failed,
        fell back or are incomplete.
        """
        row = self._rows[seed]
        left = ~self.done[row]
        if again:
            left |= self.incomplete[row] | self.lost[row]
            left[[place for s, place in self.errors if s == seed]] = True
        found: Sequence[int] = np.flatnonzero(left)  # type: ignore[assignment]
        return found

    def failures(self) -> Iterator[tuple[int, str, Mapping[str, str]]]:
        """(seed, example id, reason) of each failure, in the order of the run."""
        for seed, place in sorted(self.errors, key=lambda at: (self._rows[at[0]], at[1])):
            yield seed, self._examples[place].id, self.errors[seed, place]

    def result(
        self,
        name: str,
        measures: Sequence[str],
        reference: Mapping[str, float],
        settings: Mapping[str, Any],
        lines: Sequence[bytes] = (),
    ) -> RowResult:
        """The row's values, which share their arrays with this object; ``measures`` orders the columns."""
        failed = np.zeros(self._shape, dtype=np.bool_)
        for seed, place in self.errors:
            failed[self._rows[seed], place] = True
        found = {m: v for m, v in self._values.items() if not np.isnan(v).all()}
        names = [m for m in measures if m in found or not found] + [m for m in found if m not in measures]
        values = {m: found[m] if m in found else self._unknown() for m in names}
        for table in values.values():
            table[failed] = 0.0
        costs = {c: v for c, v in self._costs.items() if not np.isnan(v).all()}
        return RowResult(
            name,
            self.seeds,
            values,
            costs,
            self.seconds,
            failed,
            self.done,
            reference,
            settings,
            lines,
            {(seed, id_): reason for seed, id_, reason in self.failures()},
            self.began,
            self.lost,
        )


def _mean(table: Floats, axis: int) -> Floats:
    known = ~np.isnan(table)
    with np.errstate(invalid="ignore"):
        mean: Floats = np.where(known, table, 0.0).sum(axis=axis) / known.sum(axis=axis)
    return mean


def read_outcome(record: Mapping[str, Any], gold: Any, codec: Codec | None) -> Outcome:
    """An outcome from a stored record, scored again by ``codec``, or as stored if it is None."""
    began = float(record.get("began", math.nan))
    if record["status"] != "ok":
        return Outcome({}, {}, record["seconds"], record["error"], began=began)
    metrics = codec.score(record, gold) if codec is not None else record["metrics"]
    incomplete = bool(record.get("incomplete", False))
    lost = bool(record.get("lost", False))
    return Outcome(metrics, record.get("cost", {}), record["seconds"], None, incomplete, began, lost)
