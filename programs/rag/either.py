"""Whether to retrieve, question by question (ours): HCQR and chain of thought both answer, a rule picks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import dspy

from ...retrievers.base import Retriever
from ...signatures.types import Question
from ..running import at_once, called
from ..trace import Trace
from .base import NoRAG, QuestionProgram
from .config import EitherConfig, HCQRConfig, RAGConfig
from .context import CountTokens, Passages, estimate_tokens
from .hcqr import HCQR
from .rule import AnswerRules, Rule
from .statements import by_words, support_of


def traces_left(question: Question, cot: Any, hcqr: Any, passages: Passages) -> dict[str, float]:
    """What speaks for HCQR's answer and for the one without retrieval, as numbers.

    - ``hypothesis_is_cot``, ``hypothesis_is_hcqr``: 1 where the working hypothesis is that arm's answer;
    - ``support``: sentences of the context for HCQR's answer minus those for the other;
    - ``overlap``: mean pairwise overlap of what the three queries found, in [0, 1];
    - ``probability``: of HCQR's answer minus that of the other arm's answer, each to its own arm; 0 where the
      endpoint gives no log-probabilities;
    - ``documents``: in HCQR's context.
    """
    notes = hcqr.trace.notes
    key = notes.get("plan", {}).get("hypothesis_key")
    named = by_words(question, hcqr.context, passages)
    chances = [(arm.trace.notes.get("probabilities") or {}).get(arm.answer) for arm in (hcqr, cot)]
    known = [p for p in chances if p is not None]
    return {
        "hypothesis_is_cot": float(key is not None and key == cot.answer),
        "hypothesis_is_hcqr": float(key is not None and key == hcqr.answer),
        "support": float(support_of(named, hcqr.answer) - support_of(named, cot.answer)),
        "overlap": float(notes.get("overlap") or 0.0),
        "probability": float(known[0] - known[1]) if len(known) == 2 else 0.0,
        "documents": float(len(hcqr.context)),
    }


def prefers_retrieval(left: Mapping[str, float], rule: Rule | None) -> bool:
    """Whether HCQR's answer is taken where the arms disagree.

    By a fitted rule's probability, above .5. Without one by majority: the working hypothesis is a third vote;
    where it sides with neither, the answer that more sentences of the context speak for; HCQR's in a tie.
    """
    if rule is not None:
        return rule.probability(left) > 0.5
    if left["hypothesis_is_cot"] != left["hypothesis_is_hcqr"]:
        return left["hypothesis_is_hcqr"] > 0
    return left["support"] >= 0


class HCQROrCoT(QuestionProgram):
    """Both arms answer the question; where they agree, that is the answer, else a rule picks.

    ``notes["choice"]`` holds both answers, the numbers that the rule read, and which arm was taken. An arm
    without a valid answer loses. Context, queries and plan are HCQR's; calls are those of both.

    Args:
        config: HCQR's settings, and ``rule``: the path of a rule that ``abduce calibrate`` fitted on a run of
            this row; empty: the majority of :func:`prefers_retrieval`.

    Raises:
        InputError: the rule's file is missing or no rule.
    """

    def __init__(
        self,
        retriever: Retriever,
        passages: Passages,
        config: EitherConfig | None = None,
        count: CountTokens = estimate_tokens,
    ) -> None:
        super().__init__()
        self.config = config or EitherConfig()
        self.passages = passages
        self.rule = AnswerRules.load(self.config.rule).choice if self.config.rule else None
        settings = self.config.model_dump(exclude={"rule"})
        self.hcqr = HCQR(retriever, passages, HCQRConfig(**settings), count=count)
        shared = {name: settings[name] for name in RAGConfig.model_fields if name != "cite"}
        self.cot = NoRAG(RAGConfig(**shared))

    async def aforward(self, question: Question) -> dspy.Prediction:
        """Answer one question; see :class:`.base.RAG` for the prediction and the errors."""
        cot, hcqr = await at_once([partial(called, arm, question=question) for arm in (self.cot, self.hcqr)])
        left = traces_left(question, cot, hcqr, self.passages)
        retrieves = bool(hcqr.answer)
        if cot.answer and hcqr.answer and cot.answer != hcqr.answer:
            retrieves = prefers_retrieval(left, self.rule)
        taken = hcqr if retrieves else cot
        trace = merged(hcqr.trace, cot.trace, self.config.model_dump(mode="json"))
        trace.notes["probabilities"] = taken.trace.notes.get("probabilities")
        trace.notes["choice"] = {
            "without": cot.answer,
            "with": hcqr.answer,
            "taken": "with" if retrieves else "without",
            "left": left,
        }
        return dspy.Prediction(
            answer=taken.answer,
            answer_text=taken.answer_text,
            reasoning=taken.reasoning,
            options=taken.options,
            context=hcqr.context,
            ranking=hcqr.ranking,
            trace=trace,
        )


def merged(first: Trace, second: Trace, settings: dict[str, Any]) -> Trace:
    """The trace of both arms: calls, counters and times added up, everything else the first's."""
    first.settings = settings
    first.calls = [*second.calls, *first.calls]
    first.counters.update(second.counters)
    for stage, seconds in second.seconds.items():
        first.seconds[stage] = first.seconds.get(stage, 0.0) + seconds
    return first


def disagreement(notes: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """``notes["choice"]`` where both arms answered, and differently; else None."""
    choice: Mapping[str, Any] | None = notes.get("choice")
    if choice and choice["without"] and choice["with"] and choice["without"] != choice["with"]:
        return choice
    return None


def answer_evidence(answer: str, notes: Mapping[str, Any]) -> dict[str, float]:
    """What the confidence in an answer rests on.

    - ``agree``: 1 where both arms of :class:`HCQROrCoT` gave it;
    - ``kept``: 1 where it is the working hypothesis;
    - ``probability``: the model's own, of the option's letter; 0 where there are no log-probabilities, and
      then ``measured`` is 0;
    - ``overlap``: mean pairwise overlap of what the queries found.

    Args:
        answer: the chosen key; "" where there is none.
        notes: of the trace.
    """
    choice, plan = notes.get("choice") or {}, notes.get("plan") or {}
    chances = notes.get("probabilities") or {}
    return {
        "agree": float(bool(answer) and choice.get("without") == choice.get("with") == answer),
        "kept": float(bool(answer) and plan.get("hypothesis_key") == answer),
        "probability": float(chances.get(answer, 0.0)),
        "measured": float(answer in chances),
        "overlap": float(notes.get("overlap") or 0.0),
    }
