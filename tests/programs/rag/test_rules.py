"""HCQR's plan by rule, without a model."""

from __future__ import annotations

from abduce.programs import HCQR, HCQRConfig, RulePlanner
from abduce.programs.trace import Trace


def test_the_hypothesis_shares_most_passages_with_the_question(table_retriever, question):
    retriever = table_retriever(
        [],
        {
            question.text: ["p001", "p002", "p003"],
            "Aspirin": ["p009", "p003"],
            "Ibuprofen": ["p001"],
            "Morphine": ["p003", "p002"],
            "Insulin": [],
        },
    )
    plan = RulePlanner(retriever)(question=question, trace=Trace())
    # by hand: Aspirin 1/62/63, Ibuprofen 1/61/61, Morphine 1/61/63 + 1/62/62
    assert plan.hypothesis_key == "C"
    assert plan.queries == {
        "q1": "Morphine Which drug is best?",
        "q2": "Aspirin Ibuprofen Morphine Insulin",
        "q3": question.text,
    }


def test_ties_fall_to_the_first_option(table_retriever, question):
    plan = RulePlanner(table_retriever([]))(question=question, trace=Trace())
    assert plan.hypothesis_key == "A"


def test_hcqr_without_a_model(table_retriever, passages, question):
    retriever = table_retriever(["p001", "p002"])
    program = HCQR(retriever, passages, HCQRConfig(answer=False), planner=RulePlanner(retriever))
    result = program(question=question)
    assert list(result.ranking.ids) == ["p001", "p002"]
    assert result.trace.counters["llm_calls"] == 0
