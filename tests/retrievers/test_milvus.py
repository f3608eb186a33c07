"""Against the embedded Milvus Lite: a real engine in a local file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from abduce.data.build.index import load_source
from abduce.retrievers.base import Where
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.dense import DenseRetriever
from abduce.retrievers.encoders import Text, Vectors
from abduce.retrievers.errors import InputError, MissingExtra
from abduce.retrievers.milvus import MilvusRetriever
from abduce.retrievers.registry import build_retriever
from abduce.retrievers.taxonomy import Taxonomy

from .conftest import WordVectors, made_taxonomy

pytest.importorskip("pymilvus")
pytest.importorskip("milvus_lite")

QUERIES = ["deferred tax", "lease liability current", "stock option award plan", "cash"]
WHERE = [Where("sharesItemType"), Where("monetaryItemType"), None, Where(None, (("filing_id", "F3"),))]


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Callable[..., MilvusRetriever]]:
    """Makes retrievers over one file and closes them."""
    opened: list[MilvusRetriever] = []

    def make(collection: Taxonomy, encoder: Any = None, **settings: Any) -> MilvusRetriever:
        for other in opened:
            other.close()
        opened[:] = [MilvusRetriever(collection, encoder, str(tmp_path / "m.db"), **settings)]
        return opened[0]

    yield make
    for retriever in opened:
        retriever.close()


def test_exact_search_equals_the_local_dense_index(
    made: Taxonomy, connect: Callable[..., MilvusRetriever]
) -> None:
    remote = connect(made, WordVectors(), filter_fields=["filing_id"])
    assert remote.insert() == len(made)
    local = DenseRetriever(made, WordVectors(), w_cov=0.0)
    for a, b in zip(local.search(QUERIES, 50, WHERE), remote.search(QUERIES, 50, WHERE), strict=True):
        assert list(a.ids) == list(b.ids)
        np.testing.assert_allclose(a.scores, b.scores, atol=1e-9)
        assert (a.candidates, a.fell_back) == (b.candidates, b.fell_back)


@pytest.mark.parametrize(("source", "k"), [("finance", 200), ("medical", 15)])
def test_exact_search_equals_the_local_dense_index_on_the_bundled_data(
    source: str, k: int, connect: Callable[..., MilvusRetriever], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All 17,388 concepts with their datatypes, and all 3,000 passages. The encoder gives documents of the
    same words the same vector; engines add up in another order, so within rounding they may be swapped."""
    monkeypatch.delenv("ABDUCE_DATA", raising=False)
    collection: Any = load_source(source)
    remote = connect(collection, WordVectors(), batch=2000)
    assert remote.insert() == len(collection)
    local = DenseRetriever(collection, WordVectors(), w_cov=0.0)
    items = list(collection)[:: len(collection) // 40]
    queries = [collection.heading(item) for item in items]
    where = [Where(collection.datatype(item)) if i % 2 else None for i, item in enumerate(items)]
    for a, b in zip(local.search(queries, k, where), remote.search(queries, k, where), strict=True):
        np.testing.assert_allclose(a.scores, b.scores, atol=1e-6)
        assert (a.candidates, a.fell_back) == (b.candidates, b.fell_back)
        ours = dict(zip(a.ids, a.scores, strict=True))
        last = a.scores[-1] + 1e-6  # the cut may run through documents of one score
        assert {i for i, s in ours.items() if s > last} <= set(b.ids)
        for i, id_ in enumerate(b.ids):
            assert id_ == a.ids[i] or ours.get(id_, a.scores[-1]) == pytest.approx(a.scores[i], abs=1e-6)


def test_coverage_equals_the_local_index_where_the_pool_holds_all(
    made: Taxonomy, connect: Callable[..., MilvusRetriever]
) -> None:
    remote = connect(made, WordVectors(), w_cov=1.0, pool=len(made), filter_fields=["filing_id"])
    remote.insert()
    local = DenseRetriever(made, WordVectors(), w_cov=1.0)
    for a, b in zip(local.search(QUERIES, 30, WHERE), remote.search(QUERIES, 30, WHERE), strict=True):
        assert list(a.ids) == list(b.ids)
        np.testing.assert_allclose(a.scores, b.scores, atol=1e-9)


def test_bm25_ranks_like_the_local_index(made: Taxonomy, connect: Callable[..., MilvusRetriever]) -> None:
    remote = connect(made, field="bm25")
    remote.insert()
    local = BM25Retriever(made, w_cov=0.0).search(QUERIES, 30)
    for a, b in zip(local, remote.search(QUERIES, 30), strict=True):
        raw = dict(zip(a.ids, a.components["bm25"], strict=True))
        theirs = [raw[i] for i in b.ids if i in raw]
        assert len(theirs) >= 25  # the cut runs through ties
        # Milvus keeps single precision: documents that it calls equal may be swapped
        assert all(x >= y - 1e-2 for x, y in pairwise(theirs))
    assert list(remote.search(["zzzz"], 5)[0].ids) == []
    assert (
        remote.search(["cash"], 5, [Where("sharesItemType")])[0].candidates
        == made.datatypes["sharesItemType"]
    )


class Fails(WordVectors):
    """An encoder that breaks down after some batches."""

    def __init__(self, after: int) -> None:
        self.left = after

    def encode_documents(self, texts: Sequence[Text], progress: bool = False) -> Vectors:
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("power cut")
        return super().encode_documents(texts, progress)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return WordVectors().encode_queries(texts)


def test_a_broken_insert_goes_on_where_it_stopped(connect: Callable[..., MilvusRetriever]) -> None:
    taxonomy = made_taxonomy(90)
    with pytest.raises(RuntimeError, match="power cut"):
        connect(taxonomy, Fails(3), batch=20).insert()
    remote = connect(taxonomy, Fails(2), batch=20)
    with pytest.raises(InputError, match="holds 60 of 90 documents; insert first"):
        remote.search(["cash"], 3)
    assert remote.insert() == 30
    assert remote.insert() == 0
    local = DenseRetriever(taxonomy, WordVectors(), w_cov=0.0)
    assert list(remote.search(["cash"], 20)[0].ids) == list(local.search(["cash"], 20)[0].ids)


def test_other_documents_under_the_same_name_are_refused(
    made: Taxonomy, connect: Callable[..., MilvusRetriever]
) -> None:
    small = made_taxonomy(5)
    with pytest.raises(InputError, match="no collection"):
        connect(small, WordVectors()).search(["cash"], 3)
    connect(small, WordVectors()).insert()
    with pytest.raises(InputError, match="made from other documents or settings"):
        connect(made_taxonomy(6), WordVectors()).insert()
    with pytest.raises(InputError, match="made from other documents or settings"):
        connect(small, WordVectors(), k1=1.0).search(["cash"], 3)


def test_odd_calls(connect: Callable[..., MilvusRetriever]) -> None:
    small = made_taxonomy(5)
    remote = connect(small, WordVectors())
    remote.insert()
    assert sorted(remote.search(["cash"], 1000)[0].ids) == small.ids
    assert sorted(remote.search([""], 1000)[0].ids) == small.ids
    assert remote.search([], 5) == []
    with pytest.raises(InputError, match="not finite"):
        remote.search_by_vector(np.full(16, np.nan), 3)
    with pytest.raises(InputError, match="'filing_id': is not held by Milvus"):
        remote.search(["cash"], 3, [WHERE[3]])
    for settings in ({"field": "dense"}, {"field": "nosuch"}, {"field": "bm25", "pool": 0}):
        with pytest.raises(ValueError):
            MilvusRetriever(small, None, **settings)  # type: ignore[arg-type]


def test_what_lite_cannot_do_is_said(connect: Callable[..., MilvusRetriever]) -> None:
    notes = connect(made_taxonomy(3), field="bm25").notes
    assert any("one process" in n for n in notes)
    assert any("negated" in n for n in notes)


def test_by_name(made: Taxonomy, tmp_path: Path) -> None:
    remote: Any = build_retriever("milvus", made, uri=str(tmp_path / "n.db"), field="bm25")
    try:
        assert len(remote.search(["cash"], 5)[0]) == 5
    finally:
        remote.close()
    with pytest.raises(InputError, match="no such setting; milvus has"):
        build_retriever("milvus", made, uri=str(tmp_path / "n.db"), field="bm25", shards=2)


def test_bad_places_and_a_missing_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="cannot be opened"):
        MilvusRetriever(made_taxonomy(3), uri="ftp//nowhere", field="bm25")
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(MissingExtra, match=r"abduce\[scale\]"):
        MilvusRetriever(made_taxonomy(3), field="bm25")
