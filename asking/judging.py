"""A program together with its judges: the judges see the gold answer, the program does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

from ..programs.rag.judge import ContextJudge, Utility
from ..signatures.types import Question

Context = Callable[[], AbstractContextManager[Any]]
"""Enters the DSPy context of a model (``Models.context``)."""


@dataclass(frozen=True)
class Judge:
    """One judge: a name, the module, and the context of its model."""

    name: str
    module: ContextJudge
    context: Context


class Answering:
    """Runs a RAG program with its model and seed, then judges its context.

    The judgements are in ``trace.notes["judges"]``, one entry per judge in order. Their calls are in the
    trace under the stage ``judge``, with counters that begin with ``judge_``; they are not a cost of the
    method. Questions without options, and programs without retrieval, are not judged. If a judge cannot be
    asked (its server is gone), the answer stays: the question is unjudged, the entry has the reason under
    ``error``, and ``judge_failed`` counts it.

    Args:
        program: called with ``question=``.
        context: the context of the program's model; None if it calls none.
        seed: the seed of samples.
        judges: none to two.
    """

    def __init__(
        self, program: Callable[..., Any], context: Context | None, seed: int, judges: Sequence[Judge] = ()
    ) -> None:
        self.program, self.context, self.seed, self.judges = program, context, seed, judges

    def __call__(self, *, question: Question, gold: str = "") -> Any:
        import dspy
        from dspy.utils.exceptions import LMError

        if self.context is None:
            prediction = self.program(question=question)
        else:
            with self.context(), dspy.context(seed=self.seed):
                prediction = self.program(question=question)
        if not question.options or "context_tokens" not in prediction.trace.notes:
            return prediction
        trace, found = prediction.trace, []
        for judge in self.judges:
            try:
                with judge.context():
                    judged = judge.module(question=question, gold=gold, context=prediction.context)
            except (LMError, OSError) as e:
                reason = f"{type(e).__name__}: {' '.join(str(e).split())}"[:2000]
                found.append({"name": judge.name, **asdict(Utility(None, None, None)), "error": reason})
                trace.count("judge_failed")
                continue
            found.append({"name": judge.name, **asdict(judged.utility)})
            trace.calls += judged.trace.calls
            for name, n in judged.trace.counters.items():
                trace.count(name if name.startswith("judge_") else f"judge_{name}", n)
        if found:
            trace.notes["judges"] = found
        return prediction
