"""Confidence: fitted, stored as numbers, and what can be accepted with it."""

import json

import numpy as np
import pytest
from abduce.retrievers.base import Ranking
from abduce.retrievers.errors import InputError
from abduce.tagging.calibration import FEATURES, Calibration, calibration_error, features, fit, risk_coverage
from hypothesis import given
from hypothesis import strategies as st


def sample(n=800, seed=0):
    """Facts that are right with the probability that their margin says."""
    rng = np.random.default_rng(seed)
    margin = rng.uniform(0, 1, n)
    evidence = np.zeros((n, len(FEATURES)))
    evidence[:, 0] = (1 + margin) / 2
    evidence[:, 1] = margin
    return evidence, rng.uniform(0, 1, n) < margin


def test_features_of_a_ranking():
    ranking = Ranking(["a", "b"], np.array([0.6, 0.3]), {"companies": np.array([3.0, 1.0])})
    assert features(ranking, "table") == pytest.approx([0.6, 0.3, np.log(2), np.log(4), 0.0])
    assert features(Ranking.of([]), "text") == [0.0] * 5
    assert features(Ranking.of(["a"], [0.5]), "text") == [0.5, 0.5, 10.0, 0.0, 1.0]
    assert features(Ranking.of(["a", "b"], [0.4, -0.5]), "table")[2] == 10.0


@pytest.mark.parametrize("kind", ["logistic", "isotonic"])
def test_fitted_probabilities_are_calibrated_on_new_facts(kind, tmp_path):
    pytest.importorskip("sklearn")
    evidence, right = sample()
    fitted = fit(evidence, right, "row", kind)
    fresh, truth = sample(seed=1)
    p = fitted.probability(fresh)
    assert np.all((p >= 0) & (p <= 1))
    assert calibration_error(p, truth) < 0.1
    fitted.save(tmp_path / "c.json")
    again = Calibration.load(tmp_path / "c.json")
    assert again == fitted
    assert np.allclose(again.probability(fresh), p)


def test_what_cannot_be_fitted_or_read(tmp_path):
    pytest.importorskip("sklearn")
    evidence, right = sample(10)
    with pytest.raises(InputError, match="10 facts"):
        fit(evidence, right, "row")
    with pytest.raises(InputError, match="cannot calibrate"):
        fit(sample(50)[0], [True] * 50, "row")
    with pytest.raises(InputError, match="no such file"):
        Calibration.load(tmp_path / "none.json")
    for text in ("{", "[]", json.dumps({"program": "p", "kind": "logistic", "fitted_on": 3})):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(InputError, match=r"is not JSON|dictionary|needs"):
            Calibration.load(tmp_path / "bad.json")


def test_risk_coverage_by_hand():
    p = [0.9, 0.8, 0.8, 0.4]
    right = [True, True, False, True]
    lines = {a.wanted: a for a in risk_coverage(p, right, (1.0, 0.75, 0.7))}
    assert (lines[1.0].threshold, lines[1.0].coverage) == (0.9, 0.25)
    assert (lines[0.75].threshold, lines[0.75].coverage, lines[0.75].precision) == (0.4, 1.0, 0.75)
    assert lines[0.7].coverage == 1.0


def test_a_precision_that_cannot_be_reached():
    (line,) = risk_coverage([0.9, 0.5], [False, False], (0.9,))
    assert (line.threshold, line.coverage, line.precision) == (None, 0.0, None)
    (line,) = risk_coverage([], [], (0.9,))
    assert line.threshold is None


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9, 1.0]), st.booleans()), min_size=1, max_size=30))
def test_acceptance_keeps_what_it_promises(tags):
    p, right = zip(*tags, strict=True)
    for line in risk_coverage(p, right):
        if line.threshold is None:
            assert line.coverage == 0.0
            continue
        accepted = [r for q, r in tags if q >= line.threshold]
        assert len(accepted) / len(tags) == pytest.approx(line.coverage)
        assert sum(accepted) / len(accepted) == pytest.approx(line.precision)
        assert line.precision >= line.wanted


def test_calibration_error_by_hand():
    assert calibration_error([0.95, 0.95], [True, False]) == pytest.approx(0.45)
    assert calibration_error([1.0, 0.0], [True, False]) == 0.0
