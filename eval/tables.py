"""One table, five renderings: terminal (rich), Markdown, LaTeX, CSV and HTML.

A cell can carry, beside its value, an interval or a deviation over seeds, the paper's reference and a
mark for a significant difference to the baseline.
"""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table as RichTable

Mark = Literal["", "+", "-"]
"""``+``: significantly above the baseline; ``-``: significantly below it."""


@dataclass(frozen=True)
class Cell:
    """A number with what belongs to it.

    ``low`` and ``high`` bound its interval, ``sd`` is the deviation over seeds, ``reference`` is the
    paper's number, ``best`` sets it in bold, and ``digits`` are its decimals (None: a whole number or as
    it is).
    """

    value: float | None
    digits: int | None = 3
    low: float | None = None
    high: float | None = None
    sd: float | None = None
    reference: float | None = None
    mark: Mark = ""
    best: bool = False


Value = Cell | str | int | float | None


@dataclass(frozen=True)
class Table:
    """Rows under named columns. ``notes`` are printed below; the first column is left-aligned."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]
    title: str = ""
    notes: Sequence[str] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} cells under {len(self.columns)} columns")

    def rich(self) -> RenderableType:
        """For the terminal: ``console.print(table.rich())``. Where the terminal is too narrow for a line a
        row, what belongs to a value (interval, reference) moves to a line of its own below it; then
        names are wrapped, and what still does not fit goes on in a table of its own: no column is lost."""
        return _Fitted(self)

    def part(self, columns: Sequence[int]) -> Table:
        """The table with some of its columns, by their place."""
        body = [[row[c] for c in columns] for row in self.rows]
        return replace(self, columns=[self.columns[c] for c in columns], rows=body)

    def _rich(self, break_: str) -> RichTable:
        """The table with ``break_`` between a value and what belongs to it."""
        from rich import box
        from rich.markup import escape
        from rich.table import Table as RichTable
        from rich.text import Text

        caption = "\n".join(escape(n) for n in self.notes) or None
        table = RichTable(
            title=escape(self.title) or None,
            caption=caption,
            title_justify="left",
            caption_justify="left",
            box=box.SIMPLE_HEAD,
            padding=(0, 1, 0, 0),
        )
        body = [[_text(v, _RICH, break_) for v in row] for row in self.rows]
        for i, column in enumerate(self.columns):
            shown = [escape(column), *(row[i] for row in body)]
            words = [w for text in shown for w in Text.from_markup(text).plain.split()]
            longest = max(map(len, words), default=1)
            table.add_column(
                escape(column),
                justify="left" if i == 0 else "right",
                min_width=min(longest, 16 if i == 0 else 9),
                overflow="fold",
            )
        for row in body:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        """A GitHub table; title above, notes below."""
        lines = [f"**{_md(self.title)}**", ""] if self.title else []
        lines.append("| " + " | ".join(map(_md, self.columns)) + " |")
        lines.append("|" + "|".join(["---"] + ["---:"] * (len(self.columns) - 1)) + "|")
        lines += ["| " + " | ".join(_text(v, _MARKDOWN) for v in row) + " |" for row in self.rows]
        for note in self.notes:
            lines += ["", _md(note)]
        return "\n".join(lines) + "\n"

    def latex(self) -> str:
        """A ``table`` environment in booktabs style (``\\usepackage{booktabs}``)."""
        lines = ["\\begin{table}", "\\centering", "\\begin{tabular}{l" + "r" * (len(self.columns) - 1) + "}"]
        lines += ["\\toprule", " & ".join(map(_tex, self.columns)) + " \\\\", "\\midrule"]
        lines += [" & ".join(_text(v, _LATEX) for v in row) + " \\\\" for row in self.rows]
        lines += ["\\bottomrule", "\\end{tabular}"]
        caption = " ".join(_tex(t) for t in (self.title, *self.notes) if t)
        if caption:
            lines.append(f"\\caption{{{caption}}}")
        return "\n".join([*lines, "\\end{table}"]) + "\n"

    def csv(self) -> str:
        """Full precision, one column a figure: ``R@1``, and where they occur ``R@1 low``, ``R@1 high``,
        ``R@1 sd``, ``R@1 reference`` and ``R@1 mark``."""
        parts = [[p for p in _PARTS if self._has(i, p)] for i in range(len(self.columns))]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        heads = zip(self.columns, parts, strict=True)
        writer.writerow([h for column, ps in heads for h in (column, *(f"{column} {p}" for p in ps))])
        for row in self.rows:
            line: list[object] = []
            for value, ps in zip(row, parts, strict=True):
                cell = value if isinstance(value, Cell) else None
                line.append(_blank(cell.value if cell else value))
                line += [_blank(getattr(cell, p, None)) for p in ps]
            writer.writerow(line)
        return out.getvalue()

    def html(self) -> str:
        """A plain HTML table, as notebooks show it."""
        head = "".join(f"<th>{html.escape(c)}</th>" for c in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{_text(v, _HTML)}</td>" for v in row) + "</tr>" for row in self.rows
        )
        title = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        notes = "".join(f"<p>{html.escape(n)}</p>" for n in self.notes)
        return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"

    def _repr_html_(self) -> str:
        return self.html()

    def __str__(self) -> str:
        return self.markdown()

    def _has(self, column: int, part: str) -> bool:
        cells = (row[column] for row in self.rows)
        return any(isinstance(c, Cell) and getattr(c, part) not in (None, "") for c in cells)


@dataclass(frozen=True)
class _Fitted:
    """A table that is laid out when the terminal's width is known."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.measure import Measurement

        def width(table: Table, break_: str) -> Measurement:
            return Measurement.get(console, options.update(max_width=10_000), table._rich(break_))

        if width(self.table, " ").maximum <= options.max_width:
            yield self.table._rich(" ")
            return
        # Too wide even with what belongs to a value below it: the columns go on in a table of their own.
        columns = list(range(1, len(self.table.columns)))
        parts: list[list[int]] = [[]]
        for column in columns:
            wider = self.table.part([0, *parts[-1], column])
            if parts[-1] and width(wider, "\n").minimum > options.max_width:
                parts.append([])
            parts[-1].append(column)
        for i, part in enumerate(parts):
            first, last = i == 0, i == len(parts) - 1
            table = self.table.part([0, *part])
            yield replace(
                table, title=self.table.title if first else "", notes=self.table.notes if last else ()
            )._rich("\n")


