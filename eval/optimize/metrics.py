"""Metrics for ``dspy.Evaluate`` and DSPy's optimizers, over the same measures as everything else here.

A metric takes DSPy's five arguments. It returns ``dspy.Prediction(score, feedback)``, which
``dspy.Evaluate`` sums and GEPA reads; where an optimizer collects demonstrations (it passes a trace and
names no predictor) it returns whether the example is good enough to be one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import dspy

from ...data.example import Example
from ...data.questions import same_answer
from ...signatures.types import UtilityLabel
from ..metrics import accuracy, measure, useful
from .feedback import question_feedback, taxonomy_feedback

if TYPE_CHECKING:
    from ...programs.profiles import Profiles
    from ...programs.rag.context import Passages
    from ...programs.rag.judge import ContextJudge


class _Metric:
    """The five-argument protocol; a subclass assesses."""

    def __init__(self, name: str, demo_at: float) -> None:
        self.__name__ = name
        self.demo_at = demo_at

    def __call__(
        self,
        example: dspy.Example,
        pred: Any,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Any = None,
    ) -> Any:
        score, feedback = self.assess(example, pred)
        if trace is not None and pred_name is None:
            return score >= self.demo_at
        return dspy.Prediction(score=score, feedback=feedback())

    def assess(self, example: dspy.Example, pred: Any) -> tuple[float, Callable[[], str]]:
        """The value of one example, in [0, 1] (0 for a prediction that lacks what is measured), and what
        says what went wrong, and where."""
        raise NotImplementedError


class TaxonomyMetric(_Metric):
    """A measure of a concept ranking, with feedback by query, dimension and verdict.

    Args:
        name: ``MRR``, ``R@10``, ``nDCG@10`` (of the ranking before a selector) or ``Acc`` (after it).
        profiles: the program's ``profiles``; with them the feedback says which dimension does not fit.
        demo_at: the score from which an example may become a demonstration.

    Examples need ``gold``, the right concept's id, as their label.

    Raises:
        ValueError: no measure has that name.
    """

    def __init__(self, name: str = "MRR", profiles: Profiles | None = None, demo_at: float = 1.0) -> None:
        super().__init__(name, demo_at)
        self._measure = measure(name)
        self._profiles = profiles

    def assess(self, example: dspy.Example, pred: Any) -> tuple[float, Callable[[], str]]:
        ranked, retrieved = _rankings(pred)
        score = self._measure(ranked if self._measure.name == "Acc" else retrieved, example.gold)
        trace = pred.get("trace") if isinstance(pred, dspy.Prediction) else None
        selected = ranked if trace is not None and trace.selected is not None else None
        return score, partial(taxonomy_feedback, retrieved, example.gold, trace, self._profiles, selected)


class AnswerMetric(_Metric):
    """Whether the right option was chosen, with feedback by hypothesis and query.

    Args:
        passages: the corpus; with it the feedback says which query found the answer's words.

    Examples need ``gold`` as their label: the right option's key, or the text of a free-form answer, which is
    compared after normalisation.
    """

    def __init__(self, passages: Passages | None = None) -> None:
        super().__init__("Acc", 1.0)
        self._passages = passages

    def assess(self, example: dspy.Example, pred: Any) -> tuple[float, Callable[[], str]]:
        if not isinstance(pred, dspy.Prediction) or "answer" not in pred:
            return 0.0, lambda: "There is no answer: the program failed on this question."
        if not pred.answer:
            score = 0.0
        elif "trace" in pred and "proposed_options" in pred.trace.notes:
            score = float(same_answer(str(pred.answer_text), str(example.gold)))
        else:
            score = accuracy([pred.answer], example.gold)
        return score, partial(question_feedback, pred, example.gold, self._passages)


class UtilityMetric(_Metric):
    """``DUR`` of one question: whether its context is Entailed or Useful, by a judge.

    Args:
        judge: sees question, options, gold answer and context. A label that the prediction's trace
            already holds (``notes["judges"]``) is taken instead.
        passages: the corpus; with it the feedback says which query found the answer's words.

    Examples need ``question`` as input and ``gold``, the right option's key, as their label.
    """

    def __init__(self, judge: ContextJudge, passages: Passages | None = None) -> None:
        super().__init__("DUR", 1.0)
        self._judge = judge
        self._passages = passages

    def assess(self, example: dspy.Example, pred: Any) -> tuple[float, Callable[[], str]]:
        if not isinstance(pred, dspy.Prediction) or "context" not in pred:
            return 0.0, lambda: "There is no context: the program failed on this question."
        label = self._label(example, pred)
        said = f"{label.value}." if label else "not judged (no valid reply)."

        def feedback() -> str:
            told = question_feedback(pred, example.gold, self._passages)
            return f"{told}\nJudge: the context is {said}"

        return 0.0 if label is None else useful(label), feedback

    def _label(self, example: dspy.Example, pred: Any) -> UtilityLabel | None:
        known = pred.trace.notes.get("judges") if "trace" in pred else None
        if known:
            label = known[0]["label"]
        else:
            judged = self._judge(question=example.question, gold=example.gold, context=pred.context)
            label = judged.utility.label
        return None if label is None else UtilityLabel(label)


def _rankings(pred: Any) -> tuple[list[str], list[str]]:
    """Ids of the final ranking and of the one before a selector; empty where the program failed."""
    if not isinstance(pred, dspy.Prediction) or "ranking" not in pred:
        return [], []
    final = list(pred.ranking.ids)
    return final, list(pred.retrieved.ids) if "retrieved" in pred else final


def to_dspy(examples: Iterable[Example]) -> list[dspy.Example]:
    """Examples as DSPy's, with ``gold`` as label and everything else that the program takes as input."""
    return [dspy.Example(**e.inputs, gold=e.gold, example_id=e.id).with_inputs(*e.inputs) for e in examples]
