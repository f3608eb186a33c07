"""Consensus fusion and the final score against values worked by hand (paper: Eq. 3 to 5)."""

from __future__ import annotations

import numpy as np
import pytest
from abduce.programs.fusion import Pool, final_ranking, fuse, range_norm
from abduce.retrievers.base import Ranking
from hypothesis import given
from hypothesis import strategies as st

IDS = [f"c{i}" for i in range(12)]
rankings_of_ids = st.lists(
    st.lists(st.sampled_from(IDS), unique=True, max_size=len(IDS)).map(Ranking.of), min_size=1, max_size=5
)


def scores(pool):
    return dict(zip(pool.ids, pool.fused.tolist(), strict=True))


class TestSum:
    """Eq. 4: S(c) = sum over the rankings that returned c of 1 / (kappa + rank)."""

    def test_by_hand(self):
        pool = fuse([Ranking.of(["a", "b"]), Ranking.of(["b", "c"])])
        assert scores(pool) == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61, "c": 1 / 62})
        assert list(pool.ids) == ["b", "a", "c"]

    def test_an_absent_ranking_adds_nothing(self):
        one, empty = Ranking.of(["a", "b"]), Ranking.of([])
        assert scores(fuse([one, empty, empty])) == scores(fuse([one]))

    def test_kappa(self):
        pool = fuse([Ranking.of(["a", "b"])], kappa=0)
        assert scores(pool) == {"a": 1.0, "b": 0.5}

    def test_scores_of_the_rankings_do_not_matter(self):
        high, low = Ranking.of(["a", "b"], [900.0, 0.1]), Ranking.of(["a", "b"], [2.0, 1.0])
        assert scores(fuse([high])) == scores(fuse([low]))

    def test_weights(self):
        pool = fuse([Ranking.of(["a"]), Ranking.of(["b"])], weights=[0.5, 2.0])
        assert scores(pool) == pytest.approx({"b": 2 / 61, "a": 0.5 / 61})

    def test_one_weight_a_ranking(self):
        with pytest.raises(ValueError):
            fuse([Ranking.of(["a"]), Ranking.of(["b"])], weights=[1.0])


class TestMean:
    def test_it_divides_by_how_many_rankings_contain_the_candidate(self):
        pool = fuse([Ranking.of(["a", "b"]), Ranking.of(["b", "c"]), Ranking.of([])], fusion="mean")
        assert scores(pool) == pytest.approx({"a": 1 / 61, "b": (1 / 62 + 1 / 61) / 2, "c": 1 / 62})
        assert list(pool.ids) == ["a", "b", "c"]


class TestRangeNorm:
    """Eq. 5."""

    def test_by_hand(self):
        assert range_norm(np.array([3.0, 1.0, 2.0])).tolist() == [1.0, 0.0, 0.5]

    def test_an_all_tied_pool_is_0(self):
        assert range_norm(np.array([0.7, 0.7])).tolist() == [0.0, 0.0]
        assert range_norm(np.array([0.7])).tolist() == [0.0]

    def test_an_empty_pool_stays_empty(self):
        assert range_norm(np.array([])).size == 0
        assert len(fuse([Ranking.of([])])) == 0

    def test_it_runs_over_the_whole_pool_before_the_cut(self):
        pool = fuse([Ranking.of(["a", "b", "c"])], kappa=0)
        # S = 1, 1/2, 1/3: S~ = 1, 1/4, 0
        assert pool.cut(2).scores.tolist() == pytest.approx([1.0, 0.25])

    def test_raw_scores_on_request(self):
        pool = fuse([Ranking.of(["a", "b"])], normalise=False)
        assert pool.scores.tolist() == pool.fused.tolist() == [1 / 61, 1 / 62]


