"""A document as a page: its tables and text, with the positions of its facts, and nothing else.

A page is a list of nodes. A node is a text, or ``[tag, attributes, children]`` with a tag of :data:`TAGS`.
Of a document's markup only the structure is kept: no script, no style, no link, no picture, no attribute
that is not listed here. Attributes: ``f`` are the numbers of facts (a figure may be two), ``n`` says that a
cell or a span has a number that is no fact, ``c`` and ``r`` are the columns and rows that a cell spans, ``a``
is its alignment.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..signatures.types import Fact
from .figures import NUMBER, Node, Span, by_context, context_nodes, cut, free_column, in_order
from .flatten import BLOCKS, INVISIBLE, attribute, flatten, is_hidden, name_of
from .htmltable import table_grid
from .markup import markup
from .page import open_page
from .read import HTML, kind_of
from .shape import is_layout
from .source import Utf8, open_bytes

TAGS = frozenset(
    "p div h1 h2 h3 h4 h5 h6 ul ol li b i u sup sub br hr blockquote pre table tr td span".split()
)
"""Every tag that a node may have."""

_SAME = {t: t for t in TAGS - {"table", "tr", "td", "span"}} | {"strong": "b", "em": "i", "center": "div"}
_EMPTY = frozenset({"br", "hr"})
_BOLD = re.compile(r"font-weight\s*:\s*(bold|[6-9]00)", re.IGNORECASE)
_ALIGN = re.compile(r"text-align\s*:\s*(right|center)", re.IGNORECASE)

MANY = 12
"""A block with more children than this is replaced by them, so that a page is a long list of small blocks."""


@dataclass
class View:
    """Blocks of a page in reading order. ``missing`` are facts without a position on the page."""

    blocks: list[Node] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)


def view_document(path: Path | None, facts: Sequence[Fact]) -> View:
    """The page of a document, with every fact.

    Args:
        path: the document that ``facts`` were read from; None, or a file that is not an HTML page, is shown
            as the tables and passages of its facts.
        facts: numbered by position; facts of one context are adjacent.

    Raises:
        InputError: the file cannot be read.
    """
    if path is None or kind_of(path) not in HTML:
        return View(list(context_nodes(facts, range(len(facts)))))
    page = _Page(facts)
    blocks = page.read(path)
    left = sorted(set(range(len(facts))) - page.placed)
    return View(blocks + list(context_nodes(facts, left)), left)


class _Leaf(list[Any]):
    """A span of running text; its children are split at facts."""

    def __init__(self, text: str) -> None:
        super().__init__(["span", {}, [text]])
        self.text = text


class _Page:
    def __init__(self, facts: Sequence[Fact]) -> None:
        self.facts = facts
        self.placed: set[int] = set()
        self.leaves: list[_Leaf] = []
        self.tables: dict[str, list[list[int]]] = defaultdict(list)
        """Facts of each table context by its text, in reverse order of reading."""
        self.passages: list[list[int]] = []
        for numbers in by_context(facts):
            context = facts[numbers[0]].context
            if context.modality == "table":
                self.tables[context.text].insert(0, numbers)
            else:
                self.passages.append(numbers)

    def read(self, path: Path) -> list[Node]:
        blocks = list(_gathered(self.children(_parsed(path))))
        self._place_passages()
        return blocks

    def children(self, element: Any) -> list[Node]:
        """The nodes of an element's content."""
        nodes: list[Node] = []
        self._text(nodes, element.text)
        for child in element:
            name = name_of(child)
            shown = name and name not in INVISIBLE and not _unseen(child, name)
            if shown and name == "table":
                nodes.append(self.table(child))
            elif shown and name in _EMPTY:
                nodes.append([name, {}, []])
            elif shown:
                inner = self.children(child)
                tag = _SAME.get(name) or ("div" if name in BLOCKS else "")
                if not tag and inner and _BOLD.search(child.get("style") or ""):
                    tag = "b"
                if tag and inner:
                    nodes.append([tag, _aligned(child), inner])
                else:
                    nodes += inner
            self._text(nodes, child.tail)
        return nodes

    def _text(self, nodes: list[Node], text: str | None) -> None:
        if text and not text.isspace():
            leaf = _Leaf(" ".join(text.split()) if len(text) < 2 else re.sub(r"\s+", " ", text))
            self.leaves.append(leaf)
            nodes.append(leaf)
        elif text:
            nodes.append(" ")

    def table(self, table: Any) -> Node:
        grid = table_grid(table)
        numbers: list[int] = []
        if not is_layout(grid):
            waiting = self.tables.get(markup(grid))
            numbers = waiting.pop() if waiting else []
        here: dict[tuple[int, int], list[int]] = defaultdict(list)
        for i in numbers:
            here[self.facts[i].row_index or 0, self.facts[i].col_index or 0].append(i)
        taken: list[int] = []
        rows: list[Node] = []
        for r, row in enumerate(_rows(table)):
            if is_hidden(row):
                continue
            cells: list[Node] = []
            col = 0
            for cell in row:
                if name_of(cell) not in ("td", "th") or is_hidden(cell):
                    continue
                columns, spanned = _span(cell, "colspan"), _span(cell, "rowspan")
                col = free_column(taken, r, col)
                found = here.get((r, col), [])
                cells.append(self._cell(cell, columns, spanned, found, bool(numbers)))
                taken += [0] * (col + columns - len(taken))
                taken[col : col + columns] = [r + spanned] * columns
                col += columns
            if cells:
                rows.append(["tr", {}, cells])
        return ["table", {}, rows]

    def _cell(self, cell: Any, columns: int, rows: int, found: Sequence[int], of_facts: bool) -> Node:
        attributes: dict[str, Any] = _aligned(cell)
        if columns > 1:
            attributes["c"] = columns
        if rows > 1:
            attributes["r"] = rows
        if not of_facts:
            return ["td", attributes, self.children(cell)]
        text = flatten(cell).text
        children: list[Node] = [text] if text else []
        if len(found) == 1:
            attributes["f"] = found
        elif found:
            children = list(cut(text, in_order(text, found, self.facts)))
        elif NUMBER.search(text):
            attributes["n"] = 1
        self.placed.update(found)
        nested = [self.table(t) for t in cell.iter() if name_of(t) == "table" and not is_hidden(t)]
        if _bold(cell) and children:
            children = [["b", {}, children]]
        return ["td", attributes, [*children, *nested]]

    def _place_passages(self) -> None:
        """Find passages by their characters, without white space, in the text outside tables of facts."""
        solid = [[i for i, c in enumerate(leaf.text) if not c.isspace()] for leaf in self.leaves]
        starts = [0]
        for places in solid:
            starts.append(starts[-1] + len(places))
        whole = "".join("".join(leaf.text.split()) for leaf in self.leaves)
        spans: dict[int, list[Span]] = defaultdict(list)
        cursor = 0
        for numbers in self.passages:
            text = self.facts[numbers[0]].context.text
            wanted = "".join(text.split())
            at = whole.find(wanted, cursor)
            if at < 0 and (at := whole.find(wanted)) < 0:
                continue
            cursor = at
            for i in numbers:
                fact = self.facts[i]
                first = at + len("".join(text[: fact.mention_start or 0].split()))
                last = first + len("".join(fact.value.split()))
                leaf = bisect_left(starts, first + 1) - 1
                while leaf < len(solid) and starts[leaf] < last:
                    low, high = max(first, starts[leaf]), min(last, starts[leaf + 1])
                    if low < high:
                        places = solid[leaf]
                        end = places[high - starts[leaf] - 1] + 1
                        spans[leaf].append((places[low - starts[leaf]], end, [i]))
                    leaf += 1
                self.placed.add(i)
        for number, leaf_ in enumerate(self.leaves):
            leaf_[2] = list(cut(leaf_.text, sorted(spans.get(number, ()))))


