"""``abduce judge``: judge a finished run of questions again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import DataOption


def judge(
    run: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="The run folder of a question experiment.")],
    out: Annotated[Path, typer.Option(help="Run folder for the new judgements.")],
    lm: Annotated[
        Path | None, typer.Option(help="TOML file with the judge's \\[lm] table; else $ABDUCE_LM, or --url.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Address of a model server that ends in /v1.")] = None,
    model: Annotated[str | None, typer.Option(help="The model's name on that server.")] = None,
    name: Annotated[str, typer.Option(help="The judge's name in tables.")] = "judge",
    data: DataOption = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Contexts in parallel.")] = 32,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither read nor write cached replies.")
    ] = False,
) -> None:
    """Label the contexts of a finished run with another judge; no method runs again.

    The run's own judge is kept too, and the tables show how far the two agree.

    Examples:

        abduce judge runs/main --lm judge.toml --out runs/main-judged --data DIR
    """
    from ..eval.rejudge import rejudge
    from ..eval.report.questions import question_tables
    from ..lm.options import chosen_lm
    from ..retrievers.errors import InputError
    from ..retrievers.files import check_out
    from .notes import print_note
    from .pages.tables import drawn
    from .progress import progress_bars
    from .terminal import Console

    table = chosen_lm(lm, url, model)
    if table is None:
        raise InputError("name the judge: --lm FILE, or --url and --model", field="lm")
    check_out(out, folder=True)
    console = Console()
    with progress_bars(Console(stderr=True)) as on_progress:
        found = rejudge(
            run, out, table, name=name, data=data, concurrency=concurrency, cache=not no_cache,
            on_progress=on_progress, on_note=print_note,
        )  # fmt: skip
    for one in question_tables(found):
        console.print(drawn(one))
    console.print(f"Written: {out}", markup=False, highlight=False)
