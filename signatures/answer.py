"""The one answer prompt of every RAG method (MIRAGE's: reason step by step, then choose; own words)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import dspy
from pydantic import BeforeValidator, Field

from .options import Letter, Reply, cut


class Answer(Reply):
    """Reasoning first, so that the choice can depend on it."""

    step_by_step_thinking: Annotated[str, cut(6000)] = Field(
        max_length=6000, description="the reasoning, briefly"
    )
    answer_choice: Letter


class AnswerQuestion(dspy.Signature):
    """You are an expert in the field of the question. Answer the multiple-choice question: think step by
    step first, then choose exactly one of the options. Give its letter, also where you are unsure.
    """

    question: str = dspy.InputField()
    options: str = dspy.InputField()
    answer: Answer = dspy.OutputField()


class AnswerWithDocuments(dspy.Signature):
    """You are an expert in the field of the question. Answer the multiple-choice question with the help of
    the documents, some of which may not bear on it: think step by step first, then choose exactly one of
    the options. Give its letter, also where you are unsure.
    """

    documents: str = dspy.InputField()
    question: str = dspy.InputField()
    options: str = dspy.InputField()
    answer: Answer = dspy.OutputField()


def _stance(value: Any) -> Any:
    return value.strip().casefold() if isinstance(value, str) else value


class Citation(Reply):
    """One sentence of a document and what it says of an option."""

    document: int = Field(description="the number of the document, as in its brackets")
    option: Letter
    stance: Annotated[Literal["for", "against"], BeforeValidator(_stance)]
    sentence: Annotated[str, Field(max_length=600, description="the sentence, word for word"), cut(600)]


class CitedAnswer(Reply):
    """Reasoning and evidence first, so that the choice can depend on them."""

    step_by_step_thinking: Annotated[str, cut(6000)] = Field(
        max_length=6000,
        description="the reasoning, briefly, with the numbers of the documents it uses: [2]",
    )
    evidence: Annotated[list[Citation], Field(max_length=12), cut(12)] = Field(default_factory=list)
    answer_choice: Letter


class AnswerWithCitations(dspy.Signature):
    """You are an expert in the field of the question. Answer the multiple-choice question with the help of
    the documents, some of which may not bear on it: think step by step first, and name the documents that
    you rely on by their numbers. Then list as evidence the sentences that decide: the document's number, the
    option that the sentence bears on, whether it speaks for or against that option, and the sentence word for
    word. Where the documents say nothing of an option, list nothing for it. Then choose exactly one of the
    options. Give its letter, also where you are unsure.
    """

    documents: str = dspy.InputField()
    question: str = dspy.InputField()
    options: str = dspy.InputField()
    answer: CitedAnswer = dspy.OutputField()


class AnswerWithHypothesis(AnswerWithDocuments):
    """You are an expert in the field of the question. Answer the multiple-choice question with the help of
    the documents, some of which may not bear on it, and of a working hypothesis, which may be wrong: think
    step by step first, then choose exactly one of the options. Give its letter, also where you are unsure.
    """

    working_hypothesis: str = dspy.InputField()
