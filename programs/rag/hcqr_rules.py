"""HCQR's plan by rule: a hypothesis and three queries without a model."""

from __future__ import annotations

import re

from ...retrievers.base import Retriever
from ...signatures.types import Question
from ..trace import Trace
from .hcqr import Plan

KAPPA = 60
QUESTION_DEPTH = 200
OPTION_DEPTH = 50

_SENTENCE = re.compile(r"(?<=[.?!])\s+")


class RulePlanner:
    """A scripted stand-in for formulator and rewriter, for measurements and demos without a model.

    The hypothesis is the option whose passages agree most with the question's: each passage that both the
    option (50 places) and the question (200) retrieve adds 1 / (60 + rank) of one times that of the other;
    ties fall to the first option. SUPPORT is the hypothesis and the last sentence of the stem, which asks;
    DISTINCTION the texts of all options; KEY FEATURES the whole stem. The gold answer is never read.

    Args:
        retriever: the one that the program searches with.
    """

    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever

    def __call__(self, *, question: Question, trace: Trace) -> Plan:
        keys = list(question.options)
        texts = list(question.options.values())
        with trace.timed("formulate"):
            (by_question,) = self.retriever.search([question.text], QUESTION_DEPTH)
            weight = {id_: 1 / (KAPPA + rank) for rank, id_ in enumerate(by_question.ids, 1)}
            agreement = [
                sum(weight.get(id_, 0.0) / (KAPPA + rank) for rank, id_ in enumerate(ranking.ids, 1))
                for ranking in self.retriever.search(texts, OPTION_DEPTH)
            ]
        best = max(range(len(keys)), key=lambda i: (agreement[i], -i))
        asks = _SENTENCE.split(question.text.strip())[-1]
        return Plan(
            hypothesis=texts[best],
            hypothesis_key=keys[best],
            discriminating_features=(),
            confirming_evidence=(),
            brief_reasoning="",
            queries={"q1": f"{texts[best]} {asks}", "q2": " ".join(texts), "q3": question.text},
        )
