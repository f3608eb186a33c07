"""Print untrusted text."""

from __future__ import annotations

import typer

from ..signatures.outside import plain


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text without anything that could control the terminal."""
    typer.echo(plain(text), err=err, nl=nl)
