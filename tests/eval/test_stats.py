import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from abduce.eval import stats
from hypothesis import given, settings
from hypothesis import strategies as st


def _clustered(rng: np.random.Generator, clusters: int, sd: float) -> tuple[np.ndarray, np.ndarray]:
    """0/1 answers whose rate varies by cluster (true mean 0.5), with cluster sizes of 1 to 15."""
    sizes = rng.integers(1, 16, size=clusters)
    rates = np.clip(0.5 + sd * rng.standard_normal(clusters), 0, 1)
    code = np.repeat(np.arange(clusters), sizes)
    return (rng.random(len(code)) < rates[code]).astype(float), code


def test_interval_covers_the_truth_on_clustered_data_and_fact_resampling_does_not() -> None:
    rng = np.random.default_rng(7)
    inside = inside_naive = 0
    trials = 300
    for trial in range(trials):
        values, code = _clustered(rng, 80, sd=0.3)
        [got] = stats.ClusterBootstrap(code.tolist(), 500, seed=trial).intervals(values)
        [naive] = stats.ClusterBootstrap(range(len(code)), 500, seed=trial).intervals(values)
        inside += got.low <= 0.5 <= got.high
        inside_naive += naive.low <= 0.5 <= naive.high
    assert 0.91 <= inside / trials <= 0.98
    assert inside_naive / trials < 0.85


def test_bootstrap_equals_a_plain_loop_over_contexts() -> None:
    clusters = ["a", "b", "a", "c", "c", "c"]
    values = np.array([[1, 0, 1, 0, 0, 1], [0, 0, 1, 1, 1, 1]], dtype=float)
    got = stats.ClusterBootstrap(clusters, 50, seed=3).resampled_means(values)
    draws = np.random.default_rng(3).integers(0, 3, size=(50, 3))
    members = [[0, 2], [1], [3, 4, 5]]
    for b in range(50):
        chosen = [i for c in draws[b] for i in members[c]]
        assert got[b] == pytest.approx(values[:, chosen].mean(axis=1))


def test_seed_decides_and_chunks_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    values, code = _clustered(rng, 30, 0.2)
    whole = stats.ClusterBootstrap(code.tolist(), 300, seed=1).intervals(values)
    assert whole == stats.ClusterBootstrap(code.tolist(), 300, seed=1).intervals(values)
    assert whole != stats.ClusterBootstrap(code.tolist(), 300, seed=2).intervals(values)
    monkeypatch.setattr(stats, "_CHUNK", 300)
    assert whole == stats.ClusterBootstrap(code.tolist(), 300, seed=1).intervals(values)


def test_pairing_narrows_the_interval_of_a_difference() -> None:
    rng = np.random.default_rng(5)
    base, code = _clustered(rng, 60, 0.3)
    better = base.copy()
    better[rng.permutation(np.flatnonzero(base == 0))[:30]] = 1
    boot = stats.ClusterBootstrap(code.tolist())
    [difference] = boot.differences(better, base)
    assert difference.mean == pytest.approx(30 / len(base))
    assert 0 < difference.low < difference.mean < difference.high
    [alone] = boot.intervals(better)
    assert difference.high - difference.low < (alone.high - alone.low) / 2
    assert difference.p == pytest.approx(2 / 2001)
    [none] = boot.differences(base, base)
    assert (none.mean, none.low, none.high, none.p) == (0, 0, 0, 1)


def test_nan_means_not_applicable() -> None:
    boot = stats.ClusterBootstrap(["a", "b", "c"], 200)
    [got, empty] = boot.intervals([[1, math.nan, 0], [math.nan] * 3])
    assert (got.mean, got.n) == (0.5, 2)
    assert math.isnan(empty.mean)
    assert empty.n == 0
    [pair] = boot.differences([1, 1, 1], [0, math.nan, 1])
    assert (pair.mean, pair.n) == (0.5, 2)


