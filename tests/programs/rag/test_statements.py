"""Sentences for and against an option, option probabilities, and evidence per option: by hand."""

from __future__ import annotations

import math

import pytest
from abduce.programs.logprobs import read_tokens
from abduce.programs.rag.base import SimpleRAG
from abduce.programs.rag.config import HCQRConfig, RAGConfig
from abduce.programs.rag.context import Evidence, fuse_queries
from abduce.programs.rag.per_option import OptionEvidence
from abduce.programs.rag.presets import rag_spec
from abduce.programs.rag.probabilities import option_probabilities
from abduce.programs.rag.statements import LONGEST, by_words, numbers_in
from abduce.retrievers.base import Ranking
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.corpus import Corpus, Passage
from abduce.signatures.types import Question

PASSAGES = Corpus(
    [
        Passage("a", "Fever", "Aspirin lowers fever. In a child aspirin is not given. Rest helps."),
        Passage("b", "Ibuprofen", "It lowers a fever in a child. It is sold in shops."),
        Passage(
            "c",
            "Glossary",
            "aardvark: an animal " * 60 + "morphine: drug for pain " + "zebra: an animal " * 60,
        ),
    ]
)
QUESTION = Question(
    question_id="q",
    text="Which drug lowers fever in a child?",
    options={"A": "Aspirin", "B": "Ibuprofen", "C": "Morphine", "D": "Insulin", "E": "---"},
)
CONTEXT = [Evidence(i, ()) for i in "abc"]


def test_what_names_an_option():
    found = by_words(QUESTION, CONTEXT, PASSAGES)
    # "lowers fever" and "child" are one shared word each more than "is not given in a child" has
    assert [(s.document, s.stance, s.sentence) for s in found["A"]] == [(1, "for", "Aspirin lowers fever.")]
    # the title names it, the sentence shares most words with the question
    assert [(s.document, s.sentence) for s in found["B"]] == [(2, "It lowers a fever in a child.")]
    assert found["D"] == found["E"] == []


def test_a_glossary_is_cut_to_the_option():
    [statement] = by_words(QUESTION, CONTEXT, PASSAGES)["C"]
    assert statement.sentence.startswith("... morphine: drug for pain zebra")
    assert len(statement.sentence) <= LONGEST


def test_a_negation_speaks_against():
    question = QUESTION.model_copy(update={"text": "Which drug is not given in a child?"})
    [statement] = by_words(question, CONTEXT, PASSAGES)["A"]
    assert (statement.stance, statement.sentence) == ("against", "In a child aspirin is not given.")


@pytest.mark.parametrize(
    ("reasoning", "numbers"),
    [("as [3] and [1, 12] say [3]", [1, 3, 12]), ("no [x] at all, [2020a]", []), ("", [])],
)
def test_document_numbers(reasoning, numbers):
    assert numbers_in(reasoning) == numbers


def token(text, **others):
    top = [{"token": t, "logprob": math.log(p)} for t, p in others.items()]
    return {"token": text, "logprob": math.log(others.get(text, 0.5)), "top_logprobs": top}


def test_option_probabilities_by_hand():
    chosen = {"token": "B", "logprob": math.log(0.5), "top_logprobs": [
        {"token": "B", "logprob": math.log(0.5)}, {"token": " B", "logprob": math.log(0.1)},
        {"token": "A", "logprob": math.log(0.2)}, {"token": "the", "logprob": math.log(0.2)},
    ]}  # fmt: skip
    logprobs = {"content": [token("A", A=0.9), token('choice": "'), chosen, token('"}')]}
    found = option_probabilities(read_tokens(logprobs), ("A", "B", "C"))
    assert found == pytest.approx({"A": 0.25, "B": 0.75, "C": 0.0})
    assert option_probabilities(read_tokens({"content": [token("yes")]}), ("A", "B")) is None
    assert option_probabilities(None, ("A", "B")) is None


def test_probabilities_stand_in_the_trace(using, scripted, replies, table_retriever, passages, question):
    chosen = [{"token": "B", "logprob": math.log(0.8)}, {"token": "C", "logprob": math.log(0.2)}]
    entry = {"token": "B", "logprob": math.log(0.8), "top_logprobs": chosen}
    lm = scripted(logprobs=lambda prompt: {"content": [entry]}, **replies)
    ids = [p.id for p in passages]
    with using(lm):
        asked = SimpleRAG(table_retriever(ids), passages, RAGConfig(probabilities=True))(question=question)
    assert asked.answer == "B"
    assert asked.trace.notes["probabilities"] == pytest.approx({"A": 0.0, "B": 0.8, "C": 0.2, "D": 0.0})
    without = scripted(**replies)
    with using(without):
        asked = SimpleRAG(table_retriever(ids), passages, RAGConfig(probabilities=True))(question=question)
    assert (asked.answer, asked.trace.notes["probabilities"]) == ("B", None)


def test_every_option_is_searched_for():
    program = OptionEvidence(BM25Retriever(PASSAGES, w_cov=0.0), PASSAGES, RAGConfig(answer=False, B_max=2))
    found = program(question=QUESTION)
    assert [q.form for q in found.trace.queries] == ["A", "B", "C", "D", "E", "question"]
    assert [e.id for e in found.context] == ["a", "b"]  # the first of A, then the first of B
    bare = program(question=Question(question_id="q", text="morphine?"))
    assert [e.id for e in bare.context] == ["c"]
    assert not rag_spec("Evidence per option").changed({"answer": False}).needs_model


def test_places_in_turn():
    rankings = {"x": Ranking.of(["a", "b"]), "y": Ranking.of(["c", "a"])}
    assert [e.id for e in fuse_queries(rankings, PASSAGES, 9, in_turn=True).evidence] == ["a", "c", "b"]
    assert [e.id for e in fuse_queries(rankings, PASSAGES, 9).evidence] == ["a", "b", "c"]


def test_two_prompts_at_once_are_refused():
    with pytest.raises(ValueError, match="two prompts"):
        HCQRConfig(cite=True, expose_hypothesis=True)