def _parsed(path: Path) -> Any:
    """The root of a page, parsed like the reader of facts does: as XML if it is, else as HTML."""
    from lxml import etree

    page, as_xml = open_page(path)
    with open_bytes(path) as stream:
        text = b"".join(iter(Utf8(stream, page.encoding).read, b""))
    settings: dict[str, Any] = {
        "remove_comments": True,
        "remove_pis": True,
        "no_network": True,
        "huge_tree": True,
    }
    if as_xml:
        parser = etree.XMLParser(resolve_entities=False, load_dtd=False, encoding="utf-8", **settings)
        with suppress(etree.XMLSyntaxError):  # it was read as HTML then
            return etree.fromstring(text, parser)
    root = etree.fromstring(text, etree.HTMLParser(encoding="utf-8", **settings))
    return etree.Element("html") if root is None else root


def _unwrapped(nodes: Sequence[Node]) -> Iterator[Node]:
    """Small blocks: a large one, and one that only holds another, is replaced by its children."""
    for node in nodes:
        inner: Sequence[Node] = node[2] if isinstance(node, list) and node[0] == "div" else []
        if sum(map(_is_block, inner)) > MANY or (len(inner) == 1 and _is_block(inner[0])):
            yield from _gathered(inner)
        else:
            yield node


def _gathered(nodes: Sequence[Node]) -> Iterator[Node]:
    """The blocks among some nodes, and the text between them as separate blocks."""
    running: list[Node] = []
    for node in nodes:
        if _is_block(node):
            if any(n != " " for n in running):
                yield ["p", {}, running]
            running = []
            yield from _unwrapped([node])
        else:
            running.append(node)
    if any(n != " " for n in running):
        yield ["p", {}, running]


def _is_block(node: Node) -> bool:
    return isinstance(node, list) and node[0] not in ("span", "b", "i", "u", "sup", "sub", "br")


def _rows(table: Any) -> Iterator[Any]:
    """The rows of a table, counted like the reader of grids does."""
    for child in table:
        name = name_of(child)
        if name == "tr":
            yield child
        elif name and name not in ("table", "td", "th", "caption", "colgroup"):
            yield from _rows(child)


def _span(cell: Any, name: str) -> int:
    match = re.search(r"\d+", attribute(cell, name))
    return min(max(int(match[0][:6]), 1), 1000) if match else 1


def _unseen(element: Any, name: str) -> bool:
    inline = isinstance(element.tag, str) and ("inlineXBRL" in element.tag or element.tag.startswith("ix:"))
    return is_hidden(element) or (name in ("hidden", "header") and inline)


def _aligned(element: Any) -> dict[str, Any]:
    match = _ALIGN.search(element.get("style") or "")
    side = match[1] if match else (element.get("align") or "")
    return {"a": side[0].lower()} if side.lower() in ("right", "center") else {}


def _bold(cell: Any) -> bool:
    return name_of(cell) == "th" or bool(_BOLD.search(cell.get("style") or ""))