@pytest.mark.parametrize(
    ("clusters", "resamples", "alpha"), [([], 10, 0.05), ([1], 0, 0.05), ([1], 10, 0), ([1], 10, 1)]
)
def test_impossible_bootstraps_are_refused(clusters: list[int], resamples: int, alpha: float) -> None:
    with pytest.raises(ValueError, match=r"examples|resamples"):
        stats.ClusterBootstrap(clusters, resamples, alpha=alpha)


def test_values_must_match_the_clusters() -> None:
    with pytest.raises(ValueError, match="2 values for 3"):
        stats.ClusterBootstrap([1, 2, 3]).intervals([1, 0])


@pytest.mark.parametrize(
    ("helped", "harmed", "p"),
    [(0, 0, 1.0), (5, 5, 1.0), (1, 5, 14 / 64), (5, 1, 14 / 64), (0, 10, 2 / 1024), (3, 4, 1.0)],
)
def test_mcnemar_by_hand(helped: int, harmed: int, p: float) -> None:
    assert stats.mcnemar(helped, harmed) == pytest.approx(p)


@settings(max_examples=60)
@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_is_the_exact_binomial(helped: int, harmed: int) -> None:
    n, k = helped + harmed, min(helped, harmed)
    tail = sum(Fraction(math.comb(n, i), 2**n) for i in range(k + 1))
    assert stats.mcnemar(helped, harmed) == pytest.approx(min(1.0, float(2 * tail)), rel=1e-12)


def test_mcnemar_of_thousands_stays_finite() -> None:
    assert 0 < stats.mcnemar(1000, 1400) < 1e-10
    with pytest.raises(ValueError, match="below 0"):
        stats.mcnemar(-1, 2)


def test_paired_counts() -> None:
    got = stats.paired_counts([1, 1, 0, 0, 1], [1, 0, 1, 0, 0])
    assert (got.both, got.helped, got.harmed, got.neither, got.n) == (1, 2, 1, 1, 5)
    assert got.p == stats.mcnemar(2, 1)
    with pytest.raises(ValueError, match="1 or 0"):
        stats.paired_counts([0.5], [1])
    with pytest.raises(ValueError, match=r"shorter|longer"):
        stats.paired_counts([1, 0], [1])


def test_holm_by_hand() -> None:
    assert stats.holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06})
    assert stats.holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}
    assert stats.holm({}) == {}


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=8))
def test_holm_keeps_order_and_never_lowers_a_p(p: dict[str, float]) -> None:
    adjusted = stats.holm(p)
    assert all(p[k] <= adjusted[k] <= 1 for k in p)
    ranked = sorted(p, key=p.__getitem__)
    assert all(adjusted[a] <= adjusted[b] for a, b in pairwise(ranked))


def test_mean_and_deviation_over_seeds() -> None:
    assert stats.mean_sd([0.25]) == (0.25, None)
    assert stats.mean_sd([1, 2, 3]) == (2, 1)
    with pytest.raises(ValueError, match="no values"):
        stats.mean_sd([])


def test_kappa_by_hand() -> None:
    assert stats.kappa("yyynnn", "yynnny") == pytest.approx((4 / 6 - 0.5) / 0.5)
    assert stats.kappa("aa", "aa") == 1
    assert stats.kappa("ab", "ba") == -1


def test_values_of_one_cluster_have_no_interval_and_no_p() -> None:
    boot = stats.ClusterBootstrap([1, 1, 2, 2], 200)
    both, one = boot.intervals([[1, 0, 1, 0], [1, 0, math.nan, math.nan]])
    assert both.low <= both.mean <= both.high
    assert (one.mean, one.n) == (0.5, 2)
    assert math.isnan(one.low)
    assert math.isnan(one.high)
    [pair] = boot.differences([1, 1, math.nan, math.nan], [0, 0, 0, 0])
    assert pair.mean == 1
    assert math.isnan(pair.p)


def test_holm_leaves_out_what_was_not_tested() -> None:
    got = stats.holm({"a": 0.02, "b": math.nan, "c": 0.04})
    assert got["a"] == pytest.approx(0.04)
    assert got["c"] == pytest.approx(0.04)
    assert math.isnan(got["b"])
