"""``abduce serve``: tagging, search and answers over HTTP, or as tools of the Model Context Protocol."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import DataOption
from .tag import TAXONOMY, Scope, retriever_settings

if TYPE_CHECKING:
    from ..serve.limits import Address
    from ..serve.recipe import Recipe

TOKEN = "ABDUCE_TOKEN"
"""The environment variable that holds the token, where no other is named."""


def serve(
    taxonomy: Annotated[
        str, typer.Option(help="A taxonomy's name, a JSONL or CSV file (id, label), or an index folder.")
    ] = TAXONOMY,
    program: Annotated[
        str | None, typer.Option(help="The program (a row's name); as for abduce tag.")
    ] = None,
    precedents: Annotated[
        list[Path] | None, typer.Option(metavar="PATH", help="Already-tagged facts; as for abduce tag.")
    ] = None,
    precedent_scope: Annotated[
        Scope | None, typer.Option(help="Whose already-tagged facts may be used: others or own.")
    ] = None,
    schema: Annotated[
        str | None, typer.Option(help="Dimension schema: a bundled name or a TOML file.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=HEADING", help="Column names of the taxonomy's file, such as id=code."),
    ] = None,
    retriever: Annotated[
        str | None, typer.Option(help="Retriever: bm25, minilm ..., or an index folder.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the retriever.")
    ] = None,
    calibration: Annotated[Path | None, typer.Option(help="Calibration file, for confidence.")] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A trained model, for the trained rows.")
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            help="Corpus for questions, as for abduce ask; default medical, if the data "
            "folder has it. Empty: no questions."
        ),
    ] = None,
    lm: Annotated[
        Path | None,
        typer.Option(
            help="TOML file with an \\[lm] table; default $ABDUCE_LM. Without a model, questions get "
            "evidence only."
        ),
    ] = None,
    data: DataOption = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any other than this machine's needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: a free one.")] = 8765,
    token_env: Annotated[
        str,
        typer.Option(metavar="NAME", help="Environment variable with the token for requests."),
    ] = TOKEN,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Number of processes.")] = 1,
    running: Annotated[
        int | None,
        typer.Option(min=1, help="Parallel requests per process; default 2, with a model 8."),
    ] = None,
    waiting: Annotated[
        int, typer.Option(min=0, help="Waiting requests per process; further ones get 503.")
    ] = 64,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds per request.")] = 60.0,
    upload_timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds for receiving the headers, and then the body.")
    ] = 10.0,
    max_body: Annotated[int, typer.Option(min=1, help="The most bytes of a request's body.")] = 8
    * 1024
    * 1024,
    max_facts: Annotated[int, typer.Option(min=1, help="The most facts per request.")] = 2_000,
    mcp: Annotated[
        bool,
        typer.Option("--mcp", help="Serve tools of the Model Context Protocol on standard input and output."),
    ] = False,
) -> None:
    """Tag, find concepts and answer questions for other programs: over HTTP, or as tools (--mcp).

    The results are those of abduce tag and abduce ask. POST /tag, /search and /ask take JSON, described in
    /openapi.json. Ctrl-C or SIGTERM stops the server after the running requests.

    Examples:

        abduce serve

        abduce serve --taxonomy my-concepts.csv --program locus --port 9000 --workers 2

        abduce serve --lm my-server.toml --corpus notes/

        ABDUCE_TOKEN=... abduce serve --host 0.0.0.0

        abduce serve --mcp
    """
    from ..data.columns import Columns
    from ..lm.options import chosen_lm
    from ..serve.limits import Address, Limits
    from ..serve.recipe import Recipe

    _check_extra("mcp" if mcp else "fastapi")
    table = chosen_lm(lm)
    limits = Limits(
        body=max_body,
        facts=max_facts,
        seconds=timeout,
        upload=upload_timeout,
        running=running or (2 if table is None else 8),
        waiting=waiting,
    )
    settings: dict[str, Any] = {
        "taxonomy": taxonomy,
        "program": program,
        "precedents": precedents or (),
        "scope": None if precedent_scope is None else precedent_scope.value,
        "schema": schema,
        "retriever": retriever_settings(retriever, set_ or []),
        "columns": Columns.parse(column or []).names,
        "calibration": calibration,
        "model": model,
    }
    recipe = Recipe(settings, table, corpus, data=data, limits=limits)
    if mcp:
        from ..serve.tools import run_tools

        service = recipe()
        _quiet()
        run_tools(service)
        return
    address = Address(host, port, os.environ.get(token_env, ""))
    _listen(recipe, address, workers)


def _check_extra(package: str) -> None:
    """Raise MissingExtra if the server packages are not installed."""
    from importlib.util import find_spec

    from ..retrievers.errors import MissingExtra

    if find_spec(package) is None:
        raise MissingExtra(package, "serve")


def _quiet() -> None:
    """From now on, print only warnings: notes on a request are in its answer."""
    import logging

    from .notes import show_log

    show_log(logging.WARNING)


def _listen(recipe: Recipe, address: Address, workers: int) -> None:
    from ..serve.listen import bound, serve
    from .notes import print_note

    socket = bound(address)
    service = recipe()  # what is wrong with the settings is said here, whoever answers later
    about = service.health()
    host = f"[{address.host}]" if ":" in address.host else address.host
    print_note(f"{about['taxonomy']}, program {about['program']}, corpus {about['corpus'] or 'none'}")
    print_note(f"listening at http://{host}:{socket.getsockname()[1]}  (Ctrl-C ends it)")
    _quiet()
    if workers == 1:
        serve(lambda: service, address, recipe.limits, socket)
    else:
        service.close()
        serve(recipe, address, recipe.limits, socket, workers)
    print_note("ended")
