"""Run a program on many facts, in parallel if it waits for a model, with results in order."""

from __future__ import annotations

import contextvars
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ..retrievers.errors import InputError, describe
from ..signatures.types import Fact


def in_order(
    program: Callable[[Fact], Any], facts: Iterable[Fact], concurrency: int
) -> Iterator[tuple[Any | None, str]]:
    """``program(fact)`` and an empty text for each fact, in order.

    If the program fails on a fact, its result is None and the reason; the others continue. At most ``2 *
    concurrency`` facts are running or waiting.

    Raises:
        InputError: an error that affects every fact (no model, a wrong setting).
    """

    def call(fact: Fact) -> tuple[Any | None, str]:
        try:
            return program(fact), ""
        except InputError:
            raise
        except Exception as e:  # noqa: BLE001  (the fact's failure is reported, the others go on)
            reason = describe(e)
            return None, f"{reason['type']}: {reason['message']}"

    if concurrency <= 1:
        yield from map(call, facts)
        return
    waiting: deque[Future[tuple[Any | None, str]]] = deque()
    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="abduce-tag")
    try:
        for fact in facts:
            waiting.append(pool.submit(contextvars.copy_context().run, call, fact))
            if len(waiting) >= 2 * concurrency:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # who waits for a model is ended when that is closed
