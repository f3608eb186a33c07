"""Counts an optimizer's rollouts, and keeps a journal for resuming."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback

from ...lm.cache import use_cache
from ...programs.trace import Trace


class Rollouts(BaseCallback):
    """Counts the calls of a program and its copies.

    ``made`` counts all calls, ``lost`` those in which a part of the method continued without its model
    (:attr:`~abduce.programs.trace.Trace.lost_replies`), and ``skipped`` those that ended in an error, by its
    kind. DSPy's optimizers score skipped ones 0 or ignore them, and only log them.

    Args:
        program: the program to compile.
    """

    def __init__(self, program: dspy.Module) -> None:
        self.made = self.lost = 0
        self.skipped: Counter[str] = Counter()
        self._type = type(program)
        self._open: set[str] = set()
        self._lock = threading.Lock()

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if type(instance) is self._type:
            with self._lock:
                self._open.add(call_id)

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        found = outputs[0] if isinstance(outputs, tuple) else outputs  # GEPA has a program give its calls too
        trace = found.get("trace") if isinstance(found, dspy.Prediction) else None
        with self._lock:
            if call_id not in self._open:
                return
            self._open.remove(call_id)
            self.made += 1
            if exception is not None or not isinstance(trace, Trace):
                self.skipped[type(exception or found).__name__] += 1
            elif trace.lost_replies:
                self.lost += 1

    @property
    def unusable(self) -> float:
        """The share, in [0, 1], that was skipped or fell back."""
        return (self.skipped.total() + self.lost) / max(1, self.made)

    def __str__(self) -> str:
        parts = [f"{self.made:,} rollouts"]
        if self.skipped:
            kinds = ", ".join(f"{kind} {n:,}" for kind, n in self.skipped.most_common())
            parts.append(f"{self.skipped.total():,} skipped ({kinds})")
        if self.lost:
            parts.append(f"{self.lost:,} fell back in part: replies of the model were no use")
        return "; ".join(parts)


@contextmanager
def journal(folder: Path) -> Iterator[None]:
    """Store every reply of the block in the folder at once; none is requested again.

    Raises:
        InputError: the folder cannot be made or written to.
    """
    before = dspy.cache
    use_cache(folder, every=True)
    try:
        yield
    finally:
        dspy.cache = before
