"""``abduce review``: review the tags of a document in a browser."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .tag import TAXONOMY, Scope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..tagging.decisions import Decision
    from ..tagging.review.journal import Journal
    from ..tagging.tags import Tags
    from .terminal import Console


def review(
    what: Annotated[
        Path,
        typer.Argument(
            help="A document, a file of facts, a note (with --mentions), or the tags.csv or .xlsx of an "
            "earlier run."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output: reviewed tags as .csv or .xlsx, saved as you decide. Without a server: .html, a "
            "self-contained page; .json: tasks for Label Studio."
        ),
    ] = None,
    merge: Annotated[
        list[Path] | None,
        typer.Option(
            help="Other decisions: a page's .jsonl, a Label Studio export .json, reviewed tags "
            ".csv or .xlsx; repeatable."
        ),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Open a local server, or only write --out.")
    ] = True,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the server; 0: a free one.")] = 0,
    taxonomy: Annotated[str | None, typer.Option(help="As for abduce tag.")] = None,
    program: Annotated[str | None, typer.Option(help="As for abduce tag.")] = None,
    precedents: Annotated[list[Path] | None, typer.Option(help="As for abduce tag.")] = None,
    precedent_scope: Annotated[Scope | None, typer.Option(help="As for abduce tag.")] = None,
    contexts: Annotated[Path | None, typer.Option(help="As for abduce tag.")] = None,
    mentions: Annotated[Path | None, typer.Option(help="As for abduce tag.")] = None,
    schema: Annotated[str | None, typer.Option(help="As for abduce tag.")] = None,
    data: Annotated[str | None, typer.Option(help="As for abduce tag.")] = None,
    company: Annotated[str | None, typer.Option(help="As for abduce tag.")] = None,
    calibration: Annotated[Path | None, typer.Option(help="As for abduce tag.")] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="As for abduce tag.")] = False,
    lm: Annotated[Path | None, typer.Option(help="As for abduce tag.")] = None,
) -> None:
    """Review the tags of a document in a browser, by keyboard.

    Decisions are saved one by one in NAME.review.jsonl, next to --out (or else next to the document); the
    next run continues with them. A decision is suggested for similar facts. Stop with Ctrl-C.

    Examples:

        abduce review filing.htm --precedents last-year.htm --out tags.csv

        abduce review filing.htm --out page.html

        abduce review tags.csv --taxonomy us-gaap-2024

        abduce review note.txt --mentions mentions.csv --taxonomy icd10cm-2018

        abduce review filing.htm --merge page.review.jsonl --out tags.xlsx --no-serve
    """
    from ..retrievers.errors import InputError
    from ..tagging.decisions import latest, merged
    from ..tagging.review.again import read_decisions
    from ..tagging.review.journal import Journal
    from ..tagging.review.written import is_tags_file
    from .terminal import Console

    _check(what, out, serve)
    said = [read_decisions(path) for path in merge or ()]
    earlier = read_decisions(what) if mentions is None and is_tags_file(what) else {}
    console = Console()
    tags = _tags(
        what, taxonomy, program, precedents or [], precedent_scope, contexts, mentions, schema, data, company,
        calibration, skip_bad, lm, console,
    )  # fmt: skip
    known = {tag.fact.fact_id for tag in tags}
    for path, decisions in zip(merge or (), said, strict=True):
        if not known & decisions.keys():
            raise InputError("has no decision on any of these facts", file=path)
    kept = out or what
    document = what if tags.of_document else None
    with Journal(kept.with_name(f"{kept.name}.review.jsonl")) as journal:
        before = merged(earlier, latest(journal.decisions))
        for decisions in said:
            before = merged(before, {i: d for i, d in decisions.items() if i in known})
        journal.append(d for i, d in before.items() if latest(journal.decisions).get(i) != d)
        if out is not None and out.suffix.lower() in (".html", ".htm", ".json"):
            _write(out, tags, document, before)
        elif not serve:
            from ..tagging.review.out import write_reviewed

            write_reviewed(out or kept, tags, before)
        else:
            _serve(tags, document, journal, out, port, console)
            return
    written = out or kept
    console.print(f"{len(tags):,} facts, {len(before):,} decided: {written}", markup=False, highlight=False)


def _check(what: Path, out: Path | None, serve: bool) -> None:
    from ..retrievers.errors import InputError
    from ..retrievers.files import check_out

    endings = (".csv", ".xlsx", ".html", ".htm", ".json")
    if out is not None and out.suffix.lower() not in endings:
        raise InputError(f"a review is written as {', '.join(endings)}", file=out)
    if out is None and not serve:
        raise InputError("--no-serve writes a file: name it with --out")
    check_out(out)
    if out is not None and os.path.realpath(out) == os.path.realpath(what):
        raise InputError("is what is reviewed: write to another file", file=out)
    check_out((out or what).with_name(f"{(out or what).name}.review.jsonl"))


def _tags(
    what: Path,
    taxonomy: str | None,
    program: str | None,
    precedents: list[Path],
    scope: Scope | None,
    contexts: Path | None,
    mentions: Path | None,
    schema: str | None,
    data: str | None,
    company: str | None,
    calibration: Path | None,
    skip_bad: bool,
    lm: Path | None,
    console: Console,
) -> Tags:
    from ..retrievers.errors import InputError
    from ..tagging.review.coded import tags_of_note
    from ..tagging.review.written import is_tags_file, tags_of_file
    from ..tagging.tagger import Tagger
    from .progress import count_bar

    if mentions is None and what.suffix.lower() == ".txt":
        raise InputError("a note is reviewed with its mentions: give --mentions FILE", file=what)
    if mentions is not None and taxonomy is None:
        raise InputError("--mentions needs the release to code in: give --taxonomy icd10cm-2018")
    with Tagger(
        taxonomy or TAXONOMY,
        program,
        precedents,
        None if scope is None else scope.value,
        schema,
        lm=lm,
        data=data,
        calibration=calibration,
        company=company,
    ) as tagger:
        if mentions is not None:
            codes = tagger.code_note(what, mentions)
            return tags_of_note(codes, what, codes.program)
        if is_tags_file(what):
            return tags_of_file(what, tagger.taxonomy)
        with count_bar(console) as bar:
            return tagger.tag(
                what, partial(bar, "tagging"), contexts=contexts, skip_bad=skip_bad, traces=True
            )


def _write(out: Path, tags: Tags, document: Path | None, decisions: Mapping[str, Decision]) -> None:
    from ..retrievers.files import write_bytes, write_text

    if out.suffix.lower() == ".json":
        import orjson

        from ..tagging.review.labelstudio import CONFIG, tasks

        write_bytes(out, orjson.dumps(tasks(tags, decisions), option=orjson.OPT_INDENT_2))
        write_text(out.with_suffix(".xml"), CONFIG)
        return
    from ..tagging.review.sheet import review_html

    write_text(out, review_html(tags, document, decisions.values()))


def _serve(
    tags: Tags, document: Path | None, journal: Journal, out: Path | None, port: int, console: Console
) -> None:
    from ..retrievers.errors import InputError
    from ..tagging.review.served import ServedReview
    from .terminal import Console

    notes = Console(stderr=True)

    def problem(line: str) -> None:
        notes.print(line, markup=False, highlight=False, soft_wrap=True)

    try:
        served = ServedReview(tags, document, journal, out, port, problem)
    except OSError as e:
        raise InputError(f"port {port} cannot be used: {e.strerror}", field="--port") from e
    with served:
        saved = f", reviewed tags in {out}" if out is not None else ""
        console.print(
            f"{len(tags):,} facts: decisions in {journal.path}{saved}", markup=False, highlight=False
        )
        console.print(
            f"Open {served.server.url}   (Ctrl-C ends)", markup=False, highlight=False, soft_wrap=True
        )
        with suppress(KeyboardInterrupt):  # Ctrl-C is how a review ends
            while True:
                time.sleep(3600)
    decided = sum(d.state not in ("open", "suggested") for d in served.decisions.values())
    console.print(f"{decided:,} of {len(tags):,} facts are decided", markup=False, highlight=False)
