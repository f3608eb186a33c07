"""Printing a text as it stands."""

from __future__ import annotations

import typer

from ..signatures.outside import plain


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text as it stands, without anything that could steer a terminal."""
    typer.echo(plain(text), err=err, nl=nl)
