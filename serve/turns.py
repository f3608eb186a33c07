"""Turns: few requests are computed at once, the others wait in line, and a long one lets them in between."""

from __future__ import annotations

import threading
import time
from collections import deque
from types import TracebackType

from .refusal import Refusal

SLICE = 0.1
"""Seconds after which a request goes to the end of the line, where others wait."""


class Turns:
    """A line before a number of places; who comes first, is served first.

    Args:
        places: requests that are computed at once.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._line: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    def take(self, until: float) -> None:
        """Wait for a place.

        Raises:
            Refusal: none was free until that time (of ``time.monotonic``).
        """
        with self._lock:
            if self._free and not self._line:
                self._free -= 1
                return
            mine = threading.Event()
            self._line.append(mine)
        if mine.wait(max(0.0, until - time.monotonic())):
            return
        with self._lock:
            if mine not in self._line:  # it came in the same moment
                self._give()
            else:
                self._line.remove(mine)
        raise late()

    def leave(self) -> None:
        """Give a place back."""
        with self._lock:
            self._give()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._line)

    def _give(self) -> None:
        if self._line:
            self._line.popleft().set()
        else:
            self._free += 1


class Turn:
    """One request's time at a place; a context manager.

    Args:
        turns: the line.
        seconds: how long it may take, waiting included.
        facts: how many facts it may have.
    """

    def __init__(self, turns: Turns, seconds: float, facts: int) -> None:
        self._turns, self._facts = turns, facts
        self._until = time.monotonic() + seconds
        self._began = 0.0
        self._holds = False
        self.given_up = False
        """Set by who does not wait for the answer any more."""

    def __enter__(self) -> Turn:
        self._take()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._holds:
            self._holds = False
            self._turns.leave()

    def go_on(self, done: int, total: int) -> None:
        """Called between facts: let others in, or end.

        Args:
            done, total: how many facts are done, and of how many.

        Raises:
            Refusal: it has too many facts or takes too long.
        """
        if total > self._facts:
            raise Refusal(413, f"{total:,} facts are too many for one request: at most {self._facts:,}")
        now = time.monotonic()
        if self.given_up or now > self._until:
            raise late()
        if now - self._began > SLICE and self._turns.waiting:
            self.__exit__(None, None, None)
            self._take()

    def _take(self) -> None:
        self._turns.take(self._until)
        self._holds, self._began = True, time.monotonic()


def late() -> Refusal:
    """A request that took too long."""
    return Refusal(504, "took too long: ask for less at once, or raise the limit (--timeout)")
