"""``abduce data build us-gaap``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .say import say


def us_gaap(
    source: Annotated[
        Path,
        typer.Option("--from", help="Folder or zip archive of the official release: xsd, linkbases."),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("data/finance"),
    prefix: Annotated[
        str, typer.Option(help="Namespace prefix: us-gaap, srt, dei, or your own.")
    ] = "us-gaap",
    year: Annotated[str | None, typer.Option(help="Year of the release, if the folder has several.")] = None,
    abstract: Annotated[bool, typer.Option(help="Keep abstract concepts (marked).")] = True,
    deprecated: Annotated[bool, typer.Option(help="Keep deprecated concepts (marked).")] = True,
) -> None:
    """Build a taxonomy's inventory from its official XBRL release, of any year.

    Your own concept list (CSV or JSONL with id and label) needs no building: give it to --taxonomy.

    Examples:

        abduce data build us-gaap --from us-gaap-2025.zip --out data/finance

        abduce tag filing.htm --taxonomy data/finance/concepts.jsonl.gz
    """
    from ..data.build.us_gaap import build_us_gaap
    from ..retrievers.files import check_out

    check_out(out, folder=True)
    for line in build_us_gaap(source, out, prefix, year, abstract, deprecated).lines:
        say(line)
