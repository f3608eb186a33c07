"""``abduce index build|info|verify``: stored index folders, which experiments open at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .say import say

app = typer.Typer(
    name="index",
    help="Index folders: build, show, verify.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def build(
    source: Annotated[
        str,
        typer.Argument(
            help="finance or clinical (as in experiments), us-gaap-2024 or icd10cm-2018 (whole), "
            "a corpus (medical, disease-ontology), or your own file."
        ),
    ],
    out: Annotated[
        Path, typer.Argument(help="The index folder to write (milvus: a .db file or an address).")
    ],
    kind: Annotated[str, typer.Option(help="bm25, dense or milvus.")] = "bm25",
    passages: Annotated[
        bool, typer.Option("--passages", help="The file has passages (id, title, content), not concepts.")
    ] = False,
    data: Annotated[Path | None, typer.Option(help="Data folder; default: the bundled data.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting as in \\[retriever], KEY=VALUE; repeatable."),
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace an existing index.")] = False,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=HEADING", help="What your file of concepts calls it, as id=code."),
    ] = None,
) -> None:
    """Build an index folder. An experiment opens it with `[retriever] index = "FOLDER"`.

    Examples:

        abduce index build finance us-gaap.index

        abduce index build my-taxonomy.csv my.index --set b=0.4 --set k1=0.9

        abduce index build medical medical.index --kind dense --set preset=medcpt
    """
    import time

    from ..data.build.index import build_index
    from ..data.columns import Columns

    start = time.perf_counter()
    names = Columns.parse(column or []).names
    lines = build_index(source, out, kind, passages, data, set_ or [], overwrite, names)
    for line in lines:
        say(line)
    say(f"done in {time.perf_counter() - start:.1f} s")


@app.command()
def info(
    folder: Annotated[Path, typer.Argument(help="An index folder.")],
    json_: Annotated[bool, typer.Option("--json", help="The whole manifest as JSON.")] = False,
) -> None:
    """Describe an index folder. Only its manifest is read.

    Examples:

        abduce index info us-gaap.index

        abduce index info us-gaap.index --json
    """
    import json

    from ..data.build.index import summary
    from ..retrievers.store import read_manifest

    manifest = read_manifest(folder)
    if json_:
        say(json.dumps(manifest, indent=1, ensure_ascii=False))
        return
    for name, value in summary(manifest):
        say(f"{name:<12}{value}")


@app.command()
def verify(folder: Annotated[Path, typer.Argument(help="An index folder.")]) -> None:
    """Check every file of an index folder against its hash; exit code 1 if one does not match.

    Example:

        abduce index verify us-gaap.index
    """
    from ..retrievers.store import read_manifest
    from ..retrievers.store import verify as check

    problems = check(folder)
    for problem in problems:
        say(f"abduce: {problem}", err=True)
    if problems:
        raise typer.Exit(1)
    files = read_manifest(folder)["files"]
    total = sum(about["bytes"] for about in files.values())
    say(f"{folder}: {len(files)} files, {total / 1e6:,.1f} MB, every hash matches")
