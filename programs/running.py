"""Every program is written once, as a coroutine, and runs in a thread that waits or on an event loop.

``await program.acall(fact=fact)`` runs it on the caller's loop: its model calls are awaited, those that do
not depend on each other at the same time, and no thread is started. ``program(fact=fact)`` runs the same
coroutine in the caller's thread, where everything it waits for blocks instead; independent calls go to one
pool of threads. Retrieval is computed where the program runs.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Any, TypeVar

import dspy

T = TypeVar("T")

WORKERS = 256
"""Threads of the one pool that fans calls out; a served model is waited for, not computed here."""

_BLOCKING: ContextVar[bool] = ContextVar("abduce_blocking", default=False)


def blocking() -> bool:
    """Whether the running program may block its thread: it is not on an event loop."""
    return _BLOCKING.get()


def in_thread(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a program's coroutine to its end in this thread.

    Raises:
        RuntimeError: it waits for an event loop.
    """
    token = _BLOCKING.set(True)
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        _BLOCKING.reset(token)
        coroutine.close()
    raise RuntimeError("this waits for an event loop: call it there (await program.acall(...))")


async def called(part: Any, **inputs: Any) -> Any:
    """What a part of a program (a module, a predictor, any callable) gives for some inputs.

    On a loop a module that has ``aforward`` is awaited, and one without runs in a thread; any other callable
    runs where it is.
    """
    if not blocking():
        if hasattr(part, "aforward"):
            return await part.acall(**inputs)
        if isinstance(part, dspy.Module):
            return await asyncio.to_thread(part, **inputs)
    return part(**inputs)


async def at_once(calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Run independent calls at the same time and return their results in order.

    If any raises, the first exception in order is raised once all have ended.
    """
    if blocking():
        return fan_out([partial(in_thread, _awaited(call)) for call in calls])
    if len(calls) == 1:
        return [await calls[0]()]
    found = await asyncio.gather(*(call() for call in calls), return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return [one for one in found if not isinstance(one, BaseException)]


async def _awaited(call: Callable[[], Awaitable[T]]) -> T:
    return await call()


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=WORKERS, thread_name_prefix="abduce-call")


def fan_out(thunks: Sequence[Callable[[], T]]) -> list[T]:
    """:func:`at_once` for calls that block.

    The caller runs the first itself; the others run on one pool of the process, each in a copy of the
    caller's context (DSPy's settings live there). Thunks must not fan out themselves.
    """
    if not thunks:
        return []
    futures: list[Future[T]] = [_pool().submit(contextvars.copy_context().run, thunk) for thunk in thunks[1:]]
    outcome: T | None = None
    failure: Exception | None = None
    try:
        outcome = thunks[0]()
    except Exception as e:  # noqa: BLE001 - raised below, after the others have ended
        failure = e
    results: list[T] = [outcome]  # type: ignore[list-item]
    for future in futures:
        try:
            results.append(future.result())
        except Exception as e:  # noqa: BLE001
            failure = failure or e
    if failure is not None:
        raise failure
    return results


class Part(dspy.Module):
    """A module that is written once, as ``aforward``, for both ways of calling it.

    A subclass that has only ``forward`` (a method of one's own) can be awaited too: it then runs in a thread.
    """

    def forward(self, *args: Any, **inputs: Any) -> Any:
        """What :meth:`aforward` gives, waited for in this thread."""
        if type(self).aforward is Part.aforward:
            raise NotImplementedError(f"{type(self).__name__} has neither aforward nor forward")
        return in_thread(self.aforward(*args, **inputs))

    async def aforward(self, *args: Any, **inputs: Any) -> Any:
        """The module's work, on the caller's event loop."""
        if type(self).forward is Part.forward:
            raise NotImplementedError(f"{type(self).__name__} has neither aforward nor forward")
        return await asyncio.to_thread(self.__call__, *args, **inputs)

    async def acall(self, *args: Any, **inputs: Any) -> Any:
        """As calling it, awaited on an event loop."""
        token = _BLOCKING.set(False)
        try:
            return await super().acall(*args, **inputs)
        finally:
            _BLOCKING.reset(token)
