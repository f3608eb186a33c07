"""Rows of one table: counts by hand, and what a neighbour makes likelier."""

import numpy as np
import pytest
from abduce.programs.together import DOUBT, FEATURES, Line, Owners, Together, joint_tables

TABLES = [(0, [[0], [1], [2]]), (1, [[0], [1]]), (2, [[0], [3]]), (2, [[1]])]


def test_companies_are_counted_once_and_one_can_be_left_out():
    owners = Owners.of({5: {0, 9}, 7: {1}}, 10)
    keys = np.array([5, 6, 7])
    assert owners.count(keys, None).tolist() == [2, 0, 1]
    assert owners.count(keys, 9).tolist() == [1, 0, 1]
    assert Owners.of({}, 3).count(keys, 1).tolist() == [0, 0, 0]


def test_pairs_of_one_company_alone_are_not_kept():
    counted = Together.count(TABLES, 4, 3)
    assert counted.tables.keys.tolist() == [1, 4]  # 0 with 1, 1 with 0
    assert counted.order.keys.tolist() == [1]  # 1 just below 0
    assert counted.single.count(np.arange(4), None).tolist() == [3, 3, 1, 1]


def test_likelier_by_hand():
    same, below, above = Together.count(TABLES, 4, 3).likelier(np.array([0, 1, 3]), None)
    chance = np.array([3.1, 3.1, 1.1]) / 3
    assert same[0, 1] == pytest.approx(np.log((2 + DOUBT * chance[1]) / (3 + DOUBT) / chance[1]))
    assert same[0, 0] == 0.0
    assert below[0, 1] > below[0, 2]
    assert above[1, 0] > above[1, 2]


def test_a_table_pulls_a_row_to_what_stands_below_its_neighbour():
    counted = Together.count([(c, [[0], [1]]) for c in range(9)] + [(9, [[2], [3]])], 4, 10)
    lines = [
        Line(np.array([0]), np.array([0.0]), "a", 1.0),
        Line(np.array([1, 3]), np.log([0.5, 0.5]), "b", 2.0),
    ]
    first, second = joint_tables(lines, counted)
    column = FEATURES.index("below")
    assert second[0, column] > second[1, column]
    assert first[0].tolist()[1:3] != [0.0, 0.0] or first[0, FEATURES.index("above")] != 0.0


def test_cells_of_one_row_say_nothing_of_each_other():
    counted = Together.count([(c, [[0], [1]]) for c in range(3)], 2, 3)
    line = Line(np.array([0, 1]), np.log([0.6, 0.4]), "same", 1.0)
    for table in joint_tables([line, line], counted):
        assert (table[:, 1:] == 0).all()
