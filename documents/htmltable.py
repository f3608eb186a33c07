"""An HTML table element as a :class:`~.grid.Grid`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .flatten import attribute, flatten, indent_of, is_hidden, name_of
from .grid import Grid, GridBuilder

_DIGITS = re.compile(r"\d+")
_BOLD = re.compile(r"font-weight\s*:\s*(bold|[6-9]00)", re.IGNORECASE)


def table_grid(table: Any, what: str = "the table") -> Grid:
    """The grid of a table; rows that are not shown are left out, nested tables are not part of it."""
    builder = GridBuilder(what)
    for row in _rows(table):
        builder.row()
        if is_hidden(row):
            continue
        for cell in row:
            if name_of(cell) not in ("td", "th"):
                continue
            if is_hidden(cell):
                continue
            flat = flatten(cell)
            builder.cell(
                flat.text,
                _span(cell, "rowspan"),
                _span(cell, "colspan"),
                flat.plain,
                indent_of(cell) if flat.text else 0.0,
                name_of(cell) == "th" or bool(_BOLD.search(cell.get("style") or "")),
                flat.marks,
            )
    return builder.build()


def _rows(table: Any) -> Iterator[Any]:
    for child in table:
        name = name_of(child)
        if name == "tr":
            yield child
        elif name and name not in ("table", "td", "th", "caption", "colgroup"):
            yield from _rows(child)  # tbody, thead, tfoot, or an inline-XBRL wrapper around rows


def _span(cell: Any, name: str) -> int:
    match = _DIGITS.search(attribute(cell, name))
    return int(match[0][:6]) if match else 1
