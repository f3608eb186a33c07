"""Metrics for ``dspy.Evaluate`` and DSPy's optimizers, with the measures of :mod:`abduce.eval.metrics`.

A metric takes DSPy's five arguments. It returns ``dspy.Prediction(score, feedback)``, which ``dspy.Evaluate``
sums and GEPA reads. If an optimizer collects demonstrations (it passes a trace and names no predictor), it
returns whether the example is good enough to be one.
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
    """The five-argument protocol; subclasses implement ``assess``."""

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
        """The value of one example, in [0, 1] (0 if the prediction lacks the measured part), and text about
        errors.
        """
        raise NotImplementedError


class TaxonomyMetric(_Metric):
    """A measure of a concept ranking, with feedback by query, dimension and verdict.

    Args:
        name: ``MRR``, ``R@10``, ``nDCG@10`` (of the ranking before a selector) or ``Acc`` (after it).
        profiles: the program's ``profiles``; with them, the feedback names dimensions that do not fit.
        demo_at: the lowest score for a demonstration.

    Examples need the label ``gold``: the right concept's id.

    Raises:
        ValueError: an unknown measure.
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
        passages: the corpus; with it, the feedback names the query that found the answer's words.

    Examples need the label ``gold``: the right option's key, or the text of a free-form answer, which is
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
    """``DUR`` of one question: whether a judge labels its context Entailed or Useful.

    Args:
        judge: sees question, options, gold answer and context. A label that is already in the prediction's
            trace (``notes["judges"]``) is used instead.
        passages: the corpus; with it, the feedback names the query that found the answer's words.

    Examples need the input ``question`` and the label ``gold``, the right option's key.
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
    """Ids of the final ranking and of the one before a selector; empty if the program failed."""
    if not isinstance(pred, dspy.Prediction) or "ranking" not in pred:
        return [], []
    final = list(pred.ranking.ids)
    return final, list(pred.retrieved.ids) if "retrieved" in pred else final


def to_dspy(examples: Iterable[Example]) -> list[dspy.Example]:
    """Examples as DSPy's, with the label ``gold`` and the program's inputs."""
    return [dspy.Example(**e.inputs, gold=e.gold, example_id=e.id).with_inputs(*e.inputs) for e in examples]