class TestTies:
    """Score, first ranking that returned it, best rank, id."""

    def test_the_first_ranking_decides(self):
        pool = fuse([Ranking.of(["z"]), Ranking.of(["a"])])
        assert list(pool.ids) == ["z", "a"]

    def test_then_the_best_rank(self):
        # two rankings each: x at ranks 1 and 2, y at ranks 2 and 1; both first in ranking 0
        pool = fuse([Ranking.of(["x", "y"]), Ranking.of(["y", "x"])])
        assert list(pool.ids) == ["x", "y"]

    def test_window_and_final_order_take_score_then_id(self):
        pool = fuse([Ranking.of(["z"]), Ranking.of(["a"])])
        assert pool.by_score() == ["a", "z"]
        assert list(final_ranking(pool, {}, 0.0).ids) == ["a", "z"]


class TestFinal:
    """Eq. 3: S_final = S~ + beta * v."""

    def pool(self):
        return Pool(["a", "b", "c"], np.array([0.03, 0.02, 0.01]), np.array([1.0, 0.5, 0.0]))

    def test_by_hand(self):
        ranking = final_ranking(self.pool(), {"a": 0.0, "b": 1.0, "c": 0.5}, beta=0.6)
        assert list(ranking.ids) == ["b", "a", "c"]
        assert ranking.scores.tolist() == pytest.approx([1.1, 1.0, 0.3])
        assert ranking.components["fused"].tolist() == [0.02, 0.03, 0.01]
        assert ranking.components["fused_norm"].tolist() == [0.5, 1.0, 0.0]
        assert ranking.components["support"].tolist() == [1.0, 0.0, 0.5]

    def test_without_support_the_fused_order_stands(self):
        assert list(final_ranking(self.pool(), {}, beta=0.6).ids) == ["a", "b", "c"]

    @given(st.lists(st.floats(0, 1), min_size=3, max_size=3))
    def test_beta_0_keeps_the_fused_order(self, support):
        given_support = dict(zip("abc", support, strict=True))
        assert list(final_ranking(self.pool(), given_support, beta=0.0).ids) == ["a", "b", "c"]


@given(rankings_of_ids, st.randoms(use_true_random=False), st.sampled_from(["sum", "mean"]))
def test_fused_scores_do_not_depend_on_the_order_of_the_rankings(rankings, random, fusion):
    shuffled = list(rankings)
    random.shuffle(shuffled)
    one, other = scores(fuse(rankings, fusion=fusion)), scores(fuse(shuffled, fusion=fusion))
    assert one.keys() == other.keys()
    for id_, score in one.items():
        assert other[id_] == pytest.approx(score, rel=1e-12)


@given(rankings_of_ids, st.sampled_from(["sum", "mean"]), st.floats(0, 100))
def test_normalised_scores_lie_in_0_to_1_and_fall_along_the_pool(rankings, fusion, kappa):
    pool = fuse(rankings, kappa=kappa, fusion=fusion)
    assert ((pool.scores >= 0) & (pool.scores <= 1)).all()
    assert (np.diff(pool.scores) <= 0).all()
    if len({round(s, 15) for s in pool.fused}) > 1:
        assert pool.scores.max() == 1.0
        assert pool.scores.min() == 0.0


@given(rankings_of_ids)
def test_the_pool_is_the_union_of_the_rankings(rankings):
    pool = fuse(rankings)
    assert sorted(pool.ids) == sorted({c for r in rankings for c in r.ids})


@given(rankings_of_ids, st.floats(0, 5))
def test_the_verifier_only_reorders_the_pool(rankings, beta):
    pool = fuse(rankings)
    support = {c: (IDS.index(c) % 7) / 6 for c in pool.ids}
    ranking = final_ranking(pool, support, beta)
    assert sorted(ranking.ids) == sorted(pool.ids)
    assert (np.diff(ranking.scores) <= 0).all()


def test_what_the_rankings_say_of_the_filter_reaches_the_final_ranking():
    typed, all_ = Ranking.of(["a"], candidates=7), Ranking.of(["b"], candidates=20, fell_back=True)
    for rankings, searched, fell_back in (([typed], 7, False), ([typed, all_], 20, True), ([], 0, False)):
        ranking = final_ranking(fuse(rankings).cut(1), {}, 0.6)
        assert (ranking.candidates, ranking.fell_back) == (searched, fell_back)
