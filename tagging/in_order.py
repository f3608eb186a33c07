"""A program over many facts: several in flight where it waits for a model, results in order."""

from __future__ import annotations

import contextvars
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from rich.console import Console
from rich.progress import track

from ..retrievers.errors import InputError, describe
from ..signatures.types import Fact


def in_order(
    program: Callable[..., Any], facts: Sequence[Fact], concurrency: int, failures: list[tuple[str, str]]
) -> Iterator[Any | None]:
    """``program(fact=...)`` for each fact, in the facts' order.

    A fact on which the program fails gives None, and its id and the reason are appended to ``failures``:
    one fact never ends the whole. At most ``2 * concurrency`` facts are in flight or waiting.

    Raises:
        InputError: something that holds for every fact (no model, a wrong setting).
    """

    def call(fact: Fact) -> Any | None:
        try:
            return program(fact=fact)
        except InputError:
            raise
        except Exception as e:  # noqa: BLE001  (the fact's failure is reported, the others go on)
            reason = describe(e)
            failures.append((fact.fact_id, f"{reason['type']}: {reason['message']}"))
            return None

    if concurrency <= 1:
        yield from map(call, facts)
        return
    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(concurrency, thread_name_prefix="abduce-tag") as pool:
        try:
            for fact in facts:
                waiting.append(pool.submit(contextvars.copy_context().run, call, fact))
                if len(waiting) >= 2 * concurrency:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def tracked(
    program: Callable[..., Any],
    facts: Sequence[Fact],
    concurrency: int,
    failures: list[tuple[str, str]],
    console: Console,
) -> Iterable[Any | None]:
    """:func:`in_order` with a progress bar on standard error, where ``console`` is a terminal."""
    return track(
        in_order(program, facts, concurrency, failures),
        "tagging",
        total=len(facts),
        console=Console(stderr=True),
        transient=True,
        disable=not console.is_terminal,
    )


def report_failures(failures: Sequence[tuple[str, str]], notes: Console) -> None:
    """Say how many facts failed, with the first reasons."""
    for id_, reason in failures[:5]:
        notes.print(f"failed: {id_}: {reason}", markup=False, highlight=False, soft_wrap=True)
    if failures:
        notes.print(f"{len(failures)} facts failed; their rankings are empty", markup=False)
