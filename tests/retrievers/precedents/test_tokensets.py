"""Cosines between token sets, by hand and by their properties."""

import math

import numpy as np
import pytest
from abduce.retrievers.precedents.tokensets import TokenSets
from hypothesis import given
from hypothesis import strategies as st

TOKENS = st.lists(st.sampled_from("abcdef"), max_size=5)


def test_by_hand():
    sets = TokenSets([["a", "b"], ["a"], []])
    idf = {t: math.log(1 + (3 - df + 0.5) / (df + 0.5)) for t, df in {"a": 2, "b": 1}.items()}
    found = sets.similarity(["a"])
    assert found[0] == pytest.approx(idf["a"] / math.hypot(idf["a"], idf["b"]), rel=1e-6)
    assert found[1] == pytest.approx(1.0)
    assert found[2] == 0.0


def test_an_unknown_token_lengthens_the_query_and_empty_equals_empty():
    sets = TokenSets([["a"], []])
    assert 0 < sets.similarity(["a", "zzz"])[0] < 1
    assert sets.similarity([]).tolist() == [0.0, 1.0]


@given(st.lists(TOKENS, min_size=1, max_size=8), TOKENS)
def test_range_symmetry_and_identity(stored, query):
    found = TokenSets(stored).similarity(query)
    assert found.shape == (len(stored),)
    assert np.all((found >= 0) & (found <= 1 + 1e-6))
    for tokens, value in zip(stored, found, strict=True):
        if set(tokens) == set(query):
            assert value == pytest.approx(1.0, abs=1e-6)
        if not set(tokens) & set(query) and (tokens or query):
            assert value == 0.0
