"""Union, deduplication, budget and packing: by hand and as properties."""

from __future__ import annotations

import pytest
from abduce.programs.rag.context import (
    Evidence,
    estimate_tokens,
    fuse_queries,
    overlap,
    pack,
    same_text,
    show,
)
from abduce.retrievers.base import Ranking
from abduce.retrievers.corpus import Passage
from hypothesis import given
from hypothesis import strategies as st

POOL = {
    f"p{i}": Passage(f"p{i}", f"T{i}" if i % 3 else "", f"text of {i % 20} " * (i % 7 + 1)) for i in range(40)
}
rankings = st.lists(st.lists(st.sampled_from(sorted(POOL)), unique=True, max_size=8), min_size=1, max_size=4)


@given(rankings, st.integers(1, 20))
def test_fuse_is_a_bounded_union_in_order(lists, budget):
    named = {f"q{i}": Ranking.of(ids) for i, ids in enumerate(lists, 1)}
    fused = fuse_queries(named, POOL, budget)
    kept = [e.id for e in fused.evidence]
    texts = [same_text(POOL[i]) for i in kept]
    assert len(kept) <= budget
    assert len(set(texts)) == len(texts)
    flat = [(name, rank, id_) for name, r in named.items() for rank, id_ in enumerate(r.ids, 1)]
    distinct = list(dict.fromkeys(same_text(POOL[id_]) for _, _, id_ in flat))
    assert texts == distinct[:budget]
    assert fused.duplicates + len(distinct) == len(flat)
    assert fused.over_budget == len(distinct) - len(kept)
    for e in fused.evidence:  # every place that returned the text, in order, the first one first
        places = [(n, r) for n, r, id_ in flat if same_text(POOL[id_]) == same_text(POOL[e.id])]
        assert list(e.sources) == places
        assert flat[[(n, r) for n, r, _ in flat].index(e.first)][2] == e.id


@given(st.lists(st.sampled_from(sorted(POOL)), unique=True), st.integers(-5, 400))
def test_pack_keeps_whole_passages_within_the_room(ids, room):
    evidence = [Evidence(i, (("q", n),)) for n, i in enumerate(ids, 1)]
    packed = pack(evidence, POOL, room)
    kept = [e.id for e in packed.evidence]
    assert packed.tokens <= max(room, 0)
    assert [i for i in ids if i in set(kept)] == kept
    assert sorted(kept + list(packed.left_out)) == sorted(ids)
    lines = packed.text.split("\n") if packed.text else []
    assert lines == [show(n, POOL[i]) for n, i in enumerate(kept, 1)]
    for i in packed.left_out:  # nothing is left out that would have fitted into the empty room at the end
        assert packed.tokens + estimate_tokens(show(len(kept) + 1, POOL[i]) + "\n") > room


def test_a_later_shorter_passage_still_fits():
    found = {"a": Passage("a", "", "x" * 350), "b": Passage("b", "", "y" * 3500), "c": Passage("c", "", "z")}
    packed = pack([Evidence(i, (("q", 1),)) for i in "abc"], found, 200)
    assert [e.id for e in packed.evidence] == ["a", "c"]
    assert packed.left_out == ("b",)
    assert packed.text.endswith("[2] z")


def test_duplicates_by_text_under_two_ids():
    found = {"a": Passage("a", "", "Same  Words"), "b": Passage("b", "other title", "same words")}
    fused = fuse_queries({"q1": Ranking.of(["a"]), "q2": Ranking.of(["b"])}, found, 15)
    assert fused.evidence == (Evidence("a", (("q1", 1), ("q2", 1))),)
    assert fused.duplicates == 1


def test_budget_below_one():
    with pytest.raises(ValueError, match="budget"):
        fuse_queries({}, POOL, 0)


def test_overlap_by_hand():
    a, b, c = Ranking.of(["1", "2"]), Ranking.of(["2", "3"]), Ranking.of([])
    assert overlap([a, b]) == pytest.approx(1 / 3)
    assert overlap([a, b, c]) == pytest.approx(1 / 9)
    assert overlap([a]) is None


def test_token_estimate_is_cautious_for_other_scripts():
    assert estimate_tokens("") == 0
    assert estimate_tokens("abcdefg") == 2
    assert estimate_tokens("糖尿病") >= 3
