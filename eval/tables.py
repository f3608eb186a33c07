"""One table as Markdown, LaTeX, CSV and HTML (tabulate lays it out).

Besides its value, a cell can have an interval or a deviation over seeds, the paper's reference, and a mark
for a significant difference to the baseline.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ..retrievers.files import csv_text

Mark = Literal["", "+", "-"]
"""``+``: significantly above the baseline; ``-``: significantly below it."""


@dataclass(frozen=True)
class TableCell:
    """A number with its additions.

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


Value = TableCell | str | int | float | None


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

    def part(self, columns: Sequence[int]) -> Table:
        """The table with some of its columns, by position."""
        body = [[row[c] for c in columns] for row in self.rows]
        return replace(self, columns=[self.columns[c] for c in columns], rows=body)

    def markdown(self) -> str:
        """A GitHub table; title above, notes below."""
        parts = [f"**{_md(self.title)}**"] if self.title else []
        parts += [self._laid_out("pipe", MARKDOWN), *map(_md, self.notes)]
        return "\n\n".join(parts) + "\n"

    def latex(self) -> str:
        """A ``table`` environment in booktabs style (``\\usepackage{booktabs}``)."""
        body = self._laid_out("latex_raw", LATEX)
        for rule in ("toprule", "midrule", "bottomrule"):
            body = body.replace("\\hline", f"\\{rule}", 1)
        caption = " ".join(_tex(t) for t in (self.title, *self.notes) if t)
        lines = ["\\begin{table}", "\\centering", body, *([f"\\caption{{{caption}}}"] if caption else [])]
        return "\n".join([*lines, "\\end{table}"]) + "\n"

    def _laid_out(self, layout: str, style: TextStyle) -> str:
        from tabulate import tabulate

        text: str = tabulate(
            [[shown(v, style) for v in row] for row in self.rows],
            [style.text(c) for c in self.columns],
            tablefmt=layout,
            colalign=["left", *["right"] * (len(self.columns) - 1)] if self.rows else None,
            disable_numparse=True,
        )
        return text

    def csv(self) -> str:
        """Full precision, one column per figure: ``R@1``, and if present ``R@1 low``, ``R@1 high``, ``R@1
        sd``, ``R@1 reference`` and ``R@1 mark``.
        """
        parts = [[p for p in _PARTS if self._has(i, p)] for i in range(len(self.columns))]
        pairs = zip(self.columns, parts, strict=True)
        heads = [h for column, ps in pairs for h in (column, *(f"{column} {p}" for p in ps))]
        lines = []
        for row in self.rows:
            line: list[object] = []
            for value, ps in zip(row, parts, strict=True):
                cell = value if isinstance(value, TableCell) else None
                line.append(_blank(cell.value if cell else value))
                line += [_blank(getattr(cell, p, None)) for p in ps]
            lines.append(line)
        return csv_text(heads, lines)

    def html(self) -> str:
        """A plain HTML table for notebooks."""
        title = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        notes = "".join(f"<p>{html.escape(n)}</p>" for n in self.notes)
        return self._laid_out("unsafehtml", HTML).replace("<table>", f"<table>{title}", 1) + notes

    def _repr_html_(self) -> str:
        return self.html()

    def __str__(self) -> str:
        return self.markdown()

    def _has(self, column: int, part: str) -> bool:
        cells = (row[column] for row in self.rows)
        return any(isinstance(c, TableCell) and getattr(c, part) not in (None, "") for c in cells)


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
class TextStyle:
    """How one output format writes text (escaped), bold, marks, deviations and references."""

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


MARKDOWN = TextStyle(_md, "**{}**".format, " ▲", " ▼", "±", " ({})".format)
LATEX = TextStyle(
    _tex, "\\textbf{{{}}}".format, "$^{\\uparrow}$", "$^{\\downarrow}$", "$\\pm$", " ({})".format
)
HTML = TextStyle(html.escape, "<b>{}</b>".format, " ▲", " ▼", "±", " <small>({})</small>".format)


def shown(value: Value, style: TextStyle, break_: str = " ") -> str:
    """A value in a style, with ``break_`` before its additions."""
    if isinstance(value, str):
        return style.text(value)
    if not isinstance(value, TableCell):
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
