"""Grids from plain rows of texts."""

from __future__ import annotations

from collections.abc import Sequence

from abduce.documents.grid import Grid, GridBuilder


def grid_of(rows: Sequence[Sequence[str]], what: str = "the table") -> Grid:
    """A grid from plain rows of texts; leading spaces of a row's first cell count as its indent."""
    builder = GridBuilder(what)
    for row in rows:
        builder.row()
        for i, text in enumerate(row):
            lead = len(text) - len(text.lstrip()) if i == 0 else 0
            builder.cell(" ".join(text.split()), indent=4.0 * lead)
    return builder.build()
