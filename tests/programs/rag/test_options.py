"""Options of a question: their keys, their number, and bad ones."""

from __future__ import annotations

import pytest
from abduce.programs import HCQR, NoRAG, SimpleRAG
from abduce.retrievers.errors import InputError
from abduce.signatures.types import Question

IDS = ["p001", "p002", "p003"]


def test_own_keys_are_shown_as_letters(using, scripted, replies, table_retriever, passages):
    asked = Question(question_id="q", text="Is it?", options={"yes": "Yes", "no": "No", "maybe": "Maybe"})
    lm = scripted(**replies | {"answer": {"step_by_step_thinking": "", "answer_choice": "C"}})
    with using(lm):
        result = SimpleRAG(table_retriever(IDS), passages)(question=asked)
    assert result.answer == "maybe"
    assert "C. Maybe" in lm.of("answer")[0]


@pytest.mark.parametrize("n", [2, 3, 7, 10])
def test_two_to_ten_options(n, using, scripted, replies, table_retriever, passages):
    options = {f"key {i}": f"text {i}" for i in range(n)}
    asked = Question(question_id="q", text="Which?", options=options)
    letter = "ABCDEFGHIJ"[n - 1]
    lm = scripted(**replies | {"answer": {"step_by_step_thinking": "", "answer_choice": letter}})
    with using(lm):
        result = HCQR(table_retriever(IDS), passages)(question=asked)
    assert result.answer == f"key {n - 1}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "has 0 options"),
        ({"A": "one"}, "has 1 options"),
        ({str(i): f"text {i}" for i in range(11)}, "has 11 options"),
        ({"A": "same", "B": "same "}, "'same' twice"),
        ({"A": "one", "B": " "}, "is empty"),
    ],
)
def test_bad_options(options, message, using, scripted, replies, table_retriever, passages):
    asked = Question(question_id="q7", text="Which?", options=options)
    lm = scripted(**replies)
    for program in (NoRAG(), SimpleRAG(table_retriever(IDS), passages), HCQR(table_retriever(IDS), passages)):
        with using(lm), pytest.raises(InputError, match=message) as caught:
            program(question=asked)
        assert "q7" in str(caught.value)
    assert lm.prompts == []
