"""Tables of :mod:`abduce.eval.tables` in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from ...eval.tables import Table, TextStyle, shown

BETWEEN = 2
"""Spaces behind a column."""

TERMINAL = TextStyle(
    escape,
    "[bold]{}[/bold]".format,
    "[green]▲[/green]",
    "[red]▼[/red]",
    "±",
    " [dim]({})[/dim]".format,
)


def drawn(table: Table) -> RenderableType:
    """A table for ``console.print``. If a line per row is too wide for the terminal, additions to a value
    (interval, reference) move to a line below it, then names are wrapped, then the remaining columns continue
    in a second table. No column is lost.
    """
    return _Fitted(table)


@dataclass(frozen=True)
class _Fitted:
    """A table whose layout is chosen when the terminal's width is known."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        def width(table: Table, break_: str) -> Measurement:
            return Measurement.get(console, options.update(max_width=10_000), _laid_out(table, break_))

        if width(self.table, " ").maximum <= options.max_width:
            yield _laid_out(self.table, " ")
            return
        room = options.max_width - 1  # a line has a space at its begin
        parts: list[list[int]] = [[]]
        for column in range(1, len(self.table.columns)):
            wider = self.table.part([0, *parts[-1], column])
            if parts[-1] and sum(low for low, _ in _needs(wider)) + BETWEEN * len(wider.columns) > room:
                parts.append([])
            parts[-1].append(column)
        for i, part in enumerate(parts):
            table = self.table.part([0, *part])
            title = self.table.title if i == 0 else ""
            notes = self.table.notes if i == len(parts) - 1 else ()
            if title:
                yield Text(title, "italic")
            yield _laid_out(replace(table, title="", notes=()), "\n", _widths(_needs(table), room))
            yield from (Text(note, "italic dim") for note in notes)


def _needs(table: Table) -> list[tuple[int, int]]:
    """Per column, the length of its longest word (row names may be folded after 20 letters, others after 9)
    and of its longest line.
    """
    found = []
    for i, column in enumerate(table.columns):
        cells = [column, *(Text.from_markup(shown(row[i], TERMINAL, "\n")).plain for row in table.rows)]
        word = max((len(w) for text in cells for w in text.split()), default=1)
        line = max(len(x) for text in cells for x in (text.splitlines() or [""]))
        found.append((min(word, 9 if i else 20), line))
    return found


def _widths(needs: list[tuple[int, int]], room: int) -> list[int]:
    """The width of each column: its minimum, and then, from the left, as much as its lines fill."""
    left = room - sum(low for low, _ in needs) - BETWEEN * len(needs)
    widths = []
    for low, high in needs:
        more = max(0, min(left, high - low))
        widths.append(low + more)
        left -= more
    return widths


def _laid_out(given: Table, break_: str, widths: Sequence[int] = ()) -> RichTable:
    """The table with ``break_`` between a value and its additions."""
    table = RichTable(
        title=escape(given.title) or None,
        caption="\n".join(escape(n) for n in given.notes) or None,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    body = [[shown(v, TERMINAL, break_) for v in row] for row in given.rows]
    for i, column in enumerate(given.columns):
        table.add_column(
            escape(column),
            justify="left" if i == 0 else "right",
            width=widths[i] if widths else None,
            overflow="fold",
        )
    for row in body:
        table.add_row(*row)
    return table
