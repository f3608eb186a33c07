"""The map from support to correctness: isotonic regression by hand and by brute force, and its command."""

import itertools
import json

import dspy
import numpy as np
import pytest
from abduce.data.example import Example
from abduce.eval.runs.row import Row
from abduce.eval.runs.runner import run
from abduce.eval.runs.taxonomy_codec import TaxonomyCodec
from abduce.eval.support_map import fit_support, isotonic
from abduce.programs.fusion import final_ranking, fuse
from abduce.programs.trace import Judged, Query, Trace
from abduce.retrievers.base import Ranking
from abduce.retrievers.errors import InputError
from abduce.signatures.types import Judgement, Verdict
from hypothesis import given
from hypothesis import strategies as st


def test_by_hand():
    places, values = isotonic([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    assert places.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert values.tolist() == [0, 0.5, 0.5, 1]
    assert isotonic([0.5, 0.5], [0, 1])[1].tolist() == [0.5]
    with pytest.raises(ValueError, match="at least one"):
        isotonic([], [])


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6))
def test_no_nondecreasing_step_function_is_nearer(values):
    found = isotonic(range(len(values)), values)[1]
    assert (np.diff(found) >= -1e-12).all()
    best = ((found - values) ** 2).sum()
    grid = [i / 4 for i in range(17)]
    for other in itertools.combinations_with_replacement(grid, len(values)) if len(values) < 4 else ():
        assert best <= sum((a - b) ** 2 for a, b in zip(other, values, strict=True)) + 1e-9


def answer(support, concept):
    trace = Trace(settings={"K": 200})
    trace.retrieved([Query("q", "definition", 0)], [Ranking.of([concept])])
    trace.pool = fuse(trace.rankings)
    trace.judged = [Judged(0, [concept], [Verdict(concept, {"F": Judgement.SUPPORT})])]
    return dspy.Prediction(ranking=final_ranking(trace.pool, {concept: support}, 0.6), trace=trace)


def made(out, supports=(0.2, 0.4, 0.6, 0.8, 1.0)):
    """50 facts of ten contexts; of those with support v the share v is right."""
    examples = [Example(f"e{i}", {"n": i}, "g", f"c{i % 10}", {}) for i in range(50)]

    def program(n):
        support = supports[n // 10]
        return answer(support, "g" if n % 10 < 10 * support else "wrong")

    plain = [Ranking.of(["g"])]
    direct = lambda n: dspy.Prediction(ranking=plain[0], trace=Trace())  # noqa: E731
    rows = [Row("soft", lambda seed: program), Row("direct", lambda seed: direct)]
    return run(rows, examples, codec=TaxonomyCodec(), out=out, experiment="x", data="d")


def test_a_support_that_is_a_chance_is_left_as_it_is(tmp_path):
    fitted, table = fit_support(made(tmp_path / "r"), "soft")
    assert fitted.facts == 50
    assert fitted.support == pytest.approx((0.2, 0.4, 0.6, 0.8, 1.0))
    assert fitted.correct == pytest.approx((0.2, 0.4, 0.6, 0.8, 1.0))
    assert fitted.probability([0.0, 0.5, 1.0]).tolist() == pytest.approx([0.2, 0.5, 1.0])
    assert [line[1] for line in table.rows] == [10] * 5
    assert "60.0% are right. Expected calibration error: 0.000 of the support" in table.notes[0]


def test_what_cannot_be_fitted_is_said(tmp_path):
    made(tmp_path / "r")
    from abduce.eval.runs.run import Run

    loaded = Run.load(tmp_path / "r", TaxonomyCodec())
    with pytest.raises(InputError, match="no verdicts to fit a map on"):
        fit_support(loaded, "direct")
    with pytest.raises(InputError, match="no row 'odd'"):
        fit_support(loaded, "odd")


def test_the_command(tmp_path, cli):
    made(tmp_path / "r")
    done = cli("calibrate", tmp_path / "r", "--row", "soft", "--out", tmp_path / "map.json")
    assert done.code == 0
    assert "soft: support and correctness" in done.out
    written = json.loads((tmp_path / "map.json").read_text())
    assert written["row"] == "soft"
    assert len(written["support"]) == len(written["correct"]) == 5
    for more in (["--row", "odd"], [], ["--row", "soft", "--check", "test"]):
        refused = cli("calibrate", tmp_path / "r", *more)
        assert (refused.code, len(refused.errors)) == (2, 1)
