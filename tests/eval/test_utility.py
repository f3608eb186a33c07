"""DUR, same-subset gains, helped and harmed, agreement: by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from abduce.eval.utility import agreement, effect, label_shares, macro, subset_gains
from abduce.signatures.types import UtilityLabel

E, U, N = UtilityLabel


def test_label_shares_by_hand():
    shares = label_shares([E, E, U, N, N, N, N, N, None])
    assert (shares.n, shares.unjudged) == (9, 1)
    assert shares.share(E) == pytest.approx(2 / 9)
    assert shares.dur == pytest.approx(3 / 9)
    assert sum(map(shares.share, UtilityLabel)) + shares.unjudged_share == pytest.approx(1.0)


def test_nothing_judged():
    assert (label_shares([None]).dur, label_shares([None]).unjudged_share) == (0.0, 1.0)
    assert math.isnan(label_shares([]).dur)


def test_same_subset_gain_by_hand():
    labels = [E, E, U, U, N, N, None]
    method = [1, 1, 1, 0, 0, 0, 1]
    cot = [0, 1, 0, 0, 1, 0, 0]
    entailed, useful, useless = subset_gains(method, cot, labels, range(7))
    assert (entailed.n, entailed.accuracy.mean, entailed.gain.mean) == (2, 1.0, 0.5)
    assert (useful.n, useful.accuracy.mean, useful.gain.mean) == (2, 0.5, 0.5)
    assert (useless.n, useless.accuracy.mean, useless.gain.mean) == (2, 0.0, -0.5)


def test_a_label_without_questions():
    gains = subset_gains([1, 0], [1, 0], [N, N], range(2))
    assert gains[0].n == 0
    assert math.isnan(gains[0].gain.mean)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="as many"):
        subset_gains([1], [1, 0], [N], [0])


def test_helped_and_harmed_by_hand():
    found = effect([1, 1, 0, 0, 1], [0, 1, 1, 0, 0], range(5))
    counts = found.counts
    assert (counts.both, counts.helped, counts.harmed, counts.neither) == (1, 2, 1, 1)
    assert counts.p == pytest.approx(1.0)  # 2 of 3 either way: 2 * (1 + 3) / 8
    assert found.difference.mean == pytest.approx(0.2)


def test_repeated_questions_widen_the_interval():
    rng = np.random.default_rng(0)
    base = rng.integers(0, 2, 40)
    correct = np.repeat(base, 10)
    alone = effect(correct, 1 - correct, range(400)).accuracy
    together = effect(correct, 1 - correct, np.repeat(np.arange(40), 10).tolist()).accuracy
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_agreement_by_hand():
    found = agreement([E, E, U, N, None], [E, U, U, N, E])
    assert found.n == 4
    assert found.agreed == 0.75
    # chance: E 2/4*1/4 + U 1/4*2/4 + N 1/4*1/4 = 5/16
    assert found.kappa == pytest.approx((0.75 - 5 / 16) / (1 - 5 / 16))
    assert found.table[E][U] == 1


def test_agreement_needs_a_shared_context():
    with pytest.raises(ValueError, match="both"):
        agreement([None, E], [E, None])


def test_macro_average_skips_what_was_not_measured():
    assert macro([0.5, float("nan"), 0.7]) == pytest.approx(0.6)
    assert math.isnan(macro([]))