_PARTS = ("low", "high", "sd", "reference", "mark")


def number(value: float | None, digits: int | None = 3) -> str:
    """A figure as the papers print it: ``.257``, ``1.000``, ``-.012``, ``2,144``; an empty text for None
    or NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if digits is None:
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,g}"
    text = f"{value:,.{digits}f}"
    if float(text.replace(",", "")) == 0:
        text = text.lstrip("-")
    return re.sub(r"^(-?)0\.", r"\1.", text)


def p_value(p: float) -> str:
    """A p-value to three decimals, ``<.001`` below that; an empty text for NaN."""
    return "<.001" if p < 0.001 else number(p)


@dataclass(frozen=True)
class _Style:
    """How one rendering writes text, bold, marks, deviations and references."""

    text: Callable[[str], str]
    bold: Callable[[str], str]
    up: str
    down: str
    plus_minus: str
    reference: Callable[[str], str]


def _md(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("\n", " ")


_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_TEX |= {c: "\\" + c for c in "&%$#_{}"} | {"<": "$<$", ">": "$>$", "±": r"$\pm$", "▲": r"$\uparrow$"}
_TEX |= {"▼": r"$\downarrow$", "κ": r"$\kappa$", "β": r"$\beta$", "≥": r"$\geq$", "≤": r"$\leq$"}


def _tex(text: str) -> str:
    return "".join(_TEX.get(c, c) for c in text)


def _rich_text(text: str) -> str:
    from rich.markup import escape

    return escape(text)


_RICH = _Style(
    _rich_text,
    "[bold]{}[/bold]".format,
    "[green]▲[/green]",
    "[red]▼[/red]",
    "±",
    " [dim]({})[/dim]".format,
)
_MARKDOWN = _Style(_md, "**{}**".format, " ▲", " ▼", "±", " ({})".format)
_LATEX = _Style(_tex, "\\textbf{{{}}}".format, "$^{\\uparrow}$", "$^{\\downarrow}$", "$\\pm$", " ({})".format)
_HTML = _Style(html.escape, "<b>{}</b>".format, " ▲", " ▼", "±", " <small>({})</small>".format)


def _text(value: Value, style: _Style, break_: str = " ") -> str:
    if isinstance(value, str):
        return style.text(value)
    if not isinstance(value, Cell):
        return style.text(number(value, None if isinstance(value, int) else 3))
    body = style.text(number(value.value, value.digits))
    if body and value.best:
        body = style.bold(body)
    if value.sd is not None:
        body += style.plus_minus + number(value.sd, value.digits)
    parts = [body]
    if number(value.low) and number(value.high):
        parts.append(style.text(f"[{number(value.low, value.digits)}, {number(value.high, value.digits)}]"))
    parts[-1 if break_ == " " else 0] += {"+": style.up, "-": style.down, "": ""}[value.mark]
    if value.reference is not None:
        parts.append(style.reference(number(value.reference, value.digits)).strip())
    return break_.join(parts).strip()


def _blank(value: object) -> object:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value
