"""Training two towers: softmax over concepts, lazy Adam, on one core.

A locus is the sum of its features' vectors; a concept is a free vector of its own (where it has tagged facts)
and the sum of its words' vectors. A batch holds loci of one group (a datatype) and, for a quarter,
pseudo-loci whose header is a concept's label; it is judged by a softmax over the group's concepts that have
tagged facts and a sample of those that have none. Features are dropped at random, and now and then a
concept's free vector, so that its words learn to carry it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .vocabulary import Matrix

Vectors = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TowerSettings:
    """Training settings of towers.

    Args:
        dimensions: the size of the common space.
        kept: dimensions after training, at least 1.
        epochs: passes over the loci.
        batch: loci and pseudo-loci per step.
        pseudo: share of pseudo-loci in a batch, in [0, 1).
        rate, last: Adam's learning rate, and the share of it at the end (linear decay).
        drop, drop_free: probability of dropping a feature, and a concept's free vector, in a step.
        sampled: concepts without tagged facts in each softmax.
        seed: the random seed.
    """

    dimensions: int = 128
    kept: int = 96
    epochs: int = 5
    batch: int = 256
    pseudo: float = 0.25
    rate: float = 0.006
    last: float = 0.05
    drop: float = 0.3
    drop_free: float = 0.1
    sampled: int = 800
    seed: int = 0


@dataclass(frozen=True)
class Lesson:
    """The training data of towers.

    Args:
        loci: shape (n, features).
        concepts: the concept of each locus, shape (n,).
        words: what each concept says, shape (concepts, words).
        groups: the group of each concept, shape (concepts,); a softmax stays in one.
        pseudo, pseudo_concepts: pseudo-loci and their concepts.
        shared: ``words`` and the loci have the same columns, and the same vectors.
    """

    loci: Matrix
    concepts: Numbers
    words: Matrix
    groups: Numbers
    pseudo: Matrix
    pseudo_concepts: Numbers
    shared: bool = False


class Adam:
    """Adam over the rows of a matrix that a step touches; rows are corrected by the number of all steps."""

    def __init__(self, values: Vectors) -> None:
        self.values = values
        self.mean = np.zeros_like(values)
        self.square = np.zeros_like(values)
        self.steps = 0

    def step(self, rows: Numbers, gradient: Vectors, rate: float) -> None:
        """Move ``rows`` (distinct) against their ``gradient``, shape (rows, dimensions)."""
        self.steps += 1
        mean, square = self.mean[rows], self.square[rows]
        mean += 0.1 * (gradient - mean)
        np.multiply(gradient, gradient, out=gradient)
        square += 0.001 * (gradient - square)
        self.mean[rows], self.square[rows] = mean, square
        scale = rate * np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        np.sqrt(square, out=square)
        square += 1e-8
        mean *= -scale
        mean /= square
        self.values[rows] += mean


@dataclass(frozen=True)
class FittedVectors:
    """Vectors of features, shape (features, dimensions), and of concepts, shape (concepts, dimensions);
    ``free`` says which concepts have a free vector (they have tagged facts)."""

    features: Vectors
    concepts: Vectors
    free: npt.NDArray[np.bool_]


def train_towers(
    lesson: Lesson, settings: TowerSettings, on_progress: Callable[[float], None] = lambda done: None
) -> FittedVectors:
    """Train two towers; the same lesson and settings give the same vectors.

    ``on_progress`` is called with the share of the steps that are done.
    """
    draw = np.random.default_rng(settings.seed)
    n, width = lesson.words.shape[0], settings.dimensions
    free_of = np.zeros(n, dtype=bool)
    free_of[lesson.concepts] = True

    def vectors(rows: int) -> Vectors:
        return (draw.standard_normal((rows, width), dtype=np.float32) * 0.05).astype(np.float32)

    features = Adam(vectors(lesson.loci.shape[1]))
    words = features if lesson.shared else Adam(vectors(lesson.words.shape[1]))
    free = Adam(vectors(n) * free_of[:, None])
    batches = _batches(lesson, settings, draw)
    for i, (loci, pseudo) in enumerate(batches):
        rate = settings.rate * (1 - (1 - settings.last) * i / len(batches))
        group = int(lesson.groups[lesson.concepts[loci[0]]])
        _step(lesson, settings, draw, features, words, free, free_of, group, loci, pseudo, rate)
        if i % 20 == 0:
            on_progress(i / len(batches))
    on_progress(1.0)
    concepts = lesson.words @ words.values
    concepts[free_of] += free.values[free_of]
    return FittedVectors(features.values, np.asarray(concepts, dtype=np.float32), free_of)


def reduced(features: Vectors, concepts: Vectors, kept: int) -> tuple[Vectors, Vectors]:
    """Vectors of fewer dimensions that best preserve all products of features and concepts: shapes (features,
    kept) and (concepts, kept). Unchanged if they have no more dimensions.
    """
    if kept >= features.shape[1]:
        return features, concepts
    left, left_triangle = np.linalg.qr(features.astype(np.float64))
    right, right_triangle = np.linalg.qr(concepts.astype(np.float64))
    turned, sizes, back = np.linalg.svd(left_triangle @ right_triangle.T, full_matrices=False)
    kept = min(kept, len(sizes))
    root = np.sqrt(sizes[:kept])
    few = left @ turned[:, :kept] * root, right @ back.T[:, :kept] * root
    return few[0].astype(np.float32), few[1].astype(np.float32)


def _batches(
    lesson: Lesson, settings: TowerSettings, draw: np.random.Generator
) -> list[tuple[Numbers, Numbers]]:
    """The loci and pseudo-loci of every step: each of one group, the groups mixed."""
    group_of = lesson.groups[lesson.concepts]
    pseudo_group = lesson.groups[lesson.pseudo_concepts]
    share = int(settings.batch * settings.pseudo)
    found: list[tuple[Numbers, Numbers]] = []
    for _ in range(settings.epochs):
        epoch = []
        for group in np.unique(group_of):
            members = draw.permutation(np.flatnonzero(group_of == group))
            made_up = np.flatnonzero(pseudo_group == group)
            for start in range(0, len(members), settings.batch - share):
                loci = members[start : start + settings.batch - share]
                many = min(share, len(loci) // 2 + 1) if len(made_up) else 0
                pseudo = draw.choice(made_up, size=many) if many else np.zeros(0, dtype=np.int64)
                epoch.append((loci, pseudo))
        found += [epoch[i] for i in draw.permutation(len(epoch))]
    return found


def _step(
    lesson: Lesson,
    settings: TowerSettings,
    draw: np.random.Generator,
    features: Adam,
    words: Adam,
    free: Adam,
    free_of: npt.NDArray[np.bool_],
    group: int,
    loci: Numbers,
    pseudo: Numbers,
    rate: float,
) -> None:
    from scipy.sparse import vstack

    targets = np.concatenate([lesson.concepts[loci], lesson.pseudo_concepts[pseudo]])
    inside = lesson.groups == group
    unseen = np.flatnonzero(inside & ~free_of)
    some = (
        draw.choice(unseen, size=settings.sampled, replace=False)
        if len(unseen) > settings.sampled
        else unseen
    )
    candidates = np.unique(np.concatenate([np.flatnonzero(inside & free_of), some, targets]))
    place = np.searchsorted(candidates, targets)

    bags = lesson.loci[loci]
    if len(pseudo):
        bags = vstack([bags, lesson.pseudo[pseudo]], format="csr")
    columns, bags = _dropped(bags, settings.drop, draw)
    spoken, texts = _compact(lesson.words[candidates])
    has_free = np.flatnonzero(free_of[candidates] & (draw.random(len(candidates)) >= settings.drop_free))

    left = bags @ features.values[columns]
    right = np.asarray(texts @ words.values[spoken])
    right[has_free] += free.values[candidates[has_free]]
    wrong = left @ right.T
    wrong -= wrong.max(axis=1, keepdims=True)
    np.exp(wrong, out=wrong)
    wrong /= wrong.sum(axis=1, keepdims=True)
    wrong[np.arange(len(targets)), place] -= 1.0
    wrong /= len(targets)
    left_gradient, right_gradient = wrong @ right, wrong.T @ left

    if words is features:
        both, where = np.unique(np.concatenate([columns, spoken]), return_inverse=True)
        gradient = np.zeros((len(both), left.shape[1]), dtype=np.float32)
        gradient[where[: len(columns)]] += bags.T @ left_gradient
        gradient[where[len(columns) :]] += texts.T @ right_gradient
        features.step(both, gradient, rate)
    else:
        features.step(columns, np.asarray(bags.T @ left_gradient), rate)
        words.step(spoken, np.asarray(texts.T @ right_gradient), rate)
    free.step(candidates[has_free], right_gradient[has_free], rate)


def _dropped(bags: Matrix, chance: float, draw: np.random.Generator) -> tuple[Numbers, Matrix]:
    """The bags without some of their features, the others weighed up, over the columns that are left."""
    kept = draw.random(bags.nnz, dtype=np.float32) >= chance
    ends = np.concatenate([[0], np.cumsum(kept)])[bags.indptr]
    return _over(bags.indices[kept], bags.data[kept] / np.float32(1 - chance), ends)


def _compact(rows: Matrix) -> tuple[Numbers, Matrix]:
    """A matrix with only the columns that it uses, and their numbers."""
    return _over(rows.indices, rows.data, rows.indptr)


def _over(indices: Any, data: Any, ends: Any) -> tuple[Numbers, Matrix]:
    from scipy.sparse import csr_matrix

    columns, place = np.unique(indices, return_inverse=True)
    return columns.astype(np.int64), csr_matrix((data, place, ends), shape=(len(ends) - 1, len(columns)))
