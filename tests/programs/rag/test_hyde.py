"""HyDE's query vector against numpy, and its stand-in for retrievers without vectors."""

from __future__ import annotations

import numpy as np
import pytest
from abduce.programs import HyDE
from abduce.programs.rag.config import HyDEConfig
from abduce.programs.rag.hyde import mean_vector
from abduce.retrievers.base import Ranking


class TwoEncoders:
    """A dense retriever and its encoder in one: vectors from a fixed random generator a text; queries and
    documents are encoded differently."""

    pairs = False

    def __init__(self, ids):
        self.ids = ids
        self.vectors = []
        self.encoder = self

    @staticmethod
    def encode(texts, salt):
        return np.stack([np.random.default_rng([salt, *t.encode()]).normal(size=5) for t in texts])

    def encode_queries(self, texts):
        return self.encode(texts, 1)

    def encode_documents(self, texts):
        return self.encode(texts, 2)

    def search_by_vector(self, vectors, k):
        self.vectors.append(vectors)
        return [Ranking.of(self.ids[:k]) for _ in vectors]

    def search(self, queries, k, where=None):
        raise AssertionError("HyDE searches by vector")

    def __deepcopy__(self, memo):
        return self


IDS = [f"p{i:03d}" for i in range(1, 201)]


def test_mean_vector_against_numpy():
    encoders = TwoEncoders(IDS)
    documents = [f"document {i}" for i in range(8)]
    expected = (
        np.random.default_rng([1, *b"why"]).normal(size=5)
        + sum(np.random.default_rng([2, *d.encode()]).normal(size=5) for d in documents)
    ) / 9
    assert mean_vector(encoders, "why", documents)[0] == pytest.approx(expected, abs=1e-6)


def test_the_mean_is_what_is_searched(using, scripted, replies, passages, question):
    encoders = TwoEncoders(IDS)
    with using(scripted(**replies)):
        result = HyDE(encoders, passages)(question=question)
    (vector,) = encoders.vectors
    assert vector.shape == (1, 5)
    same = ["Ibuprofen lowers fever."] * 8
    assert vector == pytest.approx(mean_vector(encoders, question.text, same))
    assert list(result.ranking.ids) == IDS[:15]


def test_an_encoder_of_pairs_gets_an_empty_title():
    class Pairs(TwoEncoders):
        pairs = True

        def encode_documents(self, texts):
            assert all(title == "" for title, _ in texts)
            return super().encode_documents([body for _, body in texts])

    plain, pairs = TwoEncoders(IDS), Pairs(IDS)
    assert mean_vector(pairs, "why", ["a", "b"]) == pytest.approx(mean_vector(plain, "why", ["a", "b"]))


def test_dropped_documents_leave_the_mean(using, scripted, replies, passages, question):
    encoders = TwoEncoders(IDS)
    with using(scripted(**replies | {"hyde": "no JSON"})):
        result = HyDE(encoders, passages)(question=question)
    assert encoders.vectors[0] == pytest.approx(encoders.encode_queries([question.text]))
    assert result.trace.counters["dropped_replies"] == 8
    assert result.trace.counters["direct_fallback"] == 1


def test_mean_of_scores_without_vectors(using, scripted, replies, passages, question):
    class Lexical:
        def search(self, queries, k, where=None):
            first = Ranking.of(["p001", "p002"], [1.0, 0.5])
            return [first, *[Ranking.of(["p002", "p003"], [0.8, 0.2])] * (len(queries) - 1)]

        def __deepcopy__(self, memo):
            return self

    with using(scripted(**replies)):
        result = HyDE(Lexical(), passages, HyDEConfig(documents=2))(question=question)
    scores = dict(zip(result.trace.rankings[0].ids, result.trace.rankings[0].scores, strict=True))
    assert scores == pytest.approx({"p002": (0.5 + 1.6) / 3, "p003": 0.4 / 3, "p001": 1.0 / 3})
    assert list(result.ranking.ids) == ["p002", "p001", "p003"]
    assert result.trace.counters["lexical_hyde"] == 1
