from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from abduce.retrievers.base import Retriever
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.corpus import Corpus, Passage
from abduce.retrievers.errors import InputError, MissingExtra
from abduce.retrievers.rerank import CrossEncoderScorer, RerankRetriever

VOCABULARY = "[PAD] [UNK] [CLS] [SEP] [MASK] aspirin treats causes pain fever never".split()


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder of a few thousand weights that prefers "treats" to "causes"."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("sentence_transformers")
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    # The vocabulary is passed as a tokenizer: what BertTokenizerFast makes of a file differs by version.
    pieces = BertWordPieceTokenizer(vocab={word: i for i, word in enumerate(VOCABULARY)}, lowercase=True)
    words = BertTokenizerFast(tokenizer_object=pieces._tokenizer)
    assert words.unk_token_id not in words("aspirin treats pain fever causes").input_ids
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        num_labels=1,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = BertForSequenceClassification(config)
    documents = ["aspirin treats pain fever", "aspirin pain aspirin pain causes", "treats", "causes"]
    target = torch.tensor([[3.0], [-3.0], [3.0], [-3.0]])
    inputs = words(["aspirin pain"] * 4, documents, return_tensors="pt", padding=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(80):
        optimizer.zero_grad()
        loss = ((model(**inputs).logits - target) ** 2).mean()
        loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


PASSAGES = Corpus(
    [
        Passage("bad", "", "aspirin pain aspirin pain causes"),
        Passage("good", "", "aspirin treats pain fever"),
        Passage("other", "", "fever"),
    ]
)


def test_a_cross_encoder_turns_the_first_stage_round(tiny_model: Path) -> None:
    first = BM25Retriever(PASSAGES, w_cov=0.0)
    assert first.search(["aspirin pain"], 2)[0].ids == ["bad", "good"]
    scorer = CrossEncoderScorer(tiny_model, device="cpu")
    reranker = RerankRetriever(first, PASSAGES, scorer, depth=2)
    [got] = reranker.search(["aspirin pain"], 2)
    assert got.ids == ["good", "bad"]
    assert got.components["rank_first"].tolist() == [2, 1]
    assert got.scores[0] > 0 > got.scores[1]
    assert isinstance(reranker, Retriever)
    texts = [PASSAGES.document(PASSAGES[i]) for i in got.ids]
    assert list(scorer.scores("aspirin pain", texts)) == pytest.approx(got.scores.tolist(), abs=1e-5)  # type: ignore[arg-type]


class Lengths:
    """Scores a pair by the length of its document: longer is better."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.pairs += pairs
        return [len(document) for _, document in pairs]


def test_only_depth_documents_are_scored_and_the_rest_follows(passages: Corpus) -> None:
    first, scorer = BM25Retriever(passages), Lengths()
    queries = ["cash tax", "debt"]
    before = first.search(queries, 12)
    after = RerankRetriever(first, passages, scorer, depth=5).search(queries, 12)
    assert len(scorer.pairs) == 10
    assert scorer.pairs[0] == ("cash tax", passages.document(passages[before[0].ids[0]]))
    for old, new in zip(before, after, strict=True):
        by_length = sorted(old.ids[:5], key=lambda i: -len(passages.document(passages[i])))
        assert new.ids == [*by_length, *old.ids[5:]]
        assert (new.scores[:-1] >= new.scores[1:]).all()
        assert new.candidates == old.candidates


def test_fewer_places_than_the_depth_are_cut_after_reordering(passages: Corpus) -> None:
    first = BM25Retriever(passages)
    [deep] = RerankRetriever(first, passages, Lengths(), depth=50).search(["cash"], 50)
    [short] = RerankRetriever(first, passages, Lengths(), depth=50).search(["cash"], 3)
    assert short.ids == deep.ids[:3]


def test_bad_scores_settings_and_models(passages: Corpus, tmp_path: Path) -> None:
    first = BM25Retriever(passages)
    with pytest.raises(InputError, match="not finite"):
        RerankRetriever(first, passages, lambda pairs: [float("nan")] * len(pairs)).search(["cash"], 3)
    with pytest.raises(InputError, match="one a pair"):
        RerankRetriever(first, passages, lambda pairs: [1.0]).search(["cash"], 3)
    with pytest.raises(ValueError, match="depth"):
        RerankRetriever(first, passages, Lengths(), depth=0)
    with pytest.raises(InputError, match="not a model folder"):
        CrossEncoderScorer(tmp_path)
    assert RerankRetriever(first, passages, Lengths()).search([], 3) == []


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r"abduce\[dense\]"):
        CrossEncoderScorer("some/model")


def test_the_model_must_have_one_output(tiny_model: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    two: Any = AutoModelForSequenceClassification.from_pretrained(
        tiny_model, num_labels=2, ignore_mismatched_sizes=True
    )
    two.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(tiny_model).save_pretrained(tmp_path)
    with pytest.raises(InputError, match="2 outputs"):
        CrossEncoderScorer(tmp_path)
