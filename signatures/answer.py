"""The one answer prompt of every RAG method (MIRAGE's: reason step by step, then choose; own words)."""

from __future__ import annotations

from typing import Annotated

import dspy
from pydantic import Field

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


class AnswerWithHypothesis(AnswerWithDocuments):
    """You are an expert in the field of the question. Answer the multiple-choice question with the help of
    the documents, some of which may not bear on it, and of a working hypothesis, which may be wrong: think
    step by step first, then choose exactly one of the options. Give its letter, also where you are unsure.
    """

    working_hypothesis: str = dspy.InputField()
