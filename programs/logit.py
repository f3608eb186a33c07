"""A conditional logit: candidates compete by a weighted sum of their features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Logit:
    """Weights by the features' names.

    Args:
        names: of the features, in the order of a table's columns.
        weights: of each, on the features as they are, shape (features,).
    """

    names: tuple[str, ...]
    weights: tuple[float, ...]

    def scores(self, table: Floats) -> Floats:
        """Logarithms of the candidates' probabilities, shape (n,), from features of shape (n, features)."""
        if not len(table):
            return np.zeros(0)
        scores: Floats = table @ np.asarray(self.weights)
        scores = scores - scores.max()
        scores -= np.log(np.exp(scores).sum())
        return scores


def fit_logit(
    names: Sequence[str], tables: Sequence[Floats], right: Sequence[int], penalty: float = 1.0
) -> Logit:
    """The weights under which the right candidates are most likely, less a penalty on their squares.

    Args:
        names: of the features.
        tables: for each fact the features of its candidates, shape (n, features).
        right: the place of the right candidate among each fact's.
        penalty: of the squared weights of features of unit variance.

    Raises:
        ValueError: no facts.
    """
    from scipy.optimize import minimize

    if not tables:
        raise ValueError("no facts to fit on")
    stacked = np.concatenate(tables)
    scale = stacked.std(axis=0)
    scale[scale == 0] = 1.0
    stacked = stacked / scale
    starts = np.cumsum([0, *(len(t) for t in tables[:-1])])
    sizes = np.array([len(t) for t in tables])
    at = starts + np.asarray(right)
    owner = np.repeat(np.arange(len(tables)), sizes)

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = stacked @ weights
        scores -= np.maximum.reduceat(scores, starts)[owner]
        odds = np.exp(scores)
        total = np.add.reduceat(odds, starts)
        value = -(scores[at] - np.log(total)).sum() + penalty / 2 * (weights @ weights)
        share = odds / total[owner]
        slope = stacked.T @ share - stacked[at].sum(axis=0) + penalty * weights
        return float(value), slope

    found = minimize(loss, np.zeros(stacked.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return Logit(tuple(names), tuple((found.x / scale).tolist()))
