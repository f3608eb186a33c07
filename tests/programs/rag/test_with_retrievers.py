"""RAG programs over the project's own retrievers; copies; the example of docs/rag.md."""

from __future__ import annotations

import re
from pathlib import Path

import dspy
import numpy as np
import pytest
from abduce.programs import HCQR, HyDE
from abduce.programs.rag.hyde import VectorRetriever, mean_vector
from abduce.retrievers.bm25 import BM25Retriever


class Letters:
    """An encoder that counts letters; documents are given as (title, content) pairs."""

    name = "letters"
    pairs = True

    def encode_queries(self, texts):
        return np.array([[t.lower().count(c) for c in "abcdefghij"] for t in texts], dtype=np.float32)

    def encode_documents(self, texts, progress=False):
        return self.encode_queries([f"{title} {body}" for title, body in texts])


def test_hyde_over_a_dense_retriever(using, scripted, replies, passages, question):
    pytest.importorskip("faiss")
    from abduce.retrievers.dense import DenseRetriever

    retriever = DenseRetriever(passages, Letters(), w_cov=0.0)
    assert isinstance(retriever, VectorRetriever)
    with using(scripted(**replies)):
        result = HyDE(retriever, passages)(question=question)
    written = ["Ibuprofen lowers fever."] * 8
    vector = mean_vector(retriever.encoder, question.text, written)
    scores = retriever.vectors @ vector[0]
    best = sorted(range(len(passages)), key=lambda i: (-scores[i], passages.ids[i]))[:15]
    assert list(result.ranking.ids) == [passages.ids[i] for i in best]
    assert result.trace.counters["lexical_hyde"] == 0


def test_hyde_over_bm25_has_no_vectors(passages):
    assert not isinstance(BM25Retriever(passages, w_cov=0.0), VectorRetriever)


def test_optimizers_may_copy_a_program(using, scripted, replies, passages, question):
    program = HCQR(BM25Retriever(passages, w_cov=0.0), passages)
    assert {name for name, _ in program.named_predictors()} == {
        "planner.formulate", "planner.rewrite", "generator.answer",
    }  # fmt: skip
    copy = program.deepcopy()
    assert copy.retriever is program.retriever
    assert copy.passages is program.passages
    with using(scripted(**replies)):
        assert copy(question=question).answer == "B"


def test_the_example_of_the_documentation(using, scripted, replies, monkeypatch, capsys):
    path = Path(__file__).resolve().parents[3] / "docs" / "rag.md"
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.delenv("ABDUCE_DATA", raising=False)
    monkeypatch.setattr(dspy, "LM", lambda *a, **k: scripted(**replies))
    names: dict[str, object] = {}
    with using(None):
        for code in blocks:
            exec(compile(code, str(path), "exec"), names)
    evidence = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("for "))
    assert "insulin" in evidence
