"""MAIN-RAG's filter: log-probabilities, the mean threshold, and what happens without them."""

from __future__ import annotations

import math

import pytest
from abduce.programs import MainRAG
from abduce.programs.logprobs import read_tokens
from abduce.programs.rag.config import MainRAGConfig
from abduce.programs.rag.main_rag import keep_at_or_above_mean, yes_no_margin
from dspy.utils.exceptions import ContextWindowExceededError, LMInvalidRequestError
from hypothesis import given
from hypothesis import strategies as st

IDS = [f"p{i:03d}" for i in range(1, 201)]


def content(word, **alternatives):
    tops = [{"token": t, "logprob": math.log(p)} for t, p in alternatives.items()]
    chosen = alternatives.get(word, 0.9)
    middle = {"token": word, "logprob": math.log(chosen), "top_logprobs": tops}
    before = {"token": '{"supported": "', "logprob": -0.1, "top_logprobs": []}
    return {"content": [before, middle, {"token": '"}', "logprob": -0.1, "top_logprobs": []}]}


def test_margin_by_hand():
    logprobs = content("Yes", **{"Yes": 0.6, " yes": 0.1, "No": 0.2, "Maybe": 0.1})
    assert yes_no_margin(read_tokens(logprobs)) == pytest.approx(math.log(0.7 / 0.2))


def test_an_absent_word_takes_the_least_likely_alternative():
    assert yes_no_margin(read_tokens(content("Yes", Yes=0.9, May=0.05))) == pytest.approx(
        math.log(0.9 / 0.05)
    )


@pytest.mark.parametrize("logprobs", [None, {}, {"content": []}, {"content": None}, content("Perhaps")])
def test_no_margin_without_log_probabilities(logprobs):
    assert yes_no_margin(read_tokens(logprobs)) is None


@given(st.lists(st.one_of(st.none(), st.floats(-30, 30)), max_size=15))
def test_the_filter_keeps_at_or_above_the_mean(scores):
    kept = keep_at_or_above_mean(scores)
    known = [s for s in scores if s is not None]
    if not known:
        assert kept == list(range(len(scores)))
        return
    assert kept
    assert scores.index(max(known)) in kept
    mean = sum(known) / len(known)
    assert all(scores[i] is not None and scores[i] >= mean - 1e-6 for i in kept)
    assert all(i in kept for i, s in enumerate(scores) if s is not None and s > mean + 1e-6)


def test_equal_scores_are_all_kept():
    assert keep_at_or_above_mean([0.1] * 15) == list(range(15))


def run(using, lm, retriever, passages, question, **config):
    with using(lm):
        return MainRAG(retriever, passages, MainRAGConfig(**config))(question=question)


def margins(prompt):
    """p003 is surest, then p001; all others are doubtful."""
    p = 0.99 if "number 3." in prompt else 0.9 if "number 1." in prompt else 0.1
    return content("Yes", Yes=p, No=1 - p)


def test_filter_by_log_probabilities(using, scripted, replies, table_retriever, passages, question):
    lm = scripted(logprobs=margins, **replies)
    result = run(using, lm, table_retriever(IDS), passages, question)
    assert list(result.ranking.ids) == ["p001", "p003"]
    assert result.trace.notes["logprobs"] is True
    assert result.trace.counters["main_rag_no_logprobs"] == 0
    first = result.trace.notes["main_rag"][0]
    assert first == {
        "id": "p001", "tentative_answer": "B", "supported": "Yes", "kept": True,
        "score": pytest.approx(math.log(9)),
    }  # fmt: skip


def test_order_by_score(using, scripted, replies, table_retriever, passages, question):
    lm = scripted(logprobs=margins, **replies)
    result = run(using, lm, table_retriever(IDS), passages, question, order="score")
    assert list(result.ranking.ids) == ["p003", "p001"]


def verdict(prompt):
    return {"supported": "yes." if "number 2." in prompt else "NO"}


def test_fall_back_without_log_probabilities(using, scripted, replies, table_retriever, passages, question):
    lm = scripted(**replies | {"document_judge": verdict})
    result = run(using, lm, table_retriever(IDS), passages, question)
    assert list(result.ranking.ids) == ["p002"]
    assert result.trace.notes["logprobs"] is False
    assert result.trace.counters["main_rag_no_logprobs"] == 1
    assert {d["score"] for d in result.trace.notes["main_rag"]} == {1.0, -1.0}


def test_an_endpoint_that_refuses_the_parameter(
    using, scripted, replies, table_retriever, passages, question
):
    class Refusing(scripted):
        def forward(self, prompt=None, messages=None, **kwargs):
            if kwargs.get("logprobs"):
                raise LMInvalidRequestError("logprobs is not supported")
            return super().forward(prompt, messages, **kwargs)

    lm = Refusing(**replies | {"document_judge": verdict})
    result = run(using, lm, table_retriever(IDS), passages, question)
    assert list(result.ranking.ids) == ["p002"]
    assert result.trace.notes["logprobs"] is False


def test_a_document_without_a_verdict_is_left_out_and_counted(
    using, scripted, replies, table_retriever, passages, question
):
    def broken(prompt):
        return "?" if "number 2." in prompt else {"supported": "Yes"}

    lm = scripted(**replies | {"document_judge": broken})
    result = run(using, lm, table_retriever(IDS), passages, question)
    assert "p002" not in result.ranking.ids
    assert len(result.ranking) == 14
    assert result.trace.counters["main_rag_unjudged"] == 1


def test_without_any_verdict_everything_stays(using, scripted, replies, table_retriever, passages, question):
    lm = scripted(**replies | {"tentative_answer": "?"})
    result = run(using, lm, table_retriever(IDS), passages, question)
    assert list(result.ranking.ids) == IDS[:15]
    assert result.trace.counters["main_rag_unfiltered"] == 1


def test_margins_and_fall_back_scores_are_not_averaged_together(
    using, scripted, replies, table_retriever, passages, question
):
    def some(prompt):
        return None if "number 2." in prompt else content("Yes", Yes=0.999, No=0.001)

    lm = scripted(logprobs=some, **replies)  # every word is Yes; only p002 has no log-probabilities
    result = run(using, lm, table_retriever(IDS), passages, question)
    assert list(result.ranking.ids) == IDS[:15]
    assert {d["score"] for d in result.trace.notes["main_rag"]} == {1.0}
    assert result.trace.notes["logprobs"] is False


def test_a_document_too_long_for_the_model_is_left_out_and_counted(
    using, scripted, replies, table_retriever, passages, question
):
    class Short(scripted):
        def forward(self, prompt=None, messages=None, **kwargs):
            text = messages[-1]["content"]
            if "[[ ## document ## ]]" in text and "number 2." in text:
                raise ContextWindowExceededError(message="too long")
            return super().forward(prompt, messages, **kwargs)

    result = run(using, Short(**replies), table_retriever(IDS), passages, question)
    assert list(result.ranking.ids) == ["p001", *IDS[2:15]]
    assert result.trace.counters["main_rag_unjudged"] == 1
    assert result.answer == "B"
