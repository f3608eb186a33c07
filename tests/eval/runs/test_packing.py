"""Records packed and read back: what must be exact is, and order is kept everywhere."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from abduce.eval.runs.log import read_line, write_line
from abduce.eval.runs.packing import Names, exactly, floats, pack, unpack
from abduce.eval.runs.short import FUSED, shortened, whole
from abduce.programs.config import FHSConfig
from abduce.programs.fusion import final_ranking, fuse
from abduce.programs.trace import Query, Trace
from abduce.retrievers.base import Ranking
from hypothesis import given
from hypothesis import strategies as st

NAMES = Names([f"id{i}" for i in range(70_000)])

scores = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=8, max_size=40)
json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=5) | st.just("\n\t\x1b"),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=30,
)


@given(json)
def test_everything_but_long_lists_of_floats_comes_back_as_it_was(value: Any) -> None:
    assert unpack(pack(value, NAMES), NAMES) == value
    assert read_line(write_line({"id": 1, "body": value}, NAMES), NAMES) == {"id": 1, "body": value}


@given(st.lists(st.integers(0, 69_999), min_size=8, max_size=60))
def test_ids_become_numbers(places: list[int]) -> None:
    ids = [f"id{i}" for i in places]
    assert unpack(pack(ids, NAMES), NAMES) == ids
    strange = [*ids, "not in the table"]
    assert unpack(pack(strange, NAMES), NAMES) == strange


@given(scores)
def test_a_falling_column_keeps_its_order_and_its_ties(values: list[float]) -> None:
    falling = sorted(values, reverse=True)
    back = unpack(pack(falling, NAMES), NAMES)
    for (a, b), (x, y) in zip(itertools.pairwise(falling), itertools.pairwise(back), strict=True):
        assert (a > b) == (x > y)
        assert (a == b) == (x == y)
    assert back == pytest.approx(falling, rel=1e-4, abs=1e-4 * max(map(abs, falling)))


@given(scores)
def test_any_other_column_keeps_five_digits_of_its_largest(values: list[float]) -> None:
    back = unpack(pack(values, NAMES), NAMES)
    largest = max(map(abs, values))
    assert back == pytest.approx(values, rel=0, abs=max(largest * 1e-4, 1e-300))


@pytest.mark.parametrize("odd", [[math.inf] * 9, [math.nan, *range(8)], [0.0] * 8, [5e-324] * 9])
def test_odd_numbers_are_kept(odd: list[float]) -> None:
    np.testing.assert_array_equal(unpack(pack([float(v) for v in odd], NAMES), NAMES), odd)


def test_floats_that_must_be_exact_are() -> None:
    values = [1 / 3, 0.1 + 0.2, 1e-300, 5.0]
    assert floats(unpack(pack(exactly(values), NAMES), NAMES)) == values


def record(beta: float = 0.6, **changed: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    rankings = [
        Ranking.of([f"id{i}" for i in rng.choice(400, 200, replace=False)], np.sort(rng.random(200))[::-1])
        for _ in range(2)
    ]
    config = FHSConfig(beta=beta)
    pool = fuse(rankings, config.kappa).cut(config.K)
    support = dict.fromkeys(pool.ids, 1 / 3) | {pool.ids[3]: 5 / 7, pool.ids[9]: 0.0}
    final = final_ranking(pool, support if beta else {}, beta)
    trace = Trace(
        queries=[Query("a", "definition", 0), Query("b", "label", 0)],
        rankings=rankings,
        pool=pool,
        settings=config.model_dump() | changed,
    )
    ranking = {"ids": list(final.ids), "scores": final.scores, "components": dict(final.components)}
    ranking |= {"candidates": final.candidates, "fell_back": final.fell_back}
    return {"ranking": ranking, "trace": trace.toDict(), "top": [final.ids[0]]}


def lists(value: Any) -> Any:
    """Numpy arrays as lists."""
    if isinstance(value, dict):
        return {k: lists(v) for k, v in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("beta", [0.6, 0.0])
def test_pool_and_final_ranking_are_left_out_and_come_back_to_the_last_digit(beta: float) -> None:
    full = lists(record(beta))
    short = shortened(full)
    assert short["trace"]["pool"] == FUSED
    assert "scores" not in short["ranking"]
    back = whole(unpack(pack(short, NAMES), NAMES))
    assert back["ranking"] == full["ranking"]
    assert back["trace"]["pool"] == full["trace"]["pool"]
    assert len(write_line({"id": "x"} | record(beta), NAMES)) < 2_500


def test_what_does_not_follow_from_the_rest_is_kept() -> None:
    other = lists(record(kappa=10.0))  # the pool is not the fusion under these settings
    assert shortened(other)["trace"]["pool"] == other["trace"]["pool"]
    assert whole(shortened(other))["ranking"] == other["ranking"]
    moved = lists(record())
    moved["ranking"]["ids"].reverse()
    assert whole(shortened(moved)) == moved


def test_a_ranking_that_is_one_of_the_traces_is_named() -> None:
    full = lists(record())
    first = full["trace"]["rankings"][0]
    full["trace"]["pool"] = None
    full["ranking"] |= {"ids": [full["trace"]["ids"][p] for p in first["ids"]], "scores": first["scores"]}
    short = shortened(full)
    assert (short["ranking"]["ids"], short["ranking"]["scores"]) == (0, None)
    assert whole(short)["ranking"] == full["ranking"]


def test_a_line_with_any_changed_byte_is_no_record() -> None:
    line = write_line({"id": "x"} | record(), NAMES)
    assert line.count(b"\n") == 1
    for place in range(0, len(line), 7):
        assert read_line(line[:place] + bytes([line[place] ^ 4]) + line[place + 1 :], NAMES) is None
    assert read_line(line[:-1], NAMES) is None
    assert read_line(line, NAMES) is not None
