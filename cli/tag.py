"""``abduce tag``: the concept of every fact in a file, or the whole trail of one fact."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Scope(StrEnum):
    """Whose already-tagged facts may be used."""

    others = "others"
    own = "own"


def tag(
    facts: Annotated[
        Path | None,
        typer.Argument(
            help="A document (inline-XBRL or HTML page, Markdown, CSV, Excel), or facts as JSONL or CSV; "
            "without it the first split of the data folder."
        ),
    ] = None,
    taxonomy: Annotated[
        str | None,
        typer.Option(
            help="A taxonomy's name, a JSONL or CSV file (id, label), or an index folder; where not given, "
            "us-gaap-2024. A note with --mentions needs its release named: icd10cm-2018."
        ),
    ] = None,
    program: Annotated[
        str | None,
        typer.Option(
            help="Which method: a row's name (locus, direct, FHS-rules, ...); where not given, locus, or "
            "the vote of the --precedents (the best row of their scope)."
        ),
    ] = None,
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
    mentions: Annotated[
        Path | None,
        typer.Option(
            help="The first argument is a note (text); its mentions: CSV with mention, or start and end."
        ),
    ] = None,
    precedents: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="Already-tagged facts: facts .jsonl, a tagged filing .htm, a reviewed tags.csv.",
        ),
    ] = None,
    precedent_scope: Annotated[
        Scope | None,
        typer.Option(
            help="Whose already-tagged facts the program may use: others: never those of the facts' own "
            "company (which must be known); own: its earlier filings too. Where not given: as the program "
            "has it; own where no program is given."
        ),
    ] = None,
    gold: Annotated[bool, typer.Option("--gold", help="Score against the document's own tags.")] = False,
    company: Annotated[
        str | None, typer.Option(help="Whose document it is, where it does not say so itself.")
    ] = None,
    calibration: Annotated[
        Path | None, typer.Option(help="How scores become confidence (abduce calibrate --out writes it).")
    ] = None,
    each_fact: Annotated[
        bool,
        typer.Option("--each-fact", help="Ask for every value, not once for cells that share a row."),
    ] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Pass over bad facts and count them.")] = False,
    lm: Annotated[
        Path | None, typer.Option(help="TOML file with an [lm] table, for a program that calls a model.")
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Ask the model every time; keep no reply.")
    ] = False,
    concurrency: Annotated[int, typer.Option(min=1, help="Facts in flight where a model is called.")] = 32,
) -> None:
    """Tag facts with the concepts of a taxonomy.

    Examples:

        abduce tag facts.jsonl --taxonomy us-gaap-2024 --out tags.csv

        abduce tag facts.jsonl --taxonomy my-concepts.csv --program FHS-rules

        abduce tag facts.jsonl --program FHS --lm my-server.toml --out tags.csv

        abduce tag --explain F003-f01709

        abduce tag filing.htm --precedents last-year.htm --out tags.csv

        abduce tag filing.htm --gold --program "precedents (others)" --data DIR

        abduce tag note.txt --taxonomy icd10cm-2018 --mentions mentions.csv

        abduce tag note.txt --taxonomy icd10cm.index --mentions mentions.csv --program "precedents + locus"
    """
    from ..lm.options import lm_table
    from ..tagging.filing import DocumentOptions
    from ..tagging.tagger import tag_facts

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
        mentions=mentions,
        document=DocumentOptions(gold, tuple(precedents or ()), calibration, company, each_fact),
        scope=None if precedent_scope is None else precedent_scope.value,
        lm=None if lm is None else lm_table(lm),
        cache=not no_cache,
        concurrency=concurrency,
    )
