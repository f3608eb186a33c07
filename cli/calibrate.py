"""``abduce calibrate``: how sure a tag is."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Kind(StrEnum):
    """The form of a calibration."""

    logistic = "logistic"
    isotonic = "isotonic"


def calibrate(
    program: Annotated[list[str], typer.Argument(help="Rows that call no model.")],
    domain: Annotated[str, typer.Option(help="finance or clinical.")] = "finance",
    split: Annotated[str, typer.Option(help="The split to fit on.")] = "dev",
    check: Annotated[str | None, typer.Option(help="Another split to judge the fit on.")] = None,
    kind: Annotated[Kind, typer.Option(help="A logistic model of the evidence, or steps of the margin.")] = (
        Kind.logistic
    ),
    data: Annotated[str | None, typer.Option(help="Data folder; without it $ABDUCE_DATA.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the calibration (JSON) here.")] = None,
) -> None:
    """Fit the confidence of tags, and print what share can be accepted at which precision.

    Examples:

        abduce calibrate "precedents (own)" --out calibration.json

        abduce calibrate "precedents (own)" "precedents (others)" --check test
    """
    from rich.console import Console

    from ..eval.calibrate import calibrate as run
    from ..eval.calibrate import write_calibrations
    from .pages.score import acceptance_table
    from .progress import count_bar

    console = Console()
    made = []
    with count_bar(console) as progress:
        fits = run(
            program,
            domain=domain,
            split=split,
            check=check,
            kind=kind.value,
            data=data,
            progress=progress,
        )
        for fitted in fits:
            made.append(fitted.calibration)
            for one in fitted.judged:
                title = f"{one.title}: {one.facts:,} facts, {one.right:.1%} right"
                console.print(acceptance_table(title, one.accepted))
                console.print(f"Expected calibration error: {one.error:.3f}")
    if out is not None:
        write_calibrations(made, out)
        console.print(f"Written: {out}", markup=False, highlight=False)
