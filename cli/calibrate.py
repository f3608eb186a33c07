"""``abduce calibrate``: fit the confidence of tags or answers."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..retrievers.errors import InputError


class Kind(StrEnum):
    """The form of a calibration."""

    logistic = "logistic"
    isotonic = "isotonic"


def calibrate(
    program: Annotated[list[str], typer.Argument(help="Rows that call no model, or a run folder.")],
    row: Annotated[str | None, typer.Option(help="The row to fit, for a run folder.")] = None,
    domain: Annotated[str, typer.Option(help="finance or clinical.")] = "finance",
    split: Annotated[str, typer.Option(help="The split to fit on.")] = "dev",
    check: Annotated[
        str | None, typer.Option(help="Another split or run folder to check the fit on.")
    ] = None,
    kind: Annotated[
        Kind, typer.Option(help="logistic: a model of the evidence; isotonic: steps of the margin.")
    ] = (Kind.logistic),
    data: Annotated[str | None, typer.Option(help="Data folder; default $ABDUCE_DATA.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the calibration (JSON) here.")] = None,
) -> None:
    """Fit the confidence of tags or answers, and print what share can be accepted at which precision.

    Examples:

        abduce calibrate "precedents (own)" --out calibration.json

        abduce calibrate "precedents (own)" "precedents (others)" --check test

        abduce calibrate runs/dev --row "HCQR or CoT" --out rules.json

        abduce calibrate runs/cheaper --row "FHS soft verdicts" --out support.json
    """
    from ..retrievers.files import check_out

    check_out(out)
    if os.path.isfile(Path(program[0]) / "run.json"):
        if _family(program[0]) == "taxonomy":
            _support(program, row, check, out)
        else:
            _answers(program, row, check, data, out)
        return
    if row is not None:
        raise InputError(f"{program[0]!r} is no run folder", field="row")
    from ..eval.calibrate import calibrate as run
    from ..eval.calibrate import write_calibrations
    from .pages.score import acceptance_table
    from .progress import count_bar
    from .terminal import Console

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


def _answers(
    folders: list[str], row: str | None, check: str | None, data: str | None, out: Path | None
) -> None:
    from ..eval.fit_answers import fit_answers
    from .pages.score import acceptance_table
    from .terminal import Console

    if len(folders) > 1:
        raise InputError("give one run folder", field="program")
    if row is None:
        raise InputError("name the row whose answers are fitted", field="row")
    console = Console()
    fitted = fit_answers(folders[0], row, check=check, data=data)
    for title, sure in ((f"{fitted.title}, out of fold", fitted.sure), (f"{row}, {check}", fitted.checked)):
        if sure is not None:
            console.print(acceptance_table(f"{title}: {sure.accuracy:.1%} right", sure.accepted))
            console.print(f"Expected calibration error: {sure.error:.3f}")
            curve = ", ".join(f"{coverage:.0%}: {accuracy:.3f}" for coverage, accuracy in sure.curve)
            console.print(f"Accuracy of the surest answers, by share: {curve}")
            for line in sure.at_threshold:
                if line.precision is not None:
                    share = f"{line.coverage:.1%}, {line.precision:.1%} right"
                    console.print(f"Sure for {line.wanted:.0%} by the fit: {share}")
    if fitted.without is None or fitted.with_ is None:
        console.print("No choice of arms was fitted: the row runs one arm, or too few questions told.")
    else:
        for name, found in (("without", fitted.without), ("with", fitted.with_)):
            console.print(
                f"The choice against the arm {name} retrieval, out of fold: "
                f"helped {found.helped}, harmed {found.harmed}"
            )
    if out is not None:
        fitted.rules.save(out)
        console.print(f"Written: {out}", markup=False, highlight=False)


def _family(folder: str) -> str:
    """The codec of a run folder."""
    from ..eval.runs.folder import RunFolder

    manifest = RunFolder(folder).manifest()
    return str(manifest["codec"]) if manifest is not None else ""


def _support(runs: list[str], row: str | None, check: str | None, out: Path | None) -> None:
    """The map from a row's verifier support to correctness, checked out of fold.

    Raises:
        InputError: more than one run, no row, a run to check on, or an error in the run.
    """
    from ..eval.report.report import load_run
    from ..eval.support_map import fit_support
    from .pages.tables import drawn
    from .terminal import Console

    if len(runs) != 1 or row is None:
        raise InputError("name one run and its row (--row)", field="row")
    if check is not None:
        raise InputError("a run of facts is judged out of fold, not on another run", field="check")
    console = Console()
    fitted, table = fit_support(load_run(runs[0]), row)
    console.print(drawn(table))
    if out is not None:
        fitted.save(out)
        console.print(f"Written: {out}", markup=False, highlight=False)
