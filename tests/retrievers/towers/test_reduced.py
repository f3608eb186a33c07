"""Fewer dimensions that keep the products of features and concepts."""

import numpy as np
from abduce.retrievers.towers.fit import reduced


def vectors(rows, width, seed):
    return np.random.default_rng(seed).standard_normal((rows, width)).astype(np.float32)


def test_products_stay_where_the_dimensions_suffice():
    inside = vectors(3, 8, 0)  # all vectors lie in a space of three dimensions
    features, concepts = vectors(20, 3, 1) @ inside, vectors(30, 3, 2) @ inside
    few = reduced(features, concepts, 3)
    assert [v.shape for v in few] == [(20, 3), (30, 3)]
    np.testing.assert_allclose(few[0] @ few[1].T, features @ concepts.T, rtol=1e-3, atol=1e-3)


def test_what_is_lost_is_the_least_that_can_be():
    features, concepts = vectors(40, 6, 3), vectors(50, 6, 4)
    few = reduced(features, concepts, 4)
    sizes = np.linalg.svd(features @ concepts.T, compute_uv=False)
    lost = np.linalg.norm(few[0] @ few[1].T - features @ concepts.T)
    np.testing.assert_allclose(lost, np.linalg.norm(sizes[4:6]), rtol=1e-3)


def test_vectors_that_are_short_enough_stay_as_they_are():
    features, concepts = vectors(4, 2, 5), vectors(5, 2, 6)
    few = reduced(features, concepts, 2)
    assert few[0] is features
    assert few[1] is concepts


def test_fewer_concepts_than_dimensions_keep_every_product():
    features, concepts = vectors(99, 96, 7), vectors(7, 96, 8)
    few = reduced(features, concepts, 64)
    assert [v.shape for v in few] == [(99, 7), (7, 7)]
    np.testing.assert_allclose(few[0] @ few[1].T, features @ concepts.T, rtol=1e-3, atol=1e-3)
