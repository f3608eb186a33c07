"""Facts that share their evidence: the model is asked once per group, and all members get the answer."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import dspy

from ..signatures.types import Fact
from .base import Program
from .running import blocking, called
from .shared_rows import shared_evidence
from .state import Stateful
from .trace import Trace


class _Abandoned(Exception):
    """The task that computed a value was cancelled."""


class Once:
    """Computes a value once per key and returns it to all callers of the key.

    Callers wait while it is computed; if it raises, all get the error. Safe to share between threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[Hashable, Future[Any]] = {}
        self._left: Counter[Hashable] = Counter()

    def __deepcopy__(self, memo: dict[int, Any]) -> Once:
        return Once()

    def __reduce__(self) -> tuple[type[Once], tuple[()]]:
        return Once, ()

    async def get(self, key: Hashable, askers: int, compute: Callable[[], Awaitable[Any]]) -> Any:
        """The value of a key; it is forgotten once ``askers`` have had it.

        Where who computes it is cancelled, the next who asks computes it anew.
        """
        with self._lock:
            future = self._made.get(key)
            mine = future is None
            if future is None:
                future = self._made[key] = Future()
                self._left[key] = askers
        if mine:
            try:
                future.set_result(await compute())
            except (asyncio.CancelledError, GeneratorExit):
                with self._lock:
                    self._made.pop(key, None)
                future.set_exception(_Abandoned())
                raise
            except BaseException as e:  # noqa: BLE001 - raised for everyone who asks, the first included
                future.set_exception(e)
        try:
            return future.result() if blocking() else await asyncio.wrap_future(future)
        except _Abandoned:
            return await self.get(key, askers, compute)
        finally:
            with self._lock:
                self._left[key] -= 1
                if self._left[key] <= 0:
                    self._made.pop(key, None)


class SharedEvidence(Stateful):
    """A program that runs once per group of facts that share their evidence.

    It always runs on the first fact of a group (in the given order), so answers do not depend on the order of
    calls. This fact's trace has the calls and counters. The traces of the others have the same content
    without calls, and ``notes["evidence_of"]`` names the first fact. A fact outside every group runs by
    itself.

    Args:
        program: the program, with its selector if it has one.
        facts: all facts of the run.
    """

    def __init__(self, program: Any, facts: Sequence[Fact] = ()) -> None:
        super().__init__()
        self.program = program
        self._once = Once()
        self._groups: dict[str, tuple[Fact, int]] = {}
        for group in shared_evidence(facts):
            for i in group:
                self._groups[facts[i].fact_id] = facts[group[0]], len(group)

    takes = Program.takes

    @property
    def needs_gold(self) -> bool:
        """Whether its program is an oracle."""
        return bool(self.program.needs_gold)

    def forward(self, fact: Fact, **more: Any) -> dspy.Prediction:
        """The program's prediction for a fact, or for the first of its group."""
        return super().forward(fact=fact, **more)

    async def aforward(self, fact: Fact, **more: Any) -> dspy.Prediction:
        """The program's prediction for a fact, or for the first of its group."""
        first, members = self._groups.get(fact.fact_id, (fact, 1))
        if members == 1 or self.needs_gold:
            return await called(self.program, fact=fact, **more)
        prediction = await self._once.get(
            first.fact_id, members, lambda: called(self.program, fact=first, **more)
        )
        if first.fact_id == fact.fact_id:
            return prediction
        told = {name: prediction[name] for name in prediction.keys()}  # noqa: SIM118 - no mapping
        return dspy.Prediction(**told | {"trace": silent(prediction.trace, first.fact_id)})


def silent(trace: Trace, asked: str) -> Trace:
    """The trace of a fact whose answer comes from another fact: no calls and no counters."""
    pool = Counter({"pool": trace.counters["pool"]})
    return replace(trace, calls=[], counters=pool, seconds={}, notes={**trace.notes, "evidence_of": asked})
