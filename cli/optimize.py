"""``abduce optimize``: compile a row with one of DSPy's optimizers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import DataOption


def optimize(
    experiment: Annotated[str, typer.Argument(help="A bundled experiment's name, or a TOML file.")],
    row: Annotated[str, typer.Option(help="The row whose program is compiled.")],
    out: Annotated[Path, typer.Option(help="Write the program's state here, as JSON.")],
    optimizer: Annotated[str, typer.Option(help="bootstrap, mipro or gepa.")] = "bootstrap",
    split: Annotated[
        str, typer.Option(help="Split or question set to compile on; never a test split.")
    ] = "dev",
    data: DataOption = None,
    train: Annotated[int, typer.Option(min=2, help="Number of facts of the split.")] = 50,
    check: Annotated[
        int, typer.Option(min=0, help="Measure the gain on this many facts of other contexts.")
    ] = 50,
    measure: Annotated[str, typer.Option(help="Measure to optimise: MRR, R@10, Acc, ...")] = "MRR",
    budget: Annotated[
        str, typer.Option(help="light, medium, heavy, or a number: trials of mipro, rollouts of gepa.")
    ] = "light",
    concurrency: Annotated[int, typer.Option(min=1, help="Facts in parallel.")] = 8,
    lm: Annotated[
        Path | None, typer.Option(help="TOML file whose [lm] table replaces the experiment's.")
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(help="Folder of replies, for resuming; default OUT.log."),
    ] = None,
    allow_fallback: Annotated[
        bool,
        typer.Option(
            "--allow-fallback",
            help="Exit with 0 even if the model failed in more than half of the rollouts.",
        ),
    ] = False,
) -> None:
    """Compile a row's prompts with a DSPy optimizer. The state is JSON, and is checked when it is loaded.

    To resume an interrupted run, give the same command again.

    Examples:

        abduce optimize finance-main --row FHS --out fhs.json --data DIR

        abduce optimize finance-main --row FHS --optimizer gepa --budget medium --out fhs.json

        abduce optimize hcqr-smoke --row HCQR --lm my-model.toml --out hcqr.json

    A row of an experiment file uses it by set = { state = "fhs.json" }.
    """
    from ..eval.optimize.optimize import optimize_row
    from ..lm.options import lm_table
    from ..retrievers.files import check_out
    from .notes import end_if_unusable, print_note
    from .pages.tables import drawn
    from .terminal import Console

    check_out(out)
    compiled = optimize_row(
        experiment,
        row,
        out,
        optimizer=optimizer,
        split=split,
        data=data,
        train=train,
        check=check,
        measure=measure,
        budget=budget,
        threads=concurrency,
        lm=None if lm is None else lm_table(lm),
        log=log,
    )
    console = Console()
    if compiled.gain is not None:
        console.print(drawn(compiled.gain.table()))
    console.print(
        f"compiled {row} on {compiled.examples} {compiled.noun} of {split}: {out}",
        markup=False,
        highlight=False,
    )
    for line in (str(compiled.rollouts), compiled.cost):
        if line:
            print_note(line)
    end_if_unusable(compiled.rollouts.unusable, allow_fallback, "rollouts", "the results")
