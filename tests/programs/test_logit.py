"""The conditional logit: by hand, and against a brute force."""

import numpy as np
import pytest
from abduce.programs.logit import Logit, fit_logit


def test_scores_are_logarithms_of_probabilities():
    logit = Logit(("a", "b"), (1.0, -1.0))
    scores = logit.scores(np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert np.exp(scores) == pytest.approx([np.e / (np.e + 1 / np.e), (1 / np.e) / (np.e + 1 / np.e)])
    assert len(logit.scores(np.zeros((0, 2)))) == 0


def test_the_fit_is_the_most_likely_less_the_penalty():
    rng = np.random.default_rng(0)
    tables = [rng.standard_normal((int(rng.integers(2, 6)), 1)) for _ in range(60)]
    right = [int(np.argmax(t[:, 0] + rng.gumbel(size=len(t)))) for t in tables]
    fitted = fit_logit(["x"], tables, right, penalty=1.0)
    scale = np.concatenate(tables).std()

    def loss(weight):
        each = [Logit(("x",), (weight,)).scores(t)[r] for t, r in zip(tables, right, strict=True)]
        return -sum(each) + (weight * scale) ** 2 / 2

    grid = np.linspace(-2, 4, 601)
    assert fitted.weights[0] == pytest.approx(grid[np.argmin([loss(w) for w in grid])], abs=0.01)


def test_a_feature_that_never_varies_gets_no_weight():
    tables = [np.array([[1.0, 5.0], [0.0, 5.0]])] * 20
    assert fit_logit(["x", "same"], tables, [0] * 20).weights[1] == pytest.approx(0.0, abs=1e-9)


def test_nothing_to_fit_on_is_refused():
    with pytest.raises(ValueError, match="no facts"):
        fit_logit(["x"], [], [])
