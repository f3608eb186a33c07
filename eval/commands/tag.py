"""``abduce tag``: the concept of every fact in a file, or the whole trail of one fact."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def tag(
    facts: Annotated[
        Path | None,
        typer.Argument(help="Facts as JSONL or CSV; without it the first split of the data folder."),
    ] = None,
    taxonomy: Annotated[
        str, typer.Option(help="A taxonomy's name (us-gaap-2024), or a JSONL or CSV file with id and label.")
    ] = "us-gaap-2024",
    program: Annotated[
        str, typer.Option(help="Which method: a row's name (locus, direct, FHS-rules, FHS, ...).")
    ] = "locus",
    top: Annotated[int, typer.Option(min=1, max=200, help="How many concepts a fact.")] = 10,
    out: Annotated[Path | None, typer.Option(help="Write a CSV here, one line a fact.")] = None,
    explain: Annotated[
        str | None, typer.Option(metavar="FACT_ID", help="Show the whole trail of this fact.")
    ] = None,
    contexts: Annotated[
        Path | None, typer.Option(help="Source contexts as JSONL; else contexts.jsonl[.gz] beside the facts.")
    ] = None,
    schema: Annotated[
        str | None, typer.Option(help="Dimension schema: a bundled name or a TOML file.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Data folder; without it $ABDUCE_DATA, else the bundled data.")
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Pass over bad facts and count them.")] = False,
) -> None:
    """Tag facts with the concepts of a taxonomy.

    Examples:

        abduce tag facts.jsonl --taxonomy us-gaap-2024 --out tags.csv

        abduce tag facts.jsonl --taxonomy my-concepts.csv --program FHS-rules

        abduce tag --explain F003-f01709
    """
    from ..tagging import tag_facts

    tag_facts(
        facts,
        taxonomy=taxonomy,
        program=program,
        top=top,
        out=out,
        explain=explain,
        contexts=contexts,
        schema=schema,
        data=data,
        skip_bad=skip_bad,
    )
