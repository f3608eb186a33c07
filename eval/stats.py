"""Statistics of paired systems over one example set (both papers' intervals).

Facts of one source context are not independent, so intervals resample contexts, never facts.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RESAMPLES = 2000
"""Bootstrap iterations of the FHS paper."""

_CHUNK = 500_000
"""Draws that are held in memory at once."""


@dataclass(frozen=True)
class Interval:
    """A mean with its bootstrap percentile interval. ``n``: the number of values.

    ``low`` and ``high`` are NaN for values from fewer than two clusters, which cannot be resampled.
    """

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Difference(Interval):
    """The mean of ``a - b`` over common examples. ``p``: two-sided bootstrap p-value; NaN without an
    interval.
    """

    p: float


class ClusterBootstrap:
    """A paired bootstrap over clusters: every system sees the same resampled contexts.

    Args:
        clusters: the cluster of each example, in the order of the examples.
        resamples: the number of resamples; each draws as many clusters as there are, with replacement.
        seed: the random seed; the same seed gives the same interval.
        alpha: 0.05 for a 95% interval.

    Raises:
        ValueError: no examples, ``resamples`` below 1 or ``alpha`` outside (0, 1).
    """

    def __init__(
        self,
        clusters: Iterable[Hashable],
        resamples: int = RESAMPLES,
        seed: int = 0,
        alpha: float = 0.05,
    ) -> None:
        if resamples < 1 or not 0 < alpha < 1:
            raise ValueError("resamples must be at least 1 and alpha inside (0, 1)")
        index: dict[Hashable, int] = {}
        self._code = np.fromiter((index.setdefault(c, len(index)) for c in clusters), dtype=np.int64)
        if not len(self._code):
            raise ValueError("there are no examples to resample")
        self.n_clusters = len(index)
        self._resamples, self._seed, self._alpha = resamples, seed, alpha

    def _sums(self, values: Floats) -> tuple[Floats, Floats]:
        """Per cluster (C, m): the sum and the count of the values that are not NaN."""
        m, shape = values.shape[0], (self.n_clusters, values.shape[0])
        known = ~np.isnan(values)
        cell = self._code[None, :] * m + np.arange(m)[:, None]
        size = self.n_clusters * m
        sums = np.bincount(cell.ravel(), np.where(known, values, 0.0).ravel(), size)
        counts = np.bincount(cell.ravel(), known.ravel(), size)
        return sums.reshape(shape).astype(np.float64), counts.reshape(shape).astype(np.float64)

    def resampled_means(self, values: npt.ArrayLike) -> Floats:
        """Means of every resample, shape (resamples, m), for ``values`` of shape (m, n) or (n,).

        NaN means "does not apply to this example" and is left out; a resample without any value is NaN.

        Raises:
            ValueError: ``values`` has another number of examples than the clusters.
        """
        table = np.atleast_2d(np.asarray(values, dtype=np.float64))
        if table.shape[1] != len(self._code):
            raise ValueError(f"{table.shape[1]} values for {len(self._code)} examples")
        sums, counts = self._sums(table)
        rng = np.random.default_rng(self._seed)
        c, parts = self.n_clusters, []
        step = max(1, _CHUNK // c)
        for start in range(0, self._resamples, step):
            b = min(step, self._resamples - start)
            drawn = rng.integers(0, c, size=(b, c)) + np.arange(b)[:, None] * c
            times = np.bincount(drawn.ravel(), minlength=b * c).reshape(b, c).astype(np.float64)
            with np.errstate(invalid="ignore", divide="ignore"):
                parts.append((times @ sums) / (times @ counts))
        return np.concatenate(parts)

    def intervals(self, values: npt.ArrayLike) -> list[Interval]:
        """One interval for each row of ``values``, shape (m, n)."""
        table = np.atleast_2d(np.asarray(values, dtype=np.float64))
        means = self._means(table)
        return [Interval(*_bounds(v, means[:, i], self._alpha)) for i, v in enumerate(table)]

    def _means(self, table: Floats) -> Floats:
        """The resampled means; all NaN for values of fewer than two clusters."""
        means = self.resampled_means(table)
        counts = self._sums(table)[1]
        means[:, (counts > 0).sum(axis=0) < 2] = np.nan
        return means

    def differences(self, values: npt.ArrayLike, baseline: npt.ArrayLike) -> list[Difference]:
        """Each row of ``values`` (m, n) minus ``baseline`` (n,), paired by example.

        Examples where either is NaN are left out of that pair. ``p`` is twice the smaller share of resamples
        on one side of 0, with each share counted as (k + 1) / (resamples + 1), and at most 1.
        """
        table = np.atleast_2d(np.asarray(values, dtype=np.float64)) - np.asarray(baseline, dtype=np.float64)
        means = self._means(table)
        found = []
        for i, v in enumerate(table):
            m = means[~np.isnan(means[:, i]), i]
            tail = min(int((m <= 0).sum()), int((m >= 0).sum()))
            p = min(1.0, 2 * (tail + 1) / (len(m) + 1)) if len(m) else math.nan
            found.append(Difference(*_bounds(v, means[:, i], self._alpha), p=p))
        return found


def _bounds(values: Floats, means: Floats, alpha: float) -> tuple[float, float, float, int]:
    known = values[~np.isnan(values)]
    if not len(known):
        return math.nan, math.nan, math.nan, 0
    drawn = means[~np.isnan(means)]
    low, high = np.quantile(drawn, [alpha / 2, 1 - alpha / 2]) if len(drawn) else (math.nan, math.nan)
    return float(known.mean()), float(low), float(high), len(known)


@dataclass(frozen=True)
class PairedCounts:
    """Right and wrong answers of a system against a baseline on the same examples, and McNemar's test.

    ``helped``: the baseline is wrong and the system right; ``harmed``: the reverse. ``p`` is the exact
    two-sided binomial p-value of helped against harmed. It treats examples as independent; where they
    are clustered, read it beside :meth:`ClusterBootstrap.differences`.
    """

    both: int
    helped: int
    harmed: int
    neither: int
    p: float

    @property
    def n(self) -> int:
        return self.both + self.helped + self.harmed + self.neither


def mcnemar(helped: int, harmed: int) -> float:
    """Exact two-sided McNemar p-value of two discordant counts (1 where both are 0).

    Raises:
        ValueError: a count below 0.
    """
    if helped < 0 or harmed < 0:
        raise ValueError("counts must not be below 0")
    n, k = helped + harmed, min(helped, harmed)
    if 2 * k == n:
        return 1.0
    term = total = 1
    for i in range(k):
        term = term * (n - i) // (i + 1)
        total += term
    return 2 * total / (1 << n)


def paired_counts(system: Iterable[float], baseline: Iterable[float]) -> PairedCounts:
    """Count helped and harmed over two equally long lists of 0 (wrong) and 1 (right).

    Raises:
        ValueError: the lists differ in length, or a value is neither 0 nor 1.
    """
    cells = {(1.0, 1.0): 0, (1.0, 0.0): 0, (0.0, 1.0): 0, (0.0, 0.0): 0}
    for pair in zip(system, baseline, strict=True):
        if pair not in cells:
            raise ValueError(f"right or wrong is 1 or 0, not {pair}")
        cells[pair] += 1
    helped, harmed = cells[1.0, 0.0], cells[0.0, 1.0]
    return PairedCounts(cells[1.0, 1.0], helped, harmed, cells[0.0, 0.0], mcnemar(helped, harmed))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's step-down adjusted p-values, by name: compare each with the family-wise level itself.

    A p that is NaN (no test was possible) stays NaN and is not in the family.
    """
    tested = {name: p for name, p in p_values.items() if not math.isnan(p)}
    adjusted, floor, m = dict.fromkeys(p_values, math.nan), 0.0, len(tested)
    for i, (name, p) in enumerate(sorted(tested.items(), key=lambda item: item[1])):
        floor = max(floor, min(1.0, (m - i) * p))
        adjusted[name] = floor
    return {name: adjusted[name] for name in p_values}


def mean_sd(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and sample standard deviation (n - 1) over seeds; no deviation of fewer than two.

    Raises:
        ValueError: no values.
    """
    if not values:
        raise ValueError("no values")
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))


def kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Cohen's kappa of two judges over the same items; 1.0 where both always give one same label.

    Raises:
        ValueError: no items, or lists of different lengths.
    """
    if not first:
        raise ValueError("no items")
    n = len(first)
    agreed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    chance = sum((first.count(label) / n) * (second.count(label) / n) for label in set(first))
    return 1.0 if chance == 1 else (agreed - chance) / (1 - chance)
