"""What an optimizer's rollouts came to, counted while it runs, and a journal by which one that was ended goes
on."""

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
    """Counts the calls of a program and of its copies, whoever makes them.

    ``made`` is all of them, ``lost`` those that a part of the method did without its model
    (:attr:`~abduce.programs.trace.Trace.lost_replies`), ``skipped`` those that ended in an error, by its
    kind: an optimizer scores these 0, or passes them over. DSPy's optimizers only log them.

    Args:
        program: what is compiled.
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
        """The share that was skipped or fell back, in [0, 1]."""
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
    """Every reply of the block is kept in the folder at once, and none is asked for again.

    Raises:
        InputError: the folder cannot be made or written to.
    """
    before = dspy.cache
    use_cache(folder, every=True)
    try:
        yield
    finally:
        dspy.cache = before
