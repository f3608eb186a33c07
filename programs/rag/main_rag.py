"""MAIN-RAG: retrieve by the raw question, filter by judged question-document-answer triples (paper: B.7)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import dspy
from dspy.utils.exceptions import ContextWindowExceededError
from pydantic import BaseModel

from ...retrievers.base import Ranking, Retriever
from ...signatures.hcqr import AnswerFromOneDocument, JudgeDocument
from ...signatures.options import Choices
from ...signatures.types import Question
from ..calls import ask
from ..logprobs import Measured, Measuring, Token, bare
from ..running import Part, at_once, called
from ..stages import Stage
from ..trace import Trace
from .base import RAG, ask_for_option, checked_choices
from .config import MainRAGConfig
from .context import CountTokens, Evidence, Fused, Passages, estimate_tokens, show


class ScoredVerdict(BaseModel):
    """Agent-2's word, and log p(Yes) - log p(No); ``measured`` is False where the endpoint gave no
    log-probabilities and the score is +1 for Yes and -1 for No."""

    supported: str
    score: float
    measured: bool

    def on_scale(self, measured: bool) -> float:
        """The score, or the word's +1 or -1 where not every document of a question was measured: margins
        in nats and fall-back scores have no mean."""
        return self.score if measured else _by_word(self.supported)


def _by_word(word: str) -> float:
    return 1.0 if word == "Yes" else -1.0


class SufficiencyJudge(Part):
    """Agent-2: does the document support the tentative answer, and how surely.

    Log-probabilities are asked for. Where the endpoint refuses the parameter the call is made again
    without it; where it ignores it, or returns none for the Yes/No token, the score falls back to +1 or -1.
    """

    def __init__(self, top_logprobs: int = 20) -> None:
        super().__init__()
        self.top_logprobs = top_logprobs
        self.judge = dspy.Predict(JudgeDocument)

    async def aforward(self, config: Mapping[str, Any] | None = None, **inputs: str) -> dspy.Prediction:
        """A prediction whose ``answer`` is a :class:`ScoredVerdict`."""
        asked = await called(Measuring(self.judge, self.top_logprobs), config=config, **inputs)
        found: Measured = asked.answer
        word = found.answer.supported
        measured = yes_no_margin(found.tokens)
        score = measured if measured is not None else _by_word(word)
        return dspy.Prediction(
            answer=ScoredVerdict(supported=word, score=score, measured=measured is not None)
        )


def yes_no_margin(tokens: Sequence[Token] | None) -> float | None:
    """log p(Yes) - log p(No) at the last token of a reply that says Yes or No.

    Probabilities of spellings (``Yes``, `` yes``, ``"Yes``) are added up. A word that is not among the
    alternatives is no likelier than the least likely alternative, and takes its log-probability.

    Returns:
        The margin in nats, or None where no token says Yes or No or there are no log-probabilities.
    """
    for token in reversed(tokens or ()):
        if bare(token.text) in ("yes", "no") and token.options:
            floor = min(token.options.values())
            chances = token.chances(("yes", "no"))
            yes, no = (math.log(p) if p > 0 else floor for p in chances.values())
            return yes - no
    return None


@dataclass(frozen=True)
class JudgedDocument:
    """One document's tentative answer (a letter) and verdict; None where a call was dropped."""

    answer: str | None
    verdict: ScoredVerdict | None


class MainRAG(RAG):
    """15 by the raw question; a tentative answer from each; keep those at or above the mean judge score.

    A document without a verdict (a dropped reply) has no score: it is left out of the mean and of the
    context, and counted (``main_rag_unjudged``). With no verdict at all everything is kept and
    ``main_rag_unfiltered`` is counted. ``notes["main_rag"]`` holds every document's tentative answer, word,
    score and fate. Where one document has no log-probabilities all of the question take the fall-back's
    scores, and ``notes["logprobs"]`` is False. A document that alone is too long for the model is unjudged.
    """

    config: MainRAGConfig

    def __init__(
        self,
        retriever: Retriever,
        passages: Passages,
        config: MainRAGConfig | None = None,
        count: CountTokens = estimate_tokens,
    ) -> None:
        super().__init__(retriever, passages, config or MainRAGConfig(), count)
        self.predictor = dspy.Predict(AnswerFromOneDocument)
        self.judge = SufficiencyJudge(self.config.top_logprobs)

    async def retrieve(self, question: Question, trace: Trace) -> Fused:
        choices = checked_choices(question)
        ranking = self.search({"question": question.text}, self.config.B_max, trace)["question"]
        with trace.timed("filter"):
            judged = await at_once(
                [partial(self._judge, question, choices, id_, i, trace) for i, id_ in enumerate(ranking.ids)]
            )
        measured = all(j.verdict.measured for j in judged if j.verdict is not None)
        scores = [None if j.verdict is None else j.verdict.on_scale(measured) for j in judged]
        kept = keep_at_or_above_mean(scores)
        unjudged = scores.count(None)
        if unjudged:
            trace.count("main_rag_unjudged", unjudged)
        if judged and unjudged == len(judged):
            trace.count("main_rag_unfiltered")
        if not measured:
            trace.count("main_rag_no_logprobs")
        trace.notes["logprobs"] = measured
        trace.notes["main_rag"] = [
            {
                "id": id_,
                "tentative_answer": j.answer,
                "supported": j.verdict and j.verdict.supported,
                "score": score,
                "kept": i in kept,
            }
            for i, (id_, j, score) in enumerate(zip(ranking.ids, judged, scores, strict=True))
        ]
        if self.config.order == "score":
            kept = sorted(kept, key=lambda i: (-(scores[i] or 0.0), i))
        return as_evidence(ranking, kept)

    async def _judge(
        self, question: Question, choices: Choices, id_: str, index: int, trace: Trace
    ) -> JudgedDocument:
        try:
            return await self._judged(question, choices, id_, index, trace)
        except ContextWindowExceededError:
            return JudgedDocument(None, None)

    async def _judged(
        self, question: Question, choices: Choices, id_: str, index: int, trace: Trace
    ) -> JudgedDocument:
        document = show(1, self.passages[id_])
        tentative = await ask_for_option(
            self.predictor,
            trace,
            Stage.TENTATIVE_ANSWER,
            choices,
            index=index,
            question=question.text,
            document=document,
        )
        if tentative is None:
            return JudgedDocument(None, None)
        letter = choices.letter(tentative.answer_choice)
        shown = f"{letter}. {choices.texts[letter]}" if letter else tentative.answer_choice
        verdict = await ask(
            self.judge,
            trace,
            Stage.DOCUMENT_JUDGE,
            index=index,
            question=question.text,
            options=str(choices),
            document=document,
            tentative_answer=shown,
        )
        return JudgedDocument(letter, verdict)


def keep_at_or_above_mean(scores: Sequence[float | None]) -> list[int]:
    """The places whose score is at or above the mean of all scores; every place where there is no score.

    A mean that rounding lifts above equal scores does not drop them.
    """
    known = [s for s in scores if s is not None]
    if not known:
        return list(range(len(scores)))
    mean = math.fsum(known) / len(known)
    slack = 1e-9 * max(1.0, abs(mean))
    return [i for i, s in enumerate(scores) if s is not None and s >= mean - slack]


def as_evidence(ranking: Ranking, kept: Sequence[int]) -> Fused:
    """These places of the question's ranking, in this order."""
    return Fused(tuple(Evidence(ranking.ids[i], (("question", i + 1),)) for i in kept))
