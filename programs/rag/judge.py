"""The context-utility judge (paper: 4.6, B.8)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import dspy
from dspy.utils.exceptions import ContextWindowExceededError

from ...retrievers.errors import InputError
from ...signatures.judge import JUDGE_VERSION, JudgeContext
from ...signatures.options import NO_OPTION
from ...signatures.types import Question, UtilityLabel
from ..calls import ask
from ..running import Part
from ..stages import Stage
from ..trace import Trace
from .base import WINDOW_SHARES, checked_choices, narrowed
from .context import CountTokens, Evidence, Passages, estimate_tokens, pack


@dataclass(frozen=True)
class Utility:
    """What a judge said of one context.

    Attributes:
        label: the label that counts; None where the judge's replies were dropped (then it is counted in the
            trace, and analyses show it as unjudged).
        given: the label as the judge gave it.
        selected: the question's key of the option that the context supports most; None for none.
        consistent: False where label and selected option contradict each other; the label is then the lower
            one (:func:`conservative`).
    """

    label: UtilityLabel | None
    given: UtilityLabel | None
    selected: str | None
    consistent: bool = True


class ContextJudge(Part):
    """Entailed, Useful-but-Not-Entailed or Not Useful, for (question, options, gold answer, context).

    The judge names the option that the context alone supports before it gives a label. It is conservative:
    a context that supports a competing option is Not Useful whatever label was given, and so is an empty
    context, which is not sent to the model at all (``judge_empty_context``).

    Where the model says that the prompt is too long, fewer documents are shown (``judge_context_backoffs``);
    a context of which nothing fits is unjudged.

    Args:
        passages: texts by id.
        lm: the judge's model; the caller's DSPy context where not given.
        room: tokens that the documents may take (paper: a context of 15 documents is shown whole).
        count: the number of tokens of a text.
    """

    def __init__(
        self,
        passages: Passages,
        lm: Any = None,
        room: int = 24_000,
        count: CountTokens = estimate_tokens,
    ) -> None:
        super().__init__()
        self.passages = passages
        self.room = room
        self.count = count
        self.judge = dspy.Predict(JudgeContext)
        if lm is not None:
            self.judge.lm = lm

    def describe(self) -> dict[str, str]:
        """What makes two judgements comparable: model, version and a hash of the instructions."""
        lm = self.judge.lm or dspy.settings.lm
        signature = self.judge.signature
        text = "\n".join([signature.instructions, *signature.fields])
        return {
            "model": str(getattr(lm, "model", "") or ""),
            "version": JUDGE_VERSION,
            "prompt": signature.instructions,
            "prompt_sha256": hashlib.sha256(text.encode()).hexdigest(),
        }

    def rooms(self, context: Sequence[Evidence]) -> list[int]:
        """What documents may take, then less and less of what they do take, for a model that holds fewer."""
        used = pack(context, self.passages, self.room, self.count).tokens
        return [self.room, *(int(used * share) for share in WINDOW_SHARES[1:])]

    async def aforward(
        self, question: Question, gold: str, context: Sequence[Evidence], trace: Trace | None = None
    ) -> dspy.Prediction:
        """Judge one context set.

        Args:
            question: with its options.
            gold: the key of the right option.
            context: what the generator read, in order.
            trace: gets the call and the counters; a new one where not given.

        Returns:
            A prediction with ``utility`` (:class:`Utility`), ``label`` and ``trace``.

        Raises:
            InputError: ``gold`` is not among the options, or the options are not two to ten distinct texts.
        """
        trace = trace or Trace()
        choices = checked_choices(question)
        if gold not in question.options:
            raise InputError(
                f"the gold answer {gold!r} of {question.question_id!r} is none of {list(question.options)}",
                field="answer",
            )
        if not context:
            trace.count("judge_empty_context")
            return _answer(Utility(UtilityLabel.NOT_USEFUL, None, None), trace)
        gold_letter = choices.letter_of(gold)
        reply = None
        for room in self.rooms(context):
            packed = pack(context, self.passages, room, self.count)
            if not packed.text:
                break
            try:
                with trace.timed("judge"):
                    reply = await ask(
                        self.judge,
                        trace,
                        Stage.JUDGE,
                        signature=narrowed(
                            self.judge.signature, "selected_answer", (*choices.letters, NO_OPTION)
                        ),
                        question=question.text,
                        options=str(choices),
                        gold_answer=f"{gold_letter}. {choices.texts[gold_letter]}",
                        documents=packed.text,
                    )
                trace.count("judge_left_out", len(packed.left_out))
                break
            except ContextWindowExceededError:
                trace.count("judge_context_backoffs")
        if reply is None:
            trace.count("unjudged")
            return _answer(Utility(None, None, None), trace)
        selected = choices.key(reply.selected_answer)
        utility = conservative(reply.label, selected, gold)
        if not utility.consistent:
            trace.count("judge_inconsistent")
        return _answer(utility, trace)


def conservative(given: UtilityLabel, selected: str | None, gold: str) -> Utility:
    """The label that counts: Not Useful where the context supports another option than the gold one.

    A context that supports no option may be Useful (a fact that helps without deciding) but not Entailed.
    """
    ceiling = UtilityLabel.ENTAILED if selected == gold else UtilityLabel.NOT_USEFUL
    if selected is None:
        ceiling = UtilityLabel.USEFUL
    order = [UtilityLabel.NOT_USEFUL, UtilityLabel.USEFUL, UtilityLabel.ENTAILED]
    label = min(given, ceiling, key=order.index)
    return Utility(label, given, selected, consistent=label is given)


def _answer(utility: Utility, trace: Trace) -> dspy.Prediction:
    trace.notes["judge"] = asdict(utility)
    return dspy.Prediction(utility=utility, label=utility.label, trace=trace)


def recorded_evidence(notes: Mapping[str, Any]) -> tuple[Evidence, ...]:
    """The context that a trace's notes recorded, for judging a finished run."""
    return tuple(
        Evidence(item["id"], tuple((str(name), int(rank)) for name, rank in item["sources"]))
        for item in notes.get("context", ())
    )
