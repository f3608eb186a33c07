"""How retrieval affects decisions: DUR, labels, same-subset gains, helped and harmed (HCQR paper: 4.6, 5.2).

All functions take arrays over one list of questions, so they work for a run, a file of published answers, or
a notebook. Right and wrong are 1 and 0; NaN is "not measured".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..signatures.types import UtilityLabel
from .stats import ClusterBootstrap, Difference, Floats, Interval, PairedCounts, kappa, paired_counts

Labels = Sequence[UtilityLabel | None]
LABELS = tuple(UtilityLabel)


@dataclass(frozen=True)
class LabelShares:
    """The labels of one method's contexts.

    Shares are always of all ``n`` questions. ``unjudged`` ones, without a valid judgement or with a failed
    question, are not decision-useful, so the three labels and the unjudged sum to 1.
    """

    counts: Mapping[UtilityLabel, int]
    unjudged: int

    @property
    def n(self) -> int:
        return sum(self.counts.values()) + self.unjudged

    def share(self, label: UtilityLabel) -> float:
        """The share of a label, in [0, 1]; NaN of no questions."""
        return self.counts[label] / self.n if self.n else float("nan")

    @property
    def unjudged_share(self) -> float:
        return self.unjudged / self.n if self.n else float("nan")

    @property
    def dur(self) -> float:
        """DUR = (Entailed + Useful) / all."""
        return self.share(UtilityLabel.ENTAILED) + self.share(UtilityLabel.USEFUL)


def label_shares(labels: Labels) -> LabelShares:
    """Count labels; None means unjudged."""
    found = Counter(labels)
    return LabelShares({label: found[label] for label in LABELS}, found[None])


@dataclass(frozen=True)
class SubsetGain:
    """A method on the questions whose context has one label (paper: Tables 4 and 12).

    ``gain`` is its accuracy there minus that of No-RAG on the same questions, with its paired interval.
    """

    label: UtilityLabel
    n: int
    accuracy: Interval
    gain: Difference


def subset_gains(
    correct: npt.ArrayLike, baseline: npt.ArrayLike, labels: Labels, clusters: Sequence[Hashable]
) -> list[SubsetGain]:
    """Accuracy and same-subset gain for each label, in the order Entailed, Useful, Not Useful.

    Args:
        correct: of the method, shape (n,), in [0, 1].
        baseline: of No-RAG on the same questions, shape (n,).
        labels: of the method's contexts, n of them.
        clusters: the units that intervals resample, n of them.

    Raises:
        ValueError: the lengths differ.
    """
    ours, theirs = _column(correct), _column(baseline)
    if not len(ours) == len(theirs) == len(labels) == len(clusters):
        raise ValueError("there must be as many labels, clusters and baseline values as values")
    bootstrap = ClusterBootstrap(clusters)
    found = []
    for label in LABELS:
        inside = np.array([given is label for given in labels])
        here, base = np.where(inside, ours, np.nan), np.where(inside, theirs, np.nan)
        [accuracy] = bootstrap.intervals(here)
        [gain] = bootstrap.differences(here, base)
        found.append(SubsetGain(label, int(inside.sum()), accuracy, gain))
    return found


@dataclass(frozen=True)
class Effect:
    """A method against a baseline over the same questions: accuracies, their difference, McNemar's counts."""

    accuracy: Interval
    baseline: Interval
    difference: Difference
    counts: PairedCounts


def effect(correct: npt.ArrayLike, baseline: npt.ArrayLike, clusters: Sequence[Hashable]) -> Effect:
    """Helped: right with the method, wrong without. Harmed: the other way round.

    Intervals resample ``clusters``. McNemar's exact test treats questions as independent, so if questions
    repeat, read it together with the interval of the difference.
    """
    ours, theirs = _column(correct), _column(baseline)
    bootstrap = ClusterBootstrap(clusters)
    accuracy, base = bootstrap.intervals(np.stack([ours, theirs]))
    [difference] = bootstrap.differences(ours, theirs)
    known = ~(np.isnan(ours) | np.isnan(theirs))
    counts = paired_counts(ours[known].tolist(), theirs[known].tolist())
    return Effect(accuracy, base, difference, counts)


@dataclass(frozen=True)
class Agreement:
    """Two judges over contexts that both judged. ``table[a][b]`` counts label a of the first and b of the
    second; ``kappa`` is Cohen's.
    """

    n: int
    agreed: float
    kappa: float
    table: Mapping[UtilityLabel, Mapping[UtilityLabel, int]]


def agreement(first: Labels, second: Labels) -> Agreement:
    """The agreement of two judges.

    Raises:
        ValueError: the lists differ in length, or no context was judged by both.
    """
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    if not pairs:
        raise ValueError("no context was judged by both judges")
    counted = Counter(pairs)
    table = {a: {b: counted[a, b] for b in LABELS} for a in LABELS}
    same = sum(a is b for a, b in pairs) / len(pairs)
    return Agreement(len(pairs), same, kappa([a for a, _ in pairs], [b for _, b in pairs]), table)


def macro(cells: Sequence[float]) -> float:
    """The unweighted mean of cells (data set x model), as the paper averages; NaN of none."""
    known = [c for c in cells if not np.isnan(c)]
    return sum(known) / len(known) if known else float("nan")


def _column(values: npt.ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
