"""Progress bars of a run: rows, examples, model calls per second, time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from ..eval.runs.row import Progress

if TYPE_CHECKING:
    from .terminal import Console


@contextmanager
def progress_bars(console: Console | None = None) -> Iterator[Callable[[Progress], None]]:
    """Yield the callback that :func:`abduce.eval.runs.runner.run` takes as ``on_progress``.

    They appear with the first progress: one bar for rows, one for examples. Calls per second and the time
    left are for this session only.
    """
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars

    from .terminal import Console as RichConsole

    bars = Bars(
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[detail]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console or RichConsole(stderr=True),
    )
    started = monotonic()
    rows = bars.add_task("rows", total=None, detail="")
    examples = bars.add_task("examples", total=None, detail="")
    shown = 0.0

    def update(p: Progress) -> None:
        nonlocal shown
        now = monotonic()
        if now - shown < 0.1 and p.done < p.total:
            return
        first, shown = not shown, now
        if first:
            bars.start()
            bars.reset(examples, total=p.total, completed=p.resumed)
        details = [escape(p.row)]
        if p.calls:
            details.append(f"{p.calls / max(now - started, 1e-9):.1f} calls/s")
        if p.failed:
            details.append(f"[red]{p.failed} failed[/red]")
        if p.resumed:
            details.append(f"{p.resumed} resumed")
        bars.update(rows, total=p.rows, completed=p.rows_done)
        bars.update(examples, total=p.total, completed=p.done, detail=" · ".join(details))

    try:
        yield update
    finally:
        bars.stop()


@contextmanager
def count_bar(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a callback for progress: what is done, how many, and of how many.

    The bar is on standard error, and only if ``console`` is a terminal.
    """
    from rich.progress import Progress as Bars

    from .terminal import Console as RichConsole

    bars = Bars(console=RichConsole(stderr=True), transient=True, disable=not console.is_terminal)
    with bars:
        task = bars.add_task("", total=None)

        def update(what: str, done: int, total: int) -> None:
            bars.update(task, description=what, completed=done, total=total)

        yield update
