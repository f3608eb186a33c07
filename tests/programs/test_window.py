"""The profile-diverse window, and the support its verdicts add up to (paper: Section 4.4, Eq. 2)."""

from __future__ import annotations

import pytest
from abduce.programs.window import mean_support, profile_window, support_of
from abduce.signatures.types import Judgement, Verdict
from hypothesis import given
from hypothesis import strategies as st

LETTERS = {"s": Judgement.SUPPORT, "n": Judgement.NO_SUPPORT, "x": Judgement.ABSTAIN}
NAMES = ("Family", "Role", "Event", "Qualifier", "Scope", "Temporal")


def verdict(id_, letters, **probabilities):
    return Verdict(id_, {n: LETTERS[c] for n, c in zip(NAMES, letters, strict=True)}, probabilities)


class TestWindow:
    def test_the_best_of_each_profile_then_the_rest_by_rank(self):
        profile = {"a": 1, "b": 1, "c": 2, "d": 1, "e": 3, "f": 2}
        assert profile_window(list("abcdef"), profile.get, Kv=5) == ["a", "c", "e", "b", "d"]

    def test_it_stops_at_Kv_profiles(self):
        assert profile_window(list("abcdef"), {c: c for c in "abcdef"}.get, Kv=3) == ["a", "b", "c"]

    def test_one_profile_everywhere_is_the_head_of_the_ranking(self):
        assert profile_window(list("abcdef"), lambda _: 0, Kv=4) == ["a", "b", "c", "d"]

    def test_a_pool_smaller_than_Kv_is_the_window(self):
        assert profile_window(list("ab"), lambda _: 0, Kv=10) == ["a", "b"]
        assert profile_window([], lambda _: 0, Kv=10) == []

    def test_only_the_scanned_head_is_looked_at(self):
        ordered = [f"c{i:03d}" for i in range(100)]
        profile = {c: int(c >= "c060") for c in ordered}  # the second profile begins behind the scan
        window = profile_window(ordered, profile.get, Kv=10, scan=60)
        assert window == ordered[:10]
        assert profile_window(ordered, profile.get, Kv=10, scan=61) == ["c000", "c060", *ordered[1:9]]

    def test_a_scan_shorter_than_the_window_still_fills_it(self):
        assert len(profile_window([f"c{i}" for i in range(30)], lambda _: 0, Kv=20, scan=5)) == 20

    @given(
        st.lists(st.integers(0, 6), max_size=90),
        st.integers(1, 25),
        st.integers(1, 80),
    )
    def test_right_size_distinct_profiles_first_and_in_order(self, profiles, Kv, scan):
        ordered = [f"c{i:03d}" for i in range(len(profiles))]
        profile = dict(zip(ordered, profiles, strict=True))
        window = profile_window(ordered, profile.get, Kv, scan)
        head = ordered[: max(scan, Kv)]
        assert len(window) == min(Kv, len(ordered))
        assert len(set(window)) == len(window)
        assert set(window) <= set(head)
        n = min(Kv, len({profile[c] for c in head}))
        first, rest = window[:n], window[n:]
        assert len({profile[c] for c in first}) == n
        assert first == sorted(first)
        assert rest == sorted(rest)
        for c in first:  # each is the best of its profile
            assert c == next(d for d in head if profile[d] == profile[c])


class TestSupport:
    """v_j(c) = supported / non-abstained."""

    def test_by_hand(self):
        assert support_of(verdict("c", "ssnxxx")) == pytest.approx(2 / 3)
        assert support_of(verdict("c", "nnnnnn")) == 0.0
        assert support_of(verdict("c", "sxxxxx")) == 1.0

    def test_abstained_everywhere_is_no_verdict(self):
        assert support_of(verdict("c", "xxxxxx")) is None

    def test_abstain_counted_as_no_support(self):
        assert support_of(verdict("c", "ssnxxx"), "no_support") == pytest.approx(2 / 6)
        assert support_of(verdict("c", "xxxxxx"), "no_support") == 0.0

    def test_probabilities_stand_in_for_hard_judgements(self):
        graded = verdict("c", "snxxxx", Family=(0.9, 0.1, 0.0), Role=(0.4, 0.6, 0.0))
        assert support_of(graded) == pytest.approx(0.65)
        assert support_of(graded, "no_support") == pytest.approx(1.3 / 6)


class TestMean:
    """Eq. 2: v(c) is the mean over hypotheses; what carries no verdict takes the mean of the judged."""

    POOL = ("a", "b", "c", "out")

    def test_outside_the_window_takes_the_mean_of_the_judged(self):
        judged = [verdict("a", "ssssxx"), verdict("b", "ssnnxx"), verdict("c", "nnnnxx")]
        assert mean_support(self.POOL, [judged]) == {"a": 1.0, "b": 0.5, "c": 0.0, "out": 0.5}

    def test_an_abstained_candidate_is_treated_like_one_outside(self):
        judged = [verdict("a", "ssssxx"), verdict("b", "ssnnxx"), verdict("c", "xxxxxx")]
        assert mean_support(self.POOL, [judged]) == {"a": 1.0, "b": 0.5, "c": 0.75, "out": 0.75}

    def test_under_no_support_it_counts_as_judged(self):
        judged = [verdict("a", "sssxxx"), verdict("b", "xxxxxx")]
        assert mean_support(self.POOL, [judged], "no_support") == {"a": 0.5, "b": 0.0, "c": 0.25, "out": 0.25}

    def test_the_mean_over_two_hypotheses(self):
        first = [verdict("a", "sssxxx"), verdict("b", "nnnxxx")]
        second = [verdict("a", "nxxxxx"), verdict("c", "sxxxxx")]
        # a: (1 + 0) / 2, b: (0 + 1/2) / 2, c: (1/2 + 1) / 2, out: (1/2 + 1/2) / 2
        assert mean_support(self.POOL, [first, second]) == {"a": 0.5, "b": 0.25, "c": 0.75, "out": 0.5}

    def test_a_failed_call_is_0_for_all_and_still_counts_in_the_mean(self):
        judged = [verdict("a", "sxxxxx"), verdict("b", "nxxxxx")]
        assert mean_support(self.POOL, [judged, None]) == {"a": 0.5, "b": 0.0, "c": 0.25, "out": 0.25}

    def test_nothing_judged_is_0_for_all(self):
        everywhere = [verdict(c, "xxxxxx") for c in "abc"]
        assert mean_support(self.POOL, [everywhere]) == dict.fromkeys(self.POOL, 0.0)
        assert mean_support(self.POOL, [None]) == dict.fromkeys(self.POOL, 0.0)

    def test_without_a_verification_there_is_no_support(self):
        assert mean_support(self.POOL, []) == {}

    @given(st.lists(st.lists(st.text("snx", min_size=6, max_size=6), min_size=1, max_size=4), max_size=3))
    def test_support_lies_in_0_to_1(self, verdicts):
        judged = [[verdict(c, v) for c, v in zip("abcd", one, strict=False)] for one in verdicts]
        for values in (mean_support("abcdef", judged), mean_support("abcdef", judged, "no_support")):
            assert all(0 <= v <= 1 + 1e-12 for v in values.values())
