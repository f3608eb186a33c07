"""The cost of a run's model calls: each call counts once, in any thread."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Tally:
    """Sums over calls. ``seconds`` is the sum of waiting times, also of parallel calls.

    ``calls`` counts questions: a cached answer counts, a retried one counts once. ``requests`` counts
    attempts sent. Tokens are as reported by servers; cached answers add none.
    """

    calls: int = 0
    requests: int = 0
    cache_hits: int = 0
    dropped: int = 0
    failed: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        for name in self.__dataclass_fields__:
            if name == "faults":
                self.faults.update(other.faults)
            else:
                setattr(self, name, getattr(self, name) + getattr(other, name))

    def as_dict(self) -> dict[str, Any]:
        return {
            name: dict(self.faults) if name == "faults" else getattr(self, name)
            for name in self.__dataclass_fields__
        }


class Meter:
    """Tallies by stage. ``add`` takes a call's record (:class:`abduce.programs.calls.Call`)."""

    def __init__(self) -> None:
        self._stages: dict[str, Tally] = {}
        self._lock = threading.Lock()

    def add(self, call: Any) -> None:
        one = tally_of(call)
        with self._lock:
            self._stages.setdefault(call.stage, Tally()).add(one)

    @property
    def stages(self) -> dict[str, Tally]:
        """A copy, by stage."""
        with self._lock:
            copies = {name: Tally() for name in self._stages}
            for name, tally in self._stages.items():
                copies[name].add(tally)
            return copies

    @property
    def total(self) -> Tally:
        total = Tally()
        for tally in self.stages.values():
            total.add(tally)
        return total

    def as_dict(self) -> dict[str, Any]:
        return {
            "total": self.total.as_dict(),
            "stages": {name: tally.as_dict() for name, tally in sorted(self.stages.items())},
        }


def tally(calls: Iterable[Any]) -> Tally:
    """The sum over the calls of one prediction (``trace.calls``)."""
    total = Tally()
    for call in calls:
        total.add(tally_of(call))
    return total


def tally_of(call: Any) -> Tally:
    return Tally(
        calls=0 if call.retry else 1,
        requests=call.requests,
        cache_hits=int(call.cache_hit),
        dropped=int(call.dropped),
        failed=int(call.failed),
        retries=call.retries + int(call.retry),
        prompt_tokens=call.prompt_tokens,
        completion_tokens=call.completion_tokens,
        cached_tokens=call.cached_tokens,
        seconds=call.seconds,
        faults=Counter(call.faults),
    )
