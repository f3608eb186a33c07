"""An HTML table element as a :class:`~.grid.Grid`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Any

from .flatten import attribute, flatten, indent_of, is_hidden, name_of
from .grid import Grid, GridBuilder
from .tablerun import MAX_ROWS, Part

_DIGITS = re.compile(r"\d+")
_PERCENT = re.compile(
    r"(?:^|[;\s])width\s*:\s*(\d{1,3}(?:\.\d{0,9})?)\s*%|^\s*(\d{1,3}(?:\.\d{0,9})?)\s*%", re.IGNORECASE
)
_BOLD = re.compile(r"font-weight\s*:\s*(bold|[6-9]00)", re.IGNORECASE)


def table_part(table: Any, what: str, caption: str) -> Part:
    """A table with its column positions, if it is short and states them (it may be one row of another
    table).
    """
    grid = table_grid(table, what)
    rows = [row for row in _rows(table) if not is_hidden(row)]
    edges = _edges(table, rows) if len(rows) <= MAX_ROWS else ()
    return Part(grid, caption, edges)


def _edges(table: Any, rows: list[Any]) -> tuple[float, ...]:
    """Start and end of a table's columns, in percent of its width; empty if not stated."""
    cells = [c for c in rows[0] if name_of(c) in ("td", "th")] if rows else []
    columns = [c for c in table if name_of(c) in ("colgroup", "col")]
    for elements in (cells, columns, [c for group in columns for c in group]):
        if any(_span(e, "colspan") > 1 or _span(e, "span") > 1 for e in elements):
            continue
        widths = [_width(e) for e in elements]
        if widths and all(widths) and 95 <= sum(widths) <= 105:
            return tuple(accumulate(widths, initial=0.0))
    return ()


def _width(element: Any) -> float:
    for text in (element.get("style") or "", f"width:{attribute(element, 'width')}"):
        if match := _PERCENT.search(text):
            return float(match[1] or match[2])
    return 0.0


def table_grid(table: Any, what: str = "the table") -> Grid:
    """The grid of a table, without hidden rows and nested tables."""
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
                indent_of(cell) + 4.0 * flat.lead if flat.text else 0.0,
                name_of(cell) == "th" or _bold(cell.get("style") or ""),
                flat.marks,
            )
    return builder.build()


@lru_cache(maxsize=4096)
def _bold(style: str) -> bool:
    return _BOLD.search(style) is not None


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
