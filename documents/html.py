"""HTML and inline-XBRL pages as a stream of blocks: tables and paragraphs, in reading order.

The page is parsed piece by piece and finished pieces are dropped, so memory depends on the largest table or
paragraph, not on the page. Nothing outside the file is opened; a page that declares entities is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..retrievers.errors import InputError
from .blocks import Block, Paragraph, TableBlock
from .flatten import BLOCKS, Flat, attribute, flatten, is_hidden, name_of, spaced_text
from .grid import MAX_CELLS, Mark
from .htmltable import table_part
from .page import ABOUT, NotWellFormed, Page
from .placed import WIDE, Piece, blocks_of, lines_of
from .plain import read_plain
from .positions import INLINE, Placed, Style, style_of, styles_of
from .shape import is_layout
from .source import Utf8, open_bytes
from .tablerun import Part, TableRun

MAX_DEPTH = 250
"""Elements inside one another; deeper markup is refused (the HTML parser would drop it in silence)."""

MAX_BLOCK = 8_000_000
"""Elements that may be held at once (one table or paragraph)."""

_TABLE_PARTS = frozenset("table tbody thead tfoot tr td th caption colgroup col".split())
_NAMESPACE = re.compile(r"fasb\.org/us-gaap/(\d{4})")


def parse_blocks(path: Path, page: Page, as_xml: bool = False) -> Iterator[Block]:
    """The blocks of a page in reading order; this also fills ``page``.

    Args:
        path: the page.
        page: a new one from :func:`open_page`.
        as_xml: read it as XML, like inline-XBRL filings; else as HTML, which accepts any markup.

    Raises:
        NotWellFormed: read as XML, it is not.
        InputError: unreadable, or a part of it is too large or too deep.
    """
    with open_bytes(path) as stream:
        yield from parse_stream(Utf8(stream, page.encoding), path, page, as_xml)


def parse_stream(stream: Any, path: Path, page: Page, as_xml: bool = False) -> Iterator[Block]:
    """The blocks of markup that is read from a stream of UTF-8 bytes; see :func:`parse_blocks`."""
    from lxml import etree

    events = etree.iterparse(
        stream,
        events=("start", "end", "start-ns") if as_xml else ("start", "end"),
        html=not as_xml,
        recover=not as_xml,
        encoding="utf-8",
        huge_tree=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        yield from _Reader(page, path).blocks(events)
    except etree.XMLSyntaxError as e:
        if as_xml:
            raise NotWellFormed from e
        raise InputError(f"cannot be read as HTML: {e}", file=path) from e


class _Reader:
    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.path = path
        self.depth = 0
        self.tables = 0
        """Tables that are open."""
        self.unseen = 0
        """Elements that are open and not shown."""
        self.above = ""
        self.telling = 0
        """Elements of :data:`ABOUT` that are open."""
        self.told: dict[Any, str] = {}
        """The text of what was dropped inside them."""
        self.held = 0
        self.cells = 0
        self.run = TableRun(f"{path}: a table")
        self.deepest = 0
        """Where the last table of the run stands: so many elements are around it."""
        self.read_of: dict[Any, int] = {}
        """How much of a cell's text stands above a table in it that was read."""
        self.classes: dict[str, Style] = {}
        self.open: list[Placed] = []
        """Positioned elements that are open, outermost first."""
        self.pieces: list[Piece] = []
        self.pieces_in = 0
        """How many elements are around the pieces that are held."""

    def blocks(self, events: Any) -> Iterator[Block]:
        for event, element in events:
            if event == "start-ns":
                self._namespace(*element)
            elif event == "start":
                yield from self._start(element)
            else:
                yield from self._end(element)
        yield from self._place()
        yield from self._flush()

    def _namespace(self, prefix: str, uri: str) -> None:
        self.page.namespaces.setdefault(prefix, uri)
        match = _NAMESPACE.search(uri)
        if match:
            self.page.taxonomy_year = match[1]

    def _start(self, element: Any) -> Iterator[Block]:
        self.depth += 1
        self.held += 1
        if self.depth > MAX_DEPTH:
            raise InputError(f"has elements nested more than {MAX_DEPTH} deep", file=self.path)
        if self.held > MAX_BLOCK:
            raise InputError(f"has a part of more than {MAX_BLOCK:,} elements", file=self.path)
        name = name_of(element)
        block = _is_block(name)
        if (name == "table" or block or name in INLINE) and not (self.tables or self.unseen or self.telling):
            style = style_of(element, name, self.classes) if name != "table" else None
            if style:
                around = self.open[-1] if self.open else None
                if around:
                    around.holds = True
                self.open.append(Placed.inside(element, style, around))
            if (block and not self.open) or name == "table":
                yield from self._before(element)
        if name == "table":
            self.tables += 1
            self.page.tables += 1
            if self.tables == 1:
                self.cells = 0
        elif name in ("td", "th"):
            self.cells += 1
            if self.cells > MAX_CELLS:
                raise InputError(f"has a table of more than {MAX_CELLS:,} cells", file=self.path)
        elif name == "html":
            for key, uri in element.attrib.items():
                if str(key).startswith("xmlns:"):  # in HTML these are attributes
                    self._namespace(str(key).removeprefix("xmlns:"), str(uri))
        elif name == "nonnumeric" and _about(element):
            self.telling += 1
        if _unseen(element, name):
            self.unseen += 1

    def _end(self, element: Any) -> Iterator[Block]:
        self.depth -= 1
        name = name_of(element)
        if name == "nonnumeric" and _about(element):
            self._tell(element)
        if name == "style":
            self.classes |= styles_of(element.text or "")
        if _unseen(element, name):
            self.unseen -= 1
            if self.tables == 0 and name not in ("html", "body"):
                self._drop(element)
            return
        if name == "table":
            self.tables -= 1
            if not self.unseen:
                yield from self._table(element)
            self._drop(element)
        elif self.tables == 0 and (_is_block(name) or (self.open and self.open[-1].element is element)):
            if self.open and self.open[-1].element is element:
                yield from self._placed(self.open.pop())
            elif self.open:
                return
            elif not self.unseen and name == "pre":
                yield from self._lined_up(element)
            elif not self.unseen:
                yield from self._paragraph(flatten(element))
            if self.pieces and self.depth < self.pieces_in:
                yield from self._place()
            if name == "hr" or self.depth < self.deepest - 2:
                yield from self._flush()
            self._drop(element)

    def _placed(self, placed: Placed) -> Iterator[Block]:
        """The end of a positioned element: a piece, or the rest of one with inner pieces (a long rest is a
        paragraph).
        """
        piece = placed.piece()
        if piece and placed.holds and len(piece.text) > WIDE:
            yield from self._paragraph(flatten(placed.element))
        elif piece:
            if len(self.pieces) > MAX_CELLS:
                raise InputError(f"has more than {MAX_CELLS:,} placed blocks", file=self.path)
            self.pieces.append(piece)
        self.pieces_in = self.depth

    def _lined_up(self, element: Any) -> Iterator[Block]:
        """Text whose columns are lined up with spaces."""
        text, marks = spaced_text(element)
        yield from self._flush()
        for block in read_plain(text, f"{self.path}: a table of lined-up text", marks, self.above):
            if isinstance(block, Paragraph):
                yield from self._emit(block.text, block.marks)
            else:
                yield block
                self.above = ""

    def _place(self) -> Iterator[Block]:
        """The tables and paragraphs that the pieces of a page make."""
        pieces, self.pieces = self.pieces, []
        if not pieces:
            return
        yield from self._flush()
        for block in blocks_of(lines_of(pieces), f"{self.path}: a table of placed blocks", self.above):
            if isinstance(block, Paragraph):
                yield from self._emit(block.text, block.marks)
            else:
                yield block
                self.above = ""

    def _before(self, element: Any) -> Iterator[Block]:
        """Loose text in the block before an element; it is then dropped."""
        path = [element]
        while (parent := path[-1].getparent()) is not None:
            path.append(parent)
            if name_of(parent) in BLOCKS:
                break
        around = path[1:]
        if not any((p.text or "").strip() or inner.getprevious() is not None for inner, p in pairwise(path)):
            return
        yield from self._paragraph(flatten(path[-1], stop=element))
        for inner, outer in zip(path, around, strict=False):
            outer.text = None
            while (before := inner.getprevious()) is not None:
                outer.remove(before)
        self.held = self.depth

    def _tell(self, element: Any) -> None:
        self.telling -= 1
        form = attribute(element, "format").rpartition(":")[2].lower()
        text = _FIXED.get(form) or " ".join(_said(element, self.told).split())[:300]
        if not self.telling:
            self.told.clear()
        if text:
            self.page.about.setdefault(_about(element), text)

    def _table(self, element: Any) -> Iterator[Block]:
        part = table_part(element, f"{self.path}: a table", _caption(element))
        if self.tables:  # inside another
            yield from self._told(part, self._above_inner(element))
            return
        self.read_of.clear()
        for complete in self.run.add(part):
            yield from self._told(complete)
        self.deepest = self.depth

    def _flush(self) -> Iterator[Block]:
        """Return the held tables: the next element is not part of them."""
        for part in self.run.flush():
            yield from self._told(part)

    def _told(self, part: Part, above: str = "") -> Iterator[Block]:
        if is_layout(part.grid):
            for row in part.grid.rows:
                text, marks = _joined([c for c in row if c.text], row)
                yield from self._emit(text, marks)
        else:
            yield TableBlock(part.grid, " ".join(filter(None, (above or self.above, part.caption)))[-600:])
            self.above = ""

    def _above_inner(self, element: Any) -> str:
        """The text above a nested table, in its cell or else in the row above."""
        cell = element.getparent()
        while cell is not None and name_of(cell) not in ("td", "th"):
            cell = cell.getparent()
        if cell is None:
            return ""
        text = flatten(cell, stop=element).text
        fresh = text[self.read_of.get(cell, 0) :].strip()
        self.read_of[cell] = len(text)
        if fresh:
            return fresh
        own = cell.getparent()
        row = own.getprevious() if own is not None else None
        if row is None or name_of(row) != "tr" or row in self.read_of:
            return ""
        over, beside = _cells(row), _cells(own)
        if len(over) == len(beside) > 1:
            return flatten(over[beside.index(cell)]).text
        self.read_of[row] = 1
        return flatten(row).text

    def _paragraph(self, flat: Flat) -> Iterator[Block]:
        yield from self._emit(flat.text, tuple(flat.marks))

    def _emit(self, text: str, marks: tuple[Mark, ...]) -> Iterator[Block]:
        if not text:
            return
        yield from self._flush()
        if marks or any(map(str.isalpha, text)):
            yield Paragraph(text, marks)
            if len(text) > 3:
                self.above = text[-600:]
        elif any(map(str.isdigit, text)):
            self.page.alone.append(text[:100])

    def _drop(self, element: Any) -> None:
        """Drop an element's content and the empty elements before it."""
        if self.telling:
            self.told[element] = _said(element, self.told)
        element.clear(keep_tail=True)
        parent = element.getparent()
        if parent is None or self.telling:
            return
        before = element.getprevious()
        while before is not None and not (before.tail or "").strip() and not len(before) and not before.text:
            following = before.getprevious()
            parent.remove(before)
            before = following
        self.held = self.depth + len(parent)


