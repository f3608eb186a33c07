"""A source table's markup as plain cells, for pages that draw it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Cell = list[Any]
"""[text], or [text, columns, rows] where it spans more than one."""

MAX_SPAN = 1000


def cells_of(markup: str) -> list[list[Cell]] | None:
    """The rows of the first table in some markup, each a list of cells; None without a table.

    Only text and spans are kept: no other attribute, no element, no script.
    """
    from lxml import etree, html

    try:
        root = html.fragment_fromstring(markup, create_parent="div")
    except (etree.ParserError, ValueError):
        return None
    table = next(root.iter("table"), None)
    if table is None:
        return None
    return [[_cell(cell) for cell in row if cell.tag in ("td", "th")] for row in _rows(table)]


def _rows(table: Any) -> Iterator[Any]:
    """The rows of a table, not those of tables inside it."""
    for child in table:
        if child.tag == "tr":
            yield child
        elif child.tag in ("thead", "tbody", "tfoot"):
            yield from (row for row in child if row.tag == "tr")


def _cell(cell: Any) -> Cell:
    for hidden in [e for e in cell.iter("script", "style") if e.getparent() is not None]:
        hidden.drop_tree()
    text = " ".join("".join(cell.itertext()).split())
    columns, rows = _span(cell.get("colspan")), _span(cell.get("rowspan"))
    return [text] if columns == rows == 1 else [text, columns, rows]


def _span(value: str | None) -> int:
    digits = (value or "").strip()
    return min(max(int(digits), 1), MAX_SPAN) if digits.isascii() and digits.isdigit() else 1
