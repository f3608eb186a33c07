"""Where the development data lie; a small data folder; a stub model that answers RAG prompts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from openai_stub import Stub, completion

QA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "qa"


@pytest.fixture
def qa_data():
    """The ``qa`` folder of the development data; a test that needs it is skipped without it."""
    if not QA.is_dir():
        pytest.skip("needs ../shared/data/qa")
    return QA


def lines(*rows):
    return "".join(json.dumps(r) + "\n" for r in rows)


QUESTIONS = [
    {
        "id": f"q{i}",
        "question": text,
        "options": {"A": "insulin", "B": "glucagon", "C": "cortisol"},
        "answer": gold,
        "subject": subject,
    }
    for i, (text, gold, subject) in enumerate(
        [
            ("Which hormone lowers blood sugar?", "A", "physiology"),
            ("Which hormone raises blood sugar at once?", "B", "physiology"),
            ("Which hormone comes from the adrenal cortex?", "C", "anatomy"),
            ("which hormone lowers blood sugar", "A", "anatomy"),
        ]
    )
]
PASSAGES = [
    {"id": "p1", "title": "Insulin", "content": "Insulin lowers blood sugar.", "url": "book/1"},
    {"id": "p2", "title": "Glucagon", "content": "Glucagon raises blood sugar.", "url": "book/2"},
    {"id": "p3", "title": "Cortisol", "content": "Cortisol comes from the adrenal cortex.", "url": "book/3"},
    {"id": "p4", "title": "Bones", "content": "Bones hold calcium.", "url": "book/4"},
]


@pytest.fixture
def qa_folder(tmp_path):
    """A data folder with one question set (two questions have the same text) and one corpus."""
    qa = tmp_path / "data" / "qa"
    qa.mkdir(parents=True)
    (qa / "mmlu_med_devval.jsonl").write_text(lines(*QUESTIONS))
    (qa / "medical_corpus.jsonl").write_text(lines(*PASSAGES))
    return qa.parent


def reply(prompt: str):
    """What the stub answers: always insulin, and a judge that reads the gold answer from the documents."""
    if "Judge what a set of retrieved documents" in prompt:
        gold = "A" if "A. insulin" in prompt.split("gold_answer")[-1][:60] else "B"
        return {"selected_answer": gold, "label": "Entailed" if gold == "A" else "not useful"}
    if "Plan what to look up" in prompt:
        return {
            "discriminating_features": ["blood sugar"],
            "brief_reasoning": "it lowers sugar",
            "confirming_evidence": ["insulin lowers sugar"],
            "working_hypothesis": "A",
        }
    if "Turn a working hypothesis" in prompt:
        return {"support": "insulin", "distinction": "glucagon cortisol", "key_features": "blood sugar"}
    if "has no answer options" in prompt:
        return {"answers": ["insulin", "glucagon"]}
    if "three search queries" in prompt:
        return {"query_1": "insulin", "query_2": "glucagon", "query_3": "cortisol"}
    if "Write one paragraph" in prompt:
        return {"passage": "Insulin lowers blood sugar."}
    if "enough relevant information" in prompt:
        return {"supported": "Yes"}
    if "this one document" in prompt:
        return {"answer_choice": "A"}
    assert "multiple-choice question" in prompt, prompt
    return {"step_by_step_thinking": "insulin", "answer_choice": "A"}


def rag_reply(body):
    prompt = "\n".join(str(m["content"]) for m in body["messages"])
    return completion(body, json.dumps({"answer": reply(" ".join(prompt.split()))}))


@pytest.fixture
def stub_model():
    """A served stub model; ``model.url`` is its address."""
    with Stub() as stub:
        stub.then = rag_reply
        yield stub
