"""``abduce tag --engine ray``: its options and its summary."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

LISTED = 5
"""Files that could not be read that are named."""


def tag_on_ray(
    sources: str | None,
    out: str | None,
    settings: Mapping[str, Any],
    top: int,
    actors: int | None,
    others: Mapping[str, object],
) -> float:
    """Tag many files; returns the share of facts on which the model failed.

    Raises:
        InputError: no files or no folder, or an option of ``others`` that this engine does not support.
        typer.Exit: no file could be read.
    """
    from ..retrievers.errors import InputError
    from ..tagging.on_ray import tag_on_ray as tag_all
    from .terminal import Console

    for name, given in others.items():
        if given:
            raise InputError(f"{name} is not for --engine ray")
    if sources is None or out is None:
        raise InputError('give files and a folder: abduce tag "FILES*" --engine ray --out FOLDER')
    console, notes = Console(), Console(stderr=True)
    everywhere = {name: _absolute(value) for name, value in settings.items()}
    done = tag_all(sources, out, everywhere, top=top, actors=actors, bars=console.is_terminal)
    console.print(f"{done.facts:,} facts tagged: {out}", markup=False, highlight=False)
    lines = [f"{done.failed:,} facts failed: {out.rstrip('/')}/_failures"] if done.failed else []
    if done.lost:
        lines.append(f"{done.lost:,} facts lack a part because a reply of the model was no use")
    if done.unread:
        lines.append(f"{len(done.unread):,} files could not be read:")
        lines += [f"  {why}" for why in list(done.unread.values())[:LISTED]]
    for line in lines:
        notes.print(line, markup=False, highlight=False, soft_wrap=True)
    if not done.facts:
        raise typer.Exit(2)
    return done.unusable


def _absolute(value: Any) -> Any:
    """Absolute paths, because actors start in another folder."""
    if isinstance(value, list | tuple):
        return [_absolute(v) for v in value]
    if isinstance(value, Path) or (isinstance(value, str) and Path(value).exists()):
        return str(Path(value).absolute())
    return value
