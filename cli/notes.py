"""Notes beside the results: abduce's log records as lines on standard error."""

from __future__ import annotations

import logging
import traceback

import typer


def print_note(line: str) -> None:
    """Print a note on standard error, in one line."""
    from .terminal import Console

    Console(stderr=True).print(f"note: {line}", markup=False, highlight=False, soft_wrap=True)


HALF = 0.5
"""The share of results for which a model may be of no use before a command leaves with 1."""


def end_if_unusable(share: float, allowed: bool, what: str, results: str) -> None:
    """Exit with code 1 if the model failed for more than half, unless this is ``allowed``.

    Args:
        share: of ``what`` ("facts") for which it failed, in [0, 1].
        results: the results that are then unreliable ("their tags").
    """
    if share > HALF and not allowed:
        print_note(
            f"most of the {what} failed or lack a reply of the model; "
            f"--allow-fallback takes {results} as they are"
        )
        raise typer.Exit(1)


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print_note(record.getMessage())
        if record.exc_info:
            typer.echo("".join(traceback.format_exception(*record.exc_info)), err=True, nl=False)


def show_log(level: int = logging.INFO) -> None:
    """Print abduce's log records at this level or above; details are logged at DEBUG."""
    log = logging.getLogger("abduce")
    log.setLevel(level)
    if not any(isinstance(handler, _Notes) for handler in log.handlers):
        log.addHandler(_Notes())
