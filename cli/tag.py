"""``abduce tag``: the concept of every fact in a file, or the explanation of one fact."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import DataOption, ProgramOption

if TYPE_CHECKING:
    from ..tagging.tag import Tag
    from ..tagging.tagger import Tagger
    from ..tagging.tagging import Tagging
    from ..tagging.tags import Counts
    from .terminal import Console

TAXONOMY = "us-gaap-2024"
"""What facts and documents are tagged with where no taxonomy is named."""


class Engine(StrEnum):
    """Where the tagging runs."""

    local = "local"
    ray = "ray"


class Scope(StrEnum):
    """Whose already-tagged facts may be used."""

    others = "others"
    own = "own"


def tag(
    facts: Annotated[
        str | None,
        typer.Argument(
            help="A document (inline-XBRL or HTML page, Markdown, CSV, Excel), facts as JSONL, CSV or "
            "Parquet, or a table of texts (--text-column). Default: the first split of the data folder. "
            "With --engine ray, many files: a path or an address (s3://...) with * or **.",
        ),
    ] = None,
    taxonomy: Annotated[
        str | None,
        typer.Option(
            help="A taxonomy's name, a JSONL or CSV file (id, label), or an index folder; default "
            "us-gaap-2024. A note with --mentions needs icd10cm-2018."
        ),
    ] = None,
    program: Annotated[
        str | None,
        typer.Option(
            help="The method: a row's name (locus, direct, FHS-rules, ...). Default: the best one available, "
            "which a note names."
        ),
    ] = None,
    program_option: ProgramOption = None,
    top: Annotated[int, typer.Option(min=1, max=200, help="Concepts per fact.")] = 10,
    out: Annotated[
        str | None,
        typer.Option(
            help="Write a CSV here, one line per fact; with --engine ray, a folder or address for Parquet."
        ),
    ] = None,
    explain: Annotated[
        str | None, typer.Option(metavar="FACT_ID", help="Show how this fact is tagged.")
    ] = None,
    contexts: Annotated[
        Path | None,
        typer.Option(help="Source contexts as JSONL; default contexts.jsonl[.gz] in the facts' folder."),
    ] = None,
    schema: Annotated[
        str | None, typer.Option(help="Dimension schema: a bundled name or a TOML file.")
    ] = None,
    data: DataOption = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=HEADING",
            help="Your tables' column names: id, label, definition, datatype of the taxonomy; fact_id, gold, "
            "company of rows of text. Repeatable.",
        ),
    ] = None,
    text_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HEADING",
            help="The column of texts to tag, one fact per row (CSV, Excel, JSONL, Parquet). given again.",
        ),
    ] = None,
    retriever: Annotated[
        str | None,
        typer.Option(help="Retriever: bm25, minilm, medcpt ..., or an index folder."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the retriever, such as tokenizer=stem. Repeatable.",
        ),
    ] = None,
    mentions: Annotated[
        Path | None,
        typer.Option(help="Mentions of a note (the first argument): CSV with mention, or start and end."),
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
            help="Whose already-tagged facts the program may use. others: never those of the facts' own "
            "company (which must be known); own: its earlier filings too. Default: as the program "
            "defines; own without a program."
        ),
    ] = None,
    gold: Annotated[
        bool,
        typer.Option("--gold", help="Score against the document's own tags, or the field gold of facts."),
    ] = False,
    company: Annotated[str | None, typer.Option(help="The company of facts that name none.")] = None,
    calibration: Annotated[
        Path | None, typer.Option(help="Calibration file (from abduce calibrate --out), for confidence.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="A trained model (abduce train), for the trained rows."),
    ] = None,
    decided: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A person's decisions on some facts (a review's journal, a reviewed tags.csv), used for "
            "the others.",
        ),
    ] = None,
    each_fact: Annotated[
        bool,
        typer.Option(
            "--each-fact", help="Tag each value separately, also cells of a row that differ only in dates."
        ),
    ] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip bad facts and count them.")] = False,
    lm: Annotated[
        Path | None, typer.Option(help="TOML file with an [lm] table, for a program that calls a model.")
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither read nor write cached replies.")
    ] = False,
    concurrency: Annotated[int, typer.Option(min=1, help="Facts in parallel if a model is called.")] = 32,
    engine: Annotated[
        Engine,
        typer.Option(help="local: this process; ray: the cluster of $RAY_ADDRESS, else one on this machine."),
    ] = Engine.local,
    actors: Annotated[
        int | None, typer.Option(min=1, help="Parallel Taggers with --engine ray; default one per processor.")
    ] = None,
    allow_fallback: Annotated[
        bool,
        typer.Option(
            "--allow-fallback",
            help="Exit with 0 even if the model failed for more than half of the facts.",
        ),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="List the places of figures that were not read.")
    ] = False,
) -> None:
    """Tag facts with the concepts of a taxonomy.

    Examples:

        abduce tag facts.jsonl --taxonomy us-gaap-2024 --out tags.csv

        abduce tag facts.jsonl --taxonomy my-concepts.csv --program FHS-rules

        abduce tag facts.jsonl --program FHS --lm my-server.toml --out tags.csv

        abduce tag items.csv --text-column title --taxonomy categories.csv --column id=code

        abduce tag --explain F003-f01709

        abduce tag filing.htm --precedents last-year.htm --out tags.csv

        abduce tag filing.htm --decided filing.htm.review.jsonl --out tags.csv

        abduce tag filing.htm --gold --program "precedents (others)" --data DIR

        abduce tag "filings/*.htm" --program FHS-rules --engine ray --out tags/

        abduce tag note.txt --taxonomy icd10cm-2018 --mentions mentions.csv

        abduce tag note.txt --taxonomy icd10cm.index --mentions mentions.csv --program "precedents + locus"
    """
    from ..data.columns import Columns
    from ..retrievers.errors import InputError
    from ..retrievers.files import check_out
    from ..tagging.tagger import Tagger
    from .notes import end_if_unusable, show_log
    from .options import with_options
    from .pages.tags import SHOWN, show_problems, show_tags
    from .progress import count_bar
    from .terminal import Console

    if verbose:
        show_log(logging.DEBUG)
    headings = Columns.parse(column or [], text_column or [])
    settings: dict[str, Any] = {
        "taxonomy": taxonomy or TAXONOMY,
        "program": with_options(program, program_option or []),
        "precedents": precedents or (),
        "scope": None if precedent_scope is None else precedent_scope.value,
        "schema": schema,
        "lm": lm,
        "data": data,
        "calibration": calibration,
        "company": company,
        "cache": not no_cache,
        "concurrency": concurrency,
        "each_fact": each_fact,
        "model": model,
        "retriever": retriever_settings(retriever, set_ or []),
        "columns": headings.names,
        "text_columns": headings.text,
    }
    if engine is Engine.ray:
        from .tag_on_ray import tag_on_ray

        others = {"--explain": explain, "--contexts": contexts, "--mentions": mentions, "--gold": gold}
        others |= {"--decided": decided, "--skip-bad": skip_bad}
        unusable = tag_on_ray(facts, out, settings, top, actors, others)
        end_if_unusable(unusable, allow_fallback, "facts", "their tags")
        return
    source, target = None if facts is None else Path(facts), None if out is None else Path(out)
    if target is not None and target.suffix.lower() not in ("", ".csv"):
        said = f"tags are written as CSV, not as {target.suffix}: give a name that ends in .csv"
        raise InputError(said, file=target)
    check_out(target)
    if mentions is not None:
        only_facts = {"--explain": explain, "--contexts": contexts, "--skip-bad": skip_bad}
        only_facts |= {"--decided": decided, "--gold": gold, "--company": company, "--each-fact": each_fact}
        _refuse_for_a_note(source, taxonomy, only_facts | {"--calibration": calibration})
    with Tagger(**settings) as tagger:
        console, notes = Console(), Console(stderr=True)
        if mentions is not None and source is not None:
            _code(tagger, source, mentions, top, target, console, notes)
            return
        if source is None:
            split = next(iter(tagger.domain.splits))
            line = f"Facts: {tagger.domain.name} {split} of {tagger.folder}"
            notes.print(line, markup=False, highlight=False)
        if explain is not None:
            from .pages.fact import explain_fact

            trail = tagger.explain(source, explain, contexts=contexts, skip_bad=skip_bad)
            console.print(explain_fact(trail, top))
            return
        with count_bar(console) as bar:
            progress = partial(bar, "tagging")
            tagging = tagger.start(
                source, progress, contexts=contexts, skip_bad=skip_bad, gold=gold, decided=decided
            )
            counts, kept = _go_through(tagging, target, top, None if gold else SHOWN, notes)
        cost = tagger.cost
    if target is not None:
        console.print(f"{counts.facts:,} facts tagged: {target}", markup=False, highlight=False)
    else:
        show_tags(kept, tagging.of, counts.facts, console)
    show_problems(counts, tagging.of, notes)
    if cost:
        notes.print(cost, markup=False, highlight=False, soft_wrap=True)
    if gold:
        from .pages.score import show_score

        show_score(tagging.whole(kept).score(), console)
    end_if_unusable(counts.unusable, allow_fallback, "facts", "their tags")


def retriever_settings(name: str | None, pairs: Sequence[str]) -> dict[str, Any] | None:
    """The settings of a retriever from its short name and ``KEY=VALUE`` texts; None if neither is given.

    Raises:
        InputError: an invalid index folder, or a text without ``=``.
    """
    from ..data.build.index import parse_settings
    from ..retrievers.settings import named

    settings = parse_settings(pairs)
    if name is None and not settings:
        return None
    return named(name or "bm25") | settings


def _go_through(
    tagging: Tagging, out: Path | None, top: int, keep: int | None, notes: Console
) -> tuple[Counts, list[Tag]]:
    """Take every tag and write it to ``out`` as soon as it is ready. Returns the counts and the first
    ``keep`` tags (None: all).
    """
    from ..retrievers.files import csv_rows, replacing_part
    from ..tagging.tags import Counts
    from ..tagging.tags_file import COLUMNS

    counts = Counts(tagging.of.thresholds)
    kept: list[Tag] = []

    def take(write: Callable[[Sequence[object]], None] | None) -> None:
        for tag in tagging:
            counts.add(tag)
            if keep is None or len(kept) < keep:
                kept.append(tag)
            if write is not None:
                cells = tagging.of.cells(tag, top)
                write([cells[name] for name in COLUMNS])

    if out is None:
        take(None)
        return counts, kept
    part = None
    try:
        with replacing_part(out, keep=True) as (stream, part):
            take(csv_rows(stream, COLUMNS))
    except BaseException:
        if part is not None and counts.facts:
            line = f"stopped after {counts.facts:,} of {len(tagging):,} facts: their tags stand in {part}"
            notes.print(line, markup=False, highlight=False, soft_wrap=True)
        elif part is not None:
            part.unlink(missing_ok=True)
        raise
    return counts, kept


def _code(
    tagger: Tagger, note: Path, mentions: Path, top: int, out: Path | None, console: Console, notes: Console
) -> None:
    """Code the mentions of a note; print the page, or write a CSV."""
    from .pages.tags import accepted_line

    codes = tagger.code_note(note, mentions, top)
    if out is None:
        from .pages.note import show

        show(codes, console)
    else:
        codes.to_csv(out)
        console.print(f"{codes.summary}: {out}", markup=False, highlight=False)
    lines = (accepted_line(codes.accepted, len(codes), codes.thresholds), tagger.cost)
    for line in filter(None, lines):
        notes.print(line, markup=False, highlight=False, soft_wrap=True)


def _refuse_for_a_note(note: Path | None, taxonomy: str | None, only_facts: Mapping[str, object]) -> None:
    """Raise InputError for options that a note with mentions does not take, and for missing ones."""
    from ..data.domains import CLINICAL
    from ..retrievers.errors import InputError

    for name, given in only_facts.items():
        if given:
            raise InputError(f"{name} is for documents and facts files, not for a note with --mentions")
    if taxonomy is None:
        raise InputError(f"--mentions needs the release to code in: give --taxonomy {CLINICAL.taxonomy}")
    if note is None:
        raise InputError("--mentions needs the note they stand in: abduce tag NOTE.txt --mentions FILE")
