"""A map from a tag's verifier support to the probability that it is right, fitted on a run with known gold.

The support of a row with soft verdicts is an expectation, so it is graded, but it is not a probability of
being right. A monotone map (isotonic regression) turns it into one.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..retrievers.concept_ids import strip_namespace
from ..retrievers.errors import InputError
from ..retrievers.files import write_text
from ..tagging.calibration import calibration_error
from .runs.run import Run
from .tables import Table, TableCell, Value

FOLDS, BINS = 5, 10

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SupportMap:
    """A fitted map: ``correct[i]`` is the probability at ``support[i]``, linear between points, constant
    outside.

    ``row`` and ``facts`` say what it was fitted on.
    """

    row: str
    facts: int
    support: tuple[float, ...]
    correct: tuple[float, ...]

    def probability(self, support: npt.ArrayLike) -> Floats:
        """The probability, in [0, 1], that a tag with this support is right."""
        found: Floats = np.interp(np.asarray(support, dtype=np.float64), self.support, self.correct)
        return found

    def save(self, path: Path) -> None:
        """Write it as JSON.

        Raises:
            InputError: it cannot be written.
        """
        write_text(path, json.dumps(asdict(self), indent=1) + "\n")


def isotonic(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Floats]:
    """The nondecreasing function of ``x`` that is nearest to ``y`` in squares: its places and values.

    Raises:
        ValueError: no points, or lists of different lengths.
    """
    places, inverse = np.unique(np.asarray(x, dtype=np.float64), return_inverse=True)
    values = np.asarray(y, dtype=np.float64)
    if not len(values) or len(values) != len(inverse):
        raise ValueError("there must be as many values as places, and at least one")
    weights = np.bincount(inverse).astype(np.float64)
    means = np.bincount(inverse, values) / weights
    blocks: list[tuple[float, float, int]] = []  # mean, weight, places: neighbours that fall are pooled
    for mean, weight in zip(means.tolist(), weights.tolist(), strict=True):
        blocks.append((mean, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (m, w, n), (mean_, weight_, n_) = blocks[-2:]
            blocks[-2:] = [((m * w + mean_ * weight_) / (w + weight_), w + weight_, n + n_)]
    return places, np.repeat([m for m, _, _ in blocks], [n for _, _, n in blocks])


def fit_support(run: Run, row: str) -> tuple[SupportMap, Table]:
    """Fit a row's map on all facts of a run, and check it out of fold.

    The support is v of the first concept in the method's ranking, before a selector. Five folds by source
    context: each fact is checked with a map that has not seen its context.

    Returns:
        The map, and a table of the facts by tenths of support.

    Raises:
        InputError: no such row or no records, no verdicts in it, or facts from fewer than five contexts.
    """
    golds = {e.id: strip_namespace(str(e.gold)) for e in run.examples}
    contexts: dict[str, Hashable] = {e.id: e.cluster or e.id for e in run.examples}
    support, right, clusters = [], [], []
    for record in run.records(row):
        found = record["ranking"] if record["status"] == "ok" else {"ids": []}
        if found["ids"] and record["trace"]["judged"]:
            support.append(float(found["components"]["support"][0]))
            right.append(found["ids"][0] == golds[record["id"]])
            clusters.append(contexts[record["id"]])
    if not support:
        raise InputError("has no verdicts to fit a map on", field=f"row {row!r}")
    numbers = {c: i for i, c in enumerate(dict.fromkeys(clusters))}
    if len(numbers) < FOLDS:
        raise InputError(
            f"its facts are of {len(numbers)} contexts; {FOLDS} are needed", field=f"row {row!r}"
        )
    x, y = np.array(support), np.array(right, dtype=np.float64)
    fold = np.array([numbers[c] % FOLDS for c in clusters])
    unseen = np.zeros(len(x))
    for f in range(FOLDS):
        inside = fold == f
        places, values = isotonic(x[~inside], y[~inside])
        unseen[inside] = np.interp(x[inside], places, values)
    places, values = isotonic(x, y)
    fitted = SupportMap(row, len(x), tuple(places.tolist()), tuple(values.tolist()))
    return fitted, _table(row, x, y, unseen)


def _table(row: str, x: Floats, y: Floats, unseen: Floats) -> Table:
    place = np.minimum((x * BINS).astype(int), BINS - 1)
    body: list[list[Value]] = []
    for b in range(BINS):
        inside = place == b
        if inside.any():
            shown = [float(v[inside].mean()) for v in (x, y, unseen)]
            body.append(
                [f"{b / BINS:.1f} to {(b + 1) / BINS:.1f}", int(inside.sum()), *map(TableCell, shown)]
            )
    raw, mapped = (calibration_error(p.tolist(), y.astype(bool).tolist()) for p in (x, unseen))
    notes = [
        f"Of {len(x):,} facts {y.mean():.1%} are right. Expected calibration error: {raw:.3f} of the support "
        f"as it is, {mapped:.3f} of the map (out of fold, by source context)."
    ]
    columns = ["support", "n", "mean support", "right", "by the map"]
    return Table(columns, body, f"{row}: support and correctness", notes)
