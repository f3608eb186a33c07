"""``abduce eval``: run an experiment and print its table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import DataOption

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..eval.report.live import LiveReport


def evaluate(
    experiment: Annotated[
        str, typer.Argument(help="A bundled experiment's name, or the path of an experiment's TOML file.")
    ],
    data: DataOption = None,
    split: Annotated[str | None, typer.Option(help="Split to evaluate, instead of the experiment's.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Sample N examples by source context; the same each time."),
    ] = None,
    row: Annotated[list[str] | None, typer.Option(help="Only this row; repeatable.")] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder: results, traces, summary; resumable.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Facts in parallel if a model is called.")] = 32,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip bad facts and count them.")] = False,
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="Run failed examples again, and failed judgements."),
    ] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither read nor write cached replies.")
    ] = False,
    intervals: Annotated[bool, typer.Option("--intervals", help="Show 95% intervals in the table.")] = False,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="An additional measure, such as nDCG@10 or P@5 (ir-measures); repeatable."),
    ] = None,
    lm: Annotated[
        Path | None, typer.Option(help="TOML file whose [lm] table replaces the experiment's.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Only this model of the experiment; join runs with abduce report A B."),
    ] = None,
    retriever: Annotated[
        str | None,
        typer.Option(
            help="Replaces the experiment's [retriever]: bm25, minilm, medcpt ..., or an index folder."
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Serve the run's page on 127.0.0.1 while the run goes on.")
    ] = False,
) -> None:
    """Run an experiment over a split and print its table.

    Examples:

        abduce eval finance-no-model

        abduce eval finance-no-model --data DIR --split test --out runs/no-model

        abduce eval my-table.toml --row FHS --limit 100

        abduce eval finance-main --data DIR --lm my-server.toml --concurrency 64

        abduce eval hcqr-smoke --lm my-model.toml --out runs/smoke

        abduce eval hcqr-main --data DIR --model Qwen3-4B --out runs/qwen3-4b

        abduce eval hcqr-no-model --data DIR --retriever medical-minilm.index

        abduce eval finance-no-model --out runs/no-model --watch
    """
    from contextlib import nullcontext

    from ..eval.experiments.evaluate import evaluate as run_it
    from ..eval.report.report import result_tables
    from ..lm.options import lm_table
    from ..retrievers.files import check_out
    from .pages.tables import drawn
    from .progress import progress_bars
    from .terminal import Console

    console, notes = Console(), Console(stderr=True)

    def line(text: str, to: Console = console) -> None:
        to.print(text, markup=False, highlight=False, soft_wrap=True)

    check_out(out, folder=True)
    watched = _watched(out, data, line) if watch else nullcontext()
    with watched, progress_bars(notes) as on_progress:
        run = run_it(
            experiment,
            data=data,
            split=split,
            limit=limit,
            rows=row or [],
            out=out,
            concurrency=concurrency,
            skip_bad=skip_bad,
            retry_failed=retry_failed,
            lm=None if lm is None else lm_table(lm),
            model=model,
            cache=not no_cache,
            retriever=retriever,
            measures=measure or [],
            on_progress=on_progress,
            on_note=lambda text: line(text, notes),
            on_start=lambda text: line(f"Data: {text}"),
        )
    for table in result_tables(run, intervals=intervals):
        console.print(drawn(table))
    for text in run.notes:
        line(text)
    if out is not None:
        line(f"Results, traces and summary: {out}")
    if run.unusable:
        line("every example failed, or fell back because replies were no use: no figure is a method's", notes)
        raise typer.Exit(1)


def _watched(out: Path | None, data: str | None, line: Callable[[str], None]) -> LiveReport:
    """The run's page on a local server while it runs."""
    from ..data.folder import DataFolder
    from ..eval.report.live import LiveReport
    from ..retrievers.errors import InputError

    if out is None:
        raise InputError("the page shows a run folder: name it with --out", field="--watch")
    live = LiveReport(out, DataFolder.find(data))
    line(f"Open {live.server.url}   (it ends with the run)")
    return live
