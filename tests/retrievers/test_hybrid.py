from __future__ import annotations

from collections.abc import Sequence

import pytest
from abduce.retrievers.base import Ranking, Retriever, Where
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.hybrid import HybridRetriever
from abduce.retrievers.taxonomy import Taxonomy


class Fixed:
    """Answers every query with the same ranking."""

    def __init__(self, ids: list[str], scores: list[float], fell_back: bool = False) -> None:
        self.ranking = Ranking.of(ids, scores, candidates=9, fell_back=fell_back)
        self.asked: list[int] = []

    def search(
        self, queries: Sequence[str], k: int, where: Sequence[Where | None] | None = None
    ) -> list[Ranking]:
        self.asked.append(k)
        return [self.ranking.top(k)] * len(queries)


A = Fixed(["x", "y", "z"], [10.0, 8.0, 0.0])
B = Fixed(["y", "w"], [0.5, 0.1], fell_back=True)


def test_reciprocal_ranks_by_hand() -> None:
    [got] = HybridRetriever([A, B]).search(["q"], 10)
    assert got.ids == ["y", "x", "w", "z"]
    # y is second of A and first of B; w (second of B) stands before z (third of A)
    assert got.scores.tolist() == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62, 1 / 63])
    assert got.components["rank_1"].tolist() == [2, 1, 0, 3]
    assert got.components["rank_2"].tolist() == [1, 0, 2, 0]
    assert got.candidates == 9
    assert got.fell_back


def test_weighted_scores_by_hand() -> None:
    [got] = HybridRetriever([A, B], method="scores", weights=[1.0, 0.5]).search(["q"], 10)
    # A: 1, .8, 0; B: 1, 0, halved
    assert dict(zip(got.ids, got.scores.tolist(), strict=True)) == pytest.approx(
        {"y": 1.3, "x": 1.0, "z": 0, "w": 0}
    )
    assert got.ids == ["y", "x", "z", "w"]  # z and w tie at 0: A came first


def test_weights_are_honoured_by_rank_fusion() -> None:
    heavy = HybridRetriever([A, B], weights=[1.0, 0.1]).search(["q"], 10)[0]
    assert heavy.ids == ["x", "y", "z", "w"] or heavy.ids[:2] == ["y", "x"]
    assert dict(zip(heavy.ids, heavy.scores, strict=True))["y"] == pytest.approx(1 / 62 + 0.1 / 61)
    assert heavy.ids.index("z") < heavy.ids.index("w")


def test_a_part_of_weight_zero_is_not_asked_and_the_other_stands_alone() -> None:
    silent = Fixed(["w"], [1.0])
    [got] = HybridRetriever([A, silent], weights=[1.0, 0.0]).search(["q"], 10)
    assert got.ids == ["x", "y", "z"]
    assert silent.asked == []


@pytest.mark.parametrize("method", ["rrf", "scores"])
def test_one_part_keeps_its_order_through_fusion(made: Taxonomy, method: str) -> None:
    alone = BM25Retriever(made)
    queries, where = ["tax lease", "cash"], [Where("sharesItemType"), None]
    for a, b in zip(
        alone.search(queries, 30, where),
        HybridRetriever([alone], method=method).search(queries, 30, where),  # type: ignore[arg-type]
        strict=True,
    ):
        assert a.ids == b.ids


def test_parts_are_asked_deeper_than_the_call() -> None:
    part = Fixed(["x"], [1.0])
    HybridRetriever([part], depth=50).search(["q"], 5)
    HybridRetriever([part], depth=50).search(["q"], 80)
    assert part.asked == [50, 80]
    assert isinstance(HybridRetriever([part]), Retriever)


def test_rankings_of_nothing_and_of_equal_scores() -> None:
    assert list(HybridRetriever([Fixed([], [])], method="scores").search(["q"], 5)[0].ids) == []
    [tied] = HybridRetriever([Fixed(["b", "a"], [2.0, 2.0])], method="scores").search(["q"], 5)
    assert tied.scores.tolist() == [1.0, 1.0]
    assert tied.ids == ["b", "a"]  # same score, same part: the better rank


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"parts": []}, "at least one"),
        ({"weights": [1.0]}, "1 weights for 2"),
        ({"weights": [0.0, 0.0]}, "not all 0"),
        ({"weights": [1.0, float("nan")]}, "not all 0"),
        ({"weights": [1.0, -1.0]}, "at least 0"),
        ({"method": "sum"}, "rrf, scores"),
        ({"kappa": 0.0}, "kappa > 0"),
        ({"depth": 0}, "depth >= 1"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HybridRetriever(**{"parts": [A, B], **settings})  # type: ignore[arg-type]
