"""The positions of facts in tables of cells and in texts, as nodes of a page (see ``view``)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..signatures.types import Fact
from .plain_cells import cells_of

Node = str | list[Any]
"""A text, or ``[tag, attributes, children]``."""

NUMBER = re.compile(r"\d(?:[\d.,]*\d)?")

Span = tuple[int, int, list[int]]
"""Where a figure begins and ends in a text, and which facts it is."""

Located = tuple[int, int, list[Any]]
"""Row, column, and the cell: its text, and its spans where there are any."""


def by_context(facts: Sequence[Fact]) -> list[list[int]]:
    """The numbers of facts that share a context, ordered by first occurrence of the context."""
    groups: dict[str, list[int]] = defaultdict(list)
    for i, fact in enumerate(facts):
        groups[fact.context.context_id].append(i)
    return list(groups.values())


def context_nodes(facts: Sequence[Fact], numbers: Iterable[int]) -> Iterator[Node]:
    """The tables and passages of some facts."""
    wanted = set(numbers)
    for group in by_context(facts):
        here = [i for i in group if i in wanted]
        if not here:
            continue
        context = facts[here[0]].context
        rows = cells_of(context.text) if context.modality == "table" else None
        if context.preceding_text:
            yield ["p", {}, [context.preceding_text]]
        if rows:
            yield _drawn(rows, here, facts)
        elif context.modality == "table":
            yield _listed(here, facts)
        else:
            yield ["p", {}, list(cut(context.text, sorted(_mention(facts[i], i) for i in here)))]


def _mention(fact: Fact, number: int) -> Span:
    return fact.mention_start or 0, fact.mention_end or 0, [number]


def _drawn(rows: Sequence[Sequence[list[Any]]], numbers: Sequence[int], facts: Sequence[Fact]) -> Node:
    """A table of plain cells with its facts; facts without a cell are listed below it."""
    cells = list(_located(rows))
    of = place_facts(cells, numbers, facts)
    drawn: list[Node] = []
    for r in range(len(rows)):
        line: list[Node] = []
        for row, col, (text, *spans) in cells:
            if row != r:
                continue
            attributes: dict[str, Any] = dict(zip("cr", spans, strict=False))
            found = of.get((row, col), [])
            children: list[Node] = [text] if text else []
            if len(found) == 1:
                attributes["f"] = found
            elif found:
                children = list(cut(text, in_order(text, found, facts)))
            elif NUMBER.search(text):
                attributes["n"] = 1
            line.append(["td", attributes, children])
        drawn.append(["tr", {}, line])
    left = [i for i in numbers if not any(i in found for found in of.values())]
    table: Node = ["table", {}, drawn]
    return ["div", {}, [table, _listed(left, facts)]] if left else table


def _listed(numbers: Sequence[int], facts: Sequence[Fact]) -> Node:
    """Facts of a missing table, one per row under their headers."""
    rows: list[Node] = []
    for i in numbers:
        fact = facts[i]
        headers = [["td", {}, [h or ""]] for h in (fact.row_header, fact.column_header)]
        rows.append(["tr", {}, [*headers, ["td", {"f": [i], "a": "r"}, [fact.value]]]])
    return ["table", {}, rows]


def _located(rows: Sequence[Sequence[list[Any]]]) -> Iterator[Located]:
    """(row, column, cell) of each cell, spans honoured."""
    taken: list[int] = []
    for r, row in enumerate(rows):
        col = 0
        for cell in row:
            _, columns, spanned = (*cell, 1, 1)[:3]
            col = free_column(taken, r, col)
            yield r, col, cell
            taken += [0] * (col + columns - len(taken))
            taken[col : col + columns] = [r + spanned] * columns
            col += columns


def place_facts(
    cells: Sequence[Located], numbers: Sequence[int], facts: Sequence[Fact]
) -> Mapping[tuple[int, int], list[int]]:
    """The facts of each cell, by position.

    A fact's row number may count rows that the markup omits. Rows keep their order, and a row fits if every
    fact of it finds its value in its column. A fact without a position gets the only cell with its value
    under its headers.
    """
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    lines: dict[int, dict[int, str]] = defaultdict(dict)
    for row, col, cell in cells:
        lines[row][col] = "".join(str(cell[0]).split())
    by_row: dict[int, list[int]] = defaultdict(list)
    for i in numbers:
        if facts[i].row_index is not None and facts[i].col_index is not None:
            by_row[facts[i].row_index or 0].append(i)
    after = -1
    placed: set[int] = set()
    for _, here in sorted(by_row.items()):
        for row in sorted(lines):
            if row > after and all(_has(lines[row].get(facts[i].col_index or 0), facts[i]) for i in here):
                for i in here:
                    found[row, facts[i].col_index or 0].append(i)
                placed.update(here)
                after = row
                break
    for i in numbers:
        if i not in placed and (place := _under_headers(cells, facts[i])) is not None:
            found[place].append(i)
    return found


def _has(text: str | None, fact: Fact) -> bool:
    return text is not None and "".join(fact.value.split()) in text


def _under_headers(cells: Sequence[Located], fact: Fact) -> tuple[int, int] | None:
    value = "".join(fact.value.split())
    texts = [(r, c, "".join(str(cell[0]).split()), (*cell, 1, 1)[1]) for r, c, cell in cells]
    left = [t for t in texts if t[2] == value] or [t for t in texts if value in t[2]]
    row_header, column_header = (
        "".join((h or "").rpartition(" | ")[2].split()) for h in (fact.row_header, fact.column_header)
    )
    rows = {t[0] for t in texts if row_header and t[2] == row_header}
    left = [t for t in left if t[0] in rows] or left
    heads = [t for t in texts if column_header and t[2] == column_header]
    left = [t for t in left if any(h[1] < t[1] + t[3] and t[1] < h[1] + h[3] for h in heads)] or left
    return (left[0][0], left[0][1]) if len(left) == 1 else None


def cut(text: str, spans: Sequence[Span]) -> Iterator[Node]:
    """A text with facts, and the numbers beside them, as spans; of two that overlap the first has both."""
    at = 0
    last: list[Any] | None = None
    for start, end, facts in spans:
        if start < at and last is not None:
            last[1]["f"] += facts
            continue
        yield from _numbers(text[at:start])
        last = ["span", {"f": list(facts)}, [text[start:end]]]
        yield last
        at = end
    yield from _numbers(text[at:])


def _numbers(text: str) -> Iterator[Node]:
    at = 0
    for match in NUMBER.finditer(text):
        if match.start() > at:
            yield text[at : match.start()]
        yield ["span", {"n": 1}, [match[0]]]
        at = match.end()
    if at < len(text):
        yield text[at:]


def in_order(text: str, numbers: Sequence[int], facts: Sequence[Fact]) -> list[Span]:
    """The positions of facts' values in a text, in sequence; a missing one is at the start."""
    spans: list[Span] = []
    at = 0
    for i in numbers:
        value = facts[i].value
        if spans and text[spans[-1][0] : spans[-1][1]] == value and text.find(value, at) < 0:
            spans[-1][2].append(i)  # one figure, tagged twice
            continue
        start = text.find(value, at)
        if start >= 0:
            at = start + len(value)
            spans.append((start, at, [i]))
        elif spans:
            spans[-1][2].append(i)
        else:
            spans.append((0, len(text), [i]))
            at = len(text)
    return spans


def free_column(taken: Sequence[int], row: int, col: int) -> int:
    """The first column from ``col`` on that no cell of an earlier row covers."""
    while col < len(taken) and taken[col] > row:
        col += 1
    return col
