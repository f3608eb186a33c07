"""The command line. Each command has its own file in ``cli``; heavy imports wait until one runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..retrievers.errors import InputError
from ..version import __version__
from .ask import ask
from .calibrate import calibrate
from .data import app as data
from .eval import evaluate
from .index import app as index
from .judge import judge
from .lm import lm
from .notes import show_log
from .optimize import optimize
from .report import report
from .review import review
from .say import say
from .serve import serve
from .tag import tag
from .train import train

app = typer.Typer(
    name="abduce",
    help="Retrieval-ready queries from explicit hypotheses about what the evidence means.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"abduce {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Retrieval-ready queries from explicit hypotheses about what the evidence means."""
    show_log()


app.command("eval")(evaluate)
app.command("tag")(tag)
app.command("train")(train)
app.command("report")(report)
app.command("review")(review)
app.command("optimize")(optimize)
app.command("ask")(ask)
app.command("judge")(judge)
app.command("calibrate")(calibrate)
app.add_typer(data, name="data")
app.add_typer(index, name="index")
app.add_typer(lm, name="lm")
app.command("serve")(serve)


def main() -> None:
    """Run the command line. Bad input gives one line on standard error and exit code 2. A model that cannot
    be reached, or refuses a request, gives one line and exit code 1.
    """
    try:
        app()
    except InputError as e:
        say(f"abduce: {e}", err=True)
        sys.exit(2)
    except Exception as e:
        if not _of_a_model(e):
            raise
        say(f"abduce: {e}", err=True)
        sys.exit(1)


def _of_a_model(error: Exception) -> bool:
    """Whether a model could not be reached or refused the request; this check does not import DSPy."""
    errors = sys.modules.get("dspy.utils.exceptions")
    return errors is not None and isinstance(error, errors.LMError)


if __name__ == "__main__":
    main()
