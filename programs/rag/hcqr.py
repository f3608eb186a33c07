"""HCQR, hypothesis-conditioned query rewriting (paper: Sections 3.2 to 3.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import dspy

from ...retrievers.base import Retriever
from ...signatures.hcqr import (
    Formulate,
    FormulateWithoutOptions,
    ProposeAnswers,
    RewriteByHypothesis,
    cut_short,
)
from ...signatures.options import LETTERS, Choices
from ...signatures.types import Question
from ..calls import ask
from ..running import Part, called
from ..stages import Stage
from ..trace import Trace
from .base import RAG, narrowed
from .config import HCQRConfig
from .context import CountTokens, Fused, Passages, estimate_tokens, fuse_queries


@dataclass(frozen=True)
class Plan:
    """The formulator's state and the three queries (q1 SUPPORT, q2 DISTINCTION, q3 KEY FEATURES).

    ``hypothesis`` is an option's text, or free text; ``hypothesis_key`` the question's key of that option,
    None where it is none of them.
    """

    hypothesis: str
    hypothesis_key: str | None
    discriminating_features: Sequence[str]
    confirming_evidence: Sequence[str]
    brief_reasoning: str
    queries: Mapping[str, str]


class Planner(Protocol):
    """What HCQR asks of a planner; None where it failed."""

    def __call__(self, *, question: Question, trace: Trace) -> Plan | None: ...


class LMPlanner(Part):
    """The formulator and the rewriter: two model calls (paper: 3.3, 3.4).

    Args:
        options: show the options to the formulator. The rewriter sees them in either case.
    """

    def __init__(self, options: bool = True) -> None:
        super().__init__()
        self.options = options
        self.formulate = dspy.Predict(Formulate if options else FormulateWithoutOptions)
        self.rewrite = dspy.Predict(RewriteByHypothesis)

    async def aforward(self, question: Question, trace: Trace) -> Plan | None:
        """The hypothesis and the three queries for a question; None where a reply was dropped."""
        choices = Choices.of(question.options)
        shown: dict[str, Any] = {"question": question.text, "options": str(choices)}
        with trace.timed("formulate"):
            inputs = shown if self.options else {k: v for k, v in shown.items() if k != "options"}
            signature = self.formulate.signature
            if self.options:
                signature = narrowed(signature, "working_hypothesis", choices.letters)
            state = await ask(self.formulate, trace, Stage.FORMULATE, signature=signature, **inputs)
        if state is None:
            return None
        said = state.working_hypothesis
        letter = choices.letter(said, alone=True) if self.options else choices.named(said)
        if letter is None and self.options:
            trace.count("hypothesis_off_options")
        hypothesis = choices.texts[letter] if letter else said
        with trace.timed("rewrite"):
            queries = await ask(
                self.rewrite,
                trace,
                Stage.REWRITE,
                **shown,
                working_hypothesis=hypothesis,
                discriminating_features=_listed(state.discriminating_features),
                confirming_evidence=_listed(state.confirming_evidence),
                brief_reasoning=state.brief_reasoning,
            )
        if queries is None:
            return None
        written = {"q1": queries.support, "q2": queries.distinction, "q3": queries.key_features}
        trace.count("cut_queries", cut_short(written.values()))
        return Plan(
            hypothesis,
            choices.keys[letter] if letter else None,
            state.discriminating_features,
            state.confirming_evidence,
            state.brief_reasoning,
            written,
        )


def _listed(phrases: Sequence[str]) -> str:
    return "\n".join(f"- {phrase}" for phrase in phrases) or "(none)"


class HCQR(RAG):
    """Formulate a hypothesis, write three queries from it, retrieve 5 for each, fuse, answer.

    The hypothesis steers retrieval and is not shown to the generator, unless ``expose_hypothesis``. Where
    the planner's reply was dropped the raw question is the query (``direct_fallback`` is counted).
    ``notes["plan"]`` holds the state and the queries.

    With ``open_ended=True`` a question without options is answered too: the model proposes candidate
    answers first, and the method goes on with them as its options (the paper's second limitation). If no
    candidates come (``no_candidates``), the answer is "".

    Args:
        planner: replaces the two model calls (:class:`.hcqr_rules.RulePlanner` needs none).
        open_ended: shorthand for the same setting of ``config``.
    """

    config: HCQRConfig

    def __init__(
        self,
        retriever: Retriever,
        passages: Passages,
        config: HCQRConfig | None = None,
        planner: Planner | None = None,
        count: CountTokens = estimate_tokens,
        *,
        open_ended: bool | None = None,
    ) -> None:
        config = config or HCQRConfig()
        if open_ended is not None:
            config = config.model_copy(update={"open_ended": open_ended})
        super().__init__(retriever, passages, config, count)
        self.planner: Planner = planner or LMPlanner(config.options)
        if config.open_ended:
            self.propose = dspy.Predict(ProposeAnswers)

    async def complete(self, question: Question, trace: Trace) -> Question | None:
        if not self.config.open_ended or question.options:
            return question
        with trace.timed("propose"):
            reply = await ask(self.propose, trace, Stage.PROPOSE, question=question.text)
        answers = _distinct(reply.answers) if reply is not None else []
        if len(answers) < 2:
            trace.count("no_candidates")
            return None
        options = dict(zip(LETTERS, answers, strict=False))
        trace.notes["proposed_options"] = options
        return question.model_copy(update={"options": options})

    async def retrieve(self, question: Question, trace: Trace) -> Fused:
        plan = await called(self.planner, question=question, trace=trace)
        if plan is None:
            return self.fall_back(question, trace)
        trace.notes["plan"] = {
            "working_hypothesis": plan.hypothesis,
            "hypothesis_key": plan.hypothesis_key,
            "discriminating_features": list(plan.discriminating_features),
            "confirming_evidence": list(plan.confirming_evidence),
            "brief_reasoning": plan.brief_reasoning,
            "queries": dict(plan.queries),
        }
        used = {name: text for name, text in plan.queries.items() if name != self.config.drop}
        return fuse_queries(self.search(used, self.config.per_query, trace), self.passages, self.config.B_max)

    def exposed(self, trace: Trace) -> str:
        return str(trace.notes.get("plan", {}).get("working_hypothesis", ""))


def _distinct(answers: Sequence[str]) -> list[str]:
    seen: dict[str, str] = {}
    for answer in answers:
        if answer.strip():
            seen.setdefault(" ".join(answer.casefold().split()), answer.strip())
    return list(seen.values())
