"""``abduce data build corpus``: documents to passages of about 1,000 characters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def corpus(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE...",
            help="Documents: JSONL, CSV, TSV or Parquet with id, title and content; text files; or folders "
            "of text files (.txt, .md).",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Write the passages here (.jsonl or .jsonl.gz).")],
    size: Annotated[int, typer.Option(min=50, help="The most characters per passage.")] = 1000,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip bad documents and count them.")] = False,
) -> None:
    """Cut documents into passages that end at sentence ends, with title and source kept.

    Examples:

        abduce data build corpus book.txt notes/ --out passages.jsonl.gz

        abduce data build corpus articles.jsonl --size 800 --out passages.jsonl
    """
    from ..data.build.corpus import build_corpus
    from .terminal import Console

    built = build_corpus(sources, out, size, skip_bad=skip_bad)
    notes = Console(stderr=True)
    for problem in built.bad:
        notes.print(f"skipped: {problem}", markup=False, highlight=False, soft_wrap=True)
    mean = built.characters / built.passages
    Console().print(
        f"{built.documents:,} documents, {built.passages:,} passages of {mean:,.0f} characters on average, "
        f"{len(built.bad)} skipped: {out}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
