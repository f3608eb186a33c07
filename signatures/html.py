"""Small HTML for notebooks; whatever stands in it is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

MOST_ROWS = 20
"""Rows of a table that a notebook shows."""


def html_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "", size: int | None = None
) -> str:
    """A table of the first rows, with a line below that says how many more there are.

    Args:
        columns: heads.
        rows: numbers are written with three decimals, None as nothing.
        title: stands above; empty: none.
        size: how many rows there are in all; None: those that are given.
    """
    shown = list(islice(rows, MOST_ROWS if size is not None else None))
    more = (size or len(shown)) - len(shown[:MOST_ROWS])
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    head = "".join(f"<th>{escape(c)}</th>" for c in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_text(v))}</td>' for v in row)}</tr>" for row in shown[:MOST_ROWS]
    )
    rest = f"<p>and {more:,} more</p>" if more > 0 else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def html_line(text: str) -> str:
    """A paragraph."""
    return f"<p>{escape(text)}</p>"


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return "" if value is None else str(value)
