"""Tables of :mod:`abduce.eval.tables` in the terminal."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from ...eval.tables import Style, Table, shown

TERMINAL = Style(
    escape,
    "[bold]{}[/bold]".format,
    "[green]▲[/green]",
    "[red]▼[/red]",
    "±",
    " [dim]({})[/dim]".format,
)


def drawn(table: Table) -> RenderableType:
    """For ``console.print``. Where the terminal is too narrow for a line per row, what belongs to a value
    (interval, reference) moves to a line of its own below it; then names are wrapped, and what still does not
    fit goes on in a table of its own: no column is lost."""
    return _Fitted(table)


@dataclass(frozen=True)
class _Fitted:
    """A table that is laid out when the terminal's width is known."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        def width(table: Table, break_: str) -> Measurement:
            return Measurement.get(console, options.update(max_width=10_000), _laid_out(table, break_))

        if width(self.table, " ").maximum <= options.max_width:
            yield _laid_out(self.table, " ")
            return
        parts: list[list[int]] = [[]]
        for column in range(1, len(self.table.columns)):
            wider = self.table.part([0, *parts[-1], column])
            if parts[-1] and width(wider, "\n").minimum > options.max_width:
                parts.append([])
            parts[-1].append(column)
        for i, part in enumerate(parts):
            table = self.table.part([0, *part])
            title = self.table.title if i == 0 else ""
            notes = self.table.notes if i == len(parts) - 1 else ()
            yield _laid_out(replace(table, title=title, notes=notes), "\n")


def _laid_out(given: Table, break_: str) -> RichTable:
    """The table with ``break_`` between a value and what belongs to it."""
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
        cells = [escape(column), *(row[i] for row in body)]
        words = [w for text in cells for w in Text.from_markup(text).plain.split()]
        table.add_column(
            escape(column),
            justify="left" if i == 0 else "right",
            min_width=min(max(map(len, words), default=1), 16 if i == 0 else 9),
            overflow="fold",
        )
    for row in body:
        table.add_row(*row)
    return table
