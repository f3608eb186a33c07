"""A row's wall time, by hand."""

import math

import pytest
from abduce.data.example import Example
from abduce.eval.runs.outcome import Outcome, Outcomes

EXAMPLES = [Example(f"e{i}", {}, "g") for i in range(4)]


def walls(*spans):
    """The wall times of a row whose examples began and lasted so, one list per seed."""
    outcomes = Outcomes(range(len(spans)), EXAMPLES)
    for seed, row in enumerate(spans):
        for i, (began, lasted) in enumerate(row):
            outcomes.put(seed, i, Outcome({"R@1": 1.0}, {}, lasted, None, began=began))
    return outcomes.result("r", ["R@1"], {}, {}).walls()


def test_examples_side_by_side_count_once_and_pauses_do_not_count():
    # 0 to 5 (one inside the other), then a pause, then 100 to 103 and 102 to 104.
    assert walls([(0, 5), (1, 2), (100, 3), (102, 2)]) == [9.0]
    assert walls([(102, 2), (0, 5), (100, 3), (1, 2)]) == [9.0]


def test_one_value_per_seed_and_none_where_it_is_not_known():
    assert walls([(0, 1)], [(5, 2), (7, 2)]) == [1.0, 4.0]
    assert walls([(math.nan, 1)]) == []
    assert walls([(math.nan, 1), (3, 1.5)]) == [pytest.approx(1.5)]
