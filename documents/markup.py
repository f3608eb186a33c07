"""A table as bare markup, the source context of its facts."""

from __future__ import annotations

import html

from .grid import Grid


def markup(grid: Grid) -> str:
    """A bare ``<table>`` of a grid's visible cells; gaps become empty cells."""
    out = ["<table>"]
    for r, row in enumerate(grid.rows):
        if not row:
            continue
        out.append("<tr>")
        col = 0
        for cell in row:
            if cell.row != r:
                col = max(col, cell.end)
                continue
            if cell.col > col:
                out.append(_td("", cell.col - col, 1))
            out.append(_td(html.escape(cell.text, quote=False), cell.colspan, cell.rowspan))
            col = cell.end
        out.append("</tr>")
    out.append("</table>")
    return "".join(out)


def _td(text: str, colspan: int, rowspan: int) -> str:
    wide = f' colspan="{colspan}"' if colspan > 1 else ""
    tall = f' rowspan="{rowspan}"' if rowspan > 1 else ""
    return f"<td{wide}{tall}>{text}</td>"
