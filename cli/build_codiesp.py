"""``abduce data build codiesp``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .say import say


class Method(StrEnum):
    """How a Spanish mention is located in the English text."""

    alignment = "alignment"
    model = "model"


def codiesp(
    source: Annotated[
        Path, typer.Option("--from", help="The CodiEsp archive (.tar.gz, .zip), or its unpacked folder.")
    ],
    inventory: Annotated[
        Path,
        typer.Option(help="The inventory: icd10cm_fy2018_taxonomy.jsonl.gz (abduce data build icd10cm)."),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("data/clinical"),
    method: Annotated[
        Method, typer.Option(help="alignment: words aligned without a model; model: one call per mention.")
    ] = Method.alignment,
    lm: Annotated[Path | None, typer.Option(help="TOML file with an [lm] table, for --method model.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Parallel calls.")] = 8,
) -> None:
    """Build contexts and facts from CodiEsp by locating each Spanish mention in the English text.

    Mentions that cannot be located are dropped; the report counts the reasons.

    Examples:

        abduce data build codiesp --from codiesp.tar.gz --inventory icd10cm_fy2018_taxonomy.jsonl.gz
    """
    from rich.progress import Progress

    from ..data.build.codiesp.build import build_with
    from ..retrievers.files import check_out
    from .terminal import Console

    check_out(out, folder=True)
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("mentions", total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        report = build_with(source, inventory, out, method.value, lm, threads, advance)
    for line in report.lines:
        say(line)
