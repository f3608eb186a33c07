"""Rules fitted on answers with known correctness, and confidence of answers (logistic regression)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..programs.rag.rule import Rule
from ..retrievers.errors import InputError, MissingExtra
from ..tagging.calibration import Acceptance, calibration_error, risk_coverage
from .stats import Floats

FOLDS = 5
LEAST = 20
"""Fewer examples than this fit nothing."""
WANTED = (0.95, 0.90)
"""The accuracies that answers are accepted for."""

Features = Sequence[Mapping[str, float]]


def fit_rule(features: Features, happened: Sequence[bool], about: str, fitted_on: str) -> Rule:
    """A logistic rule with L2 regularisation over standardised features.

    Args:
        features: the same names in every example.
        happened: whether the event happened, per example.
        about, fitted_on: see :class:`Rule`.

    Raises:
        MissingExtra: scikit-learn is not installed.
        InputError: fewer than 20 examples, or the event always or never happened.
    """
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError as e:
        raise MissingExtra("scikit-learn", "calibration") from e
    if len(happened) < LEAST or len(set(happened)) < 2:
        raise InputError(
            f"{about}: nothing can be fitted on {len(happened)} answers of which {sum(happened)} qualify"
        )
    names = tuple(features[0])
    x = np.array([[f[name] for name in names] for f in features], dtype=np.float64)
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale == 0] = 1.0
    model = LogisticRegression(C=1.0).fit((x - mean) / scale, np.asarray(happened))
    return Rule(
        about=about,
        features=names,
        mean=tuple(mean.tolist()),
        scale=tuple(scale.tolist()),
        weights=tuple(model.coef_[0].tolist()),
        bias=float(model.intercept_[0]),
        fitted_on=fitted_on,
        n=len(happened),
    )


def out_of_fold(
    features: Features, happened: Sequence[bool], clusters: Sequence[Hashable], about: str
) -> list[float]:
    """Each example's probability by a rule fitted on the other four folds; examples of a cluster share a
    fold.

    Raises:
        InputError: see :func:`fit_rule`.
    """
    numbers = {c: i for i, c in enumerate(dict.fromkeys(clusters))}
    fold = [numbers[c] % FOLDS for c in clusters]
    found = [0.0] * len(features)
    for f in range(FOLDS):
        inside = [i for i, own in enumerate(fold) if own == f]
        others = [i for i, own in enumerate(fold) if own != f]
        if inside:
            rule = fit_rule([features[i] for i in others], [happened[i] for i in others], about, "")
            for i in inside:
                found[i] = rule.probability(features[i])
    return found


@dataclass(frozen=True)
class Sureness:
    """The quality of answers' confidence.

    Attributes:
        n, accuracy: over all answers.
        error: the expected calibration error, in [0, 1].
        accepted: the largest share of these answers with an accuracy of .95, and of .90.
        curve: (coverage, accuracy) of the most confident answers, at most ten points; answers of equal
            confidence are taken together. Risk is one minus accuracy.
        at_threshold: the accepted share and its accuracy, at thresholds chosen on other answers.
    """

    n: int
    accuracy: float
    error: float
    accepted: tuple[Acceptance, ...]
    curve: tuple[tuple[float, float], ...] = ()
    at_threshold: tuple[Acceptance, ...] = ()


def sureness(
    probability: Sequence[float], right: Sequence[bool], thresholds: Sequence[Acceptance] = ()
) -> Sureness:
    """Accuracy, calibration and risk-coverage of answers.

    Args:
        probability: confidence per answer, in [0, 1].
        right: whether it is right.
        thresholds: thresholds from other answers (``risk_coverage``), applied to these too.
    """
    p, y = np.asarray(probability, dtype=np.float64), np.asarray(right, dtype=np.float64)
    applied = []
    for t in thresholds:
        inside = p >= t.threshold if t.threshold is not None else np.zeros(len(p), dtype=bool)
        precision = float(y[inside].mean()) if inside.any() else None
        applied.append(Acceptance(t.wanted, t.threshold, float(inside.mean()), precision))
    return Sureness(
        len(p),
        float(y.mean()) if len(y) else float("nan"),
        calibration_error(probability, right),
        tuple(risk_coverage(probability, right, WANTED)),
        tuple(_curve(p, y)),
        tuple(applied),
    )


def _curve(p: Floats, y: Floats, points: int = 10) -> Iterator[tuple[float, float]]:
    """Coverage and accuracy at about every tenth of the answers."""
    order = np.argsort(-p, kind="stable")
    p, hits = p[order], np.cumsum(y[order])
    ends = np.flatnonzero(np.append(p[1:] != p[:-1], True)) if len(p) else np.zeros(0, dtype=np.int64)
    shown = -1
    for end in ends.tolist():
        tenth = (end + 1) * points // len(p)
        if tenth > shown:
            shown = tenth
            yield (end + 1) / len(p), float(hits[end]) / (end + 1)
