"""``abduce report``: the tables, analyses and plots of a finished run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .say import say

if TYPE_CHECKING:
    from ..eval.runs.run import Run
    from ..eval.tables import Table


def report(
    run: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN_DIR",
            help="A run folder; TREC run files, with --qrels; or a file of published answers.",
        ),
    ],
    baseline: Annotated[
        str | None, typer.Option(help="Compare the others with this row instead of the run's baseline.")
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Break down by this field; repeatable. Default: all.")
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(help="Measure of the breakdowns: MRR, Acc, or any of ir-measures (nDCG@10)."),
    ] = None,
    intervals: Annotated[bool, typer.Option("--intervals", help="Show 95% intervals in the table.")] = False,
    format_: Annotated[
        str, typer.Option("--format", help="Output format: terminal, markdown, latex or csv.")
    ] = "terminal",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for tables and plots; for a single run default RUN_DIR/report."),
    ] = None,
    plots: Annotated[bool, typer.Option(help="Write plots (SVG and PNG; needs abduce[report]).")] = True,
    values: Annotated[
        Path | None, typer.Option(help="Also write per-example values, to this .csv or .parquet.")
    ] = None,
    trec: Annotated[
        Path | None, typer.Option(help="Also write runs and qrels in TREC format, to this folder.")
    ] = None,
    qrels: Annotated[Path | None, typer.Option(help="TREC qrels of the TREC run files.")] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write only one self-contained page for a browser.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Data folder with the page's sources; default as for abduce eval.")
    ] = None,
    choose: Annotated[
        bool,
        typer.Option(
            "--choose",
            help="Published answers: choose per question with or without retrieval, with confidence.",
        ),
    ] = False,
) -> None:
    """Print the tables of a run, and write them and plots to a folder.

    Examples:

        abduce report runs/no-model

        abduce report runs/no-model --baseline direct --by modality --format latex

        abduce report runs/no-model --values values.parquet --trec trec

        abduce report runs/qwen3-8b runs/qwen3-32b --out both

        abduce report bm25.trec mine.trec --qrels qrels.trec

        abduce report predictions_openai.jsonl.gz --choose

        abduce report runs/before runs/after --html changes.html
    """
    from ..eval.report.report import FORMATS, load_run, report_tables, write_tables
    from ..eval.runs.export import read_trec, write_trec, write_values
    from ..eval.runs.joining import joined
    from ..retrievers.errors import InputError, MissingExtra
    from ..retrievers.files import check_out
    from .pages.tables import drawn
    from .terminal import Console

    console, notes = Console(), Console(stderr=True)

    def note(line: str) -> None:
        notes.print(line, markup=False, highlight=False, soft_wrap=True)

    def show(table: Table) -> None:
        if format_ == "terminal":
            console.print(drawn(table))
        else:
            say(FORMATS[format_][1](table))

    check_out(html, (".html", ".htm"))
    check_out(values)
    for folder in (out, trec):
        check_out(folder, folder=True)
    if format_ not in ("terminal", *FORMATS):
        raise InputError(f"{format_!r} is none of terminal, {', '.join(FORMATS)}", field="format")
    if len(run) == 1 and qrels is None and os.path.isfile(run[0]):
        from ..eval.report.choosing import choice_tables
        from ..eval.report.published import predictions_report

        for table in choice_tables(run[0]) if choose else [predictions_report(run[0])]:
            show(table)
        return
    if choose:
        raise InputError("needs a file of published answers", field="choose")
    measures = [measure] if measure else []
    if qrels is not None:
        found = read_trec(run, qrels, measures)
    elif len(run) > 1:
        found = joined([load_run(folder, measures) for folder in run])
    else:
        found = load_run(run[0], measures)
        out = out or run[0] / "report"
    if html is not None:
        _write_page(found, baseline, html, data)
        return
    tables = report_tables(found, baseline=baseline, by=by, measure=measure, intervals=intervals)
    for table in tables:
        show(table)
    written: list[Path] = []
    if out is not None:
        written += write_tables(tables, out)
        if plots:
            from ..eval.report.plots import write_plots

            try:
                written += write_plots(found, out, by)
            except MissingExtra as e:
                note(f"no plots: {e}")
    if values is not None:
        write_values(found, values)
        written.append(values)
    if trec is not None:
        written += write_trec(found, trec)
    if written:
        folders = ", ".join(sorted({str(p.parent) for p in written}))
        note(f"{len(written)} files written to {folders}")


def _write_page(found: Run, baseline: str | None, html: Path, data: str | None) -> None:
    from ..data.folder import DataFolder
    from ..eval.report.page import report_html
    from ..eval.report.sources import find_sources
    from ..retrievers.files import write_text

    sources = find_sources(found, DataFolder.find(data))
    write_text(html, report_html(found, sources, baseline))
    say(f"{html}: {html.stat().st_size / 1e6:.1f} MB")