def _is_block(name: str) -> bool:
    return name in BLOCKS and name not in _TABLE_PARTS and name != "br"


def _cells(row: Any) -> list[Any]:
    return [c for c in row if name_of(c) in ("td", "th")]


def _caption(table: Any) -> str:
    """A table's own caption."""
    for child in table:
        if name_of(child) == "caption" and not is_hidden(child):
            return flatten(child).text.strip()
    return ""


def _said(element: Any, told: Mapping[Any, str]) -> str:
    """All text of an element, with that of dropped elements in ``told``."""
    edge = " " if name_of(element) in BLOCKS else ""
    parts = [edge, told.get(element) or element.text or ""]
    for child in element:
        parts += [_said(child, told), child.tail or ""]
    return "".join([*parts, edge])


_FIXED = {"fixed-true": "true", "booleantrue": "true", "fixed-false": "false", "booleanfalse": "false"}
"""Formats whose value is not what is printed."""


def _about(element: Any) -> str:
    """The fact of :data:`ABOUT` in an inline element; empty for any other element."""
    prefix, _, name = attribute(element, "name").partition(":")
    return name if prefix == "dei" and name in ABOUT else ""


def _unseen(element: Any, name: str) -> bool:
    if name in ("script", "style", "head", "template", "noscript"):
        return True
    if name in ("hidden", "header") and ("inlineXBRL" in element.tag or element.tag.startswith("ix:")):
        return True
    return is_hidden(element)


def _joined(cells: list[Any], row: list[Any]) -> tuple[str, tuple[Mark, ...]]:
    """The cells of a layout row as one text; marks move along."""
    text = ""
    marks: list[Mark] = []
    for cell in cells:
        if text:
            text += " "
        marks += [Mark(m.name, m.start + len(text), m.end + len(text), m.unit) for m in cell.marks]
        text += cell.text
    return text, tuple(marks)
