"""HTML and inline-XBRL pages as a stream of blocks: tables and paragraphs, in reading order.

The page is parsed piece by piece and what was read is dropped, so memory is bounded by the largest
table or paragraph, not by the page. Nothing outside the file is ever opened; entities that a page declares
are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..retrievers.errors import InputError
from .flatten import BLOCKS, Flat, attribute, flatten, is_hidden, name_of
from .grid import MAX_CELLS, Grid, Mark
from .htmltable import table_grid
from .source import Utf8, find_encoding, open_bytes

MAX_DEPTH = 250
"""Elements inside one another; deeper markup is refused (the HTML parser would drop it in silence)."""

MAX_BLOCK = 8_000_000
"""Elements that may be held at once (one table or paragraph)."""

ABOUT = frozenset(
    "EntityRegistrantName DocumentType DocumentPeriodEndDate DocumentFiscalYearFocus AmendmentFlag".split()
)
"""What a page says about itself that is read (local names of ``dei`` facts)."""

_TABLE_PARTS = frozenset("table tbody thead tfoot tr td th caption colgroup col".split())
_ENTITY = re.compile(rb"<!ENTITY", re.IGNORECASE)
_XHTML = re.compile(rb"^\s*(?:\xef\xbb\xbf)?\s*<\?xml|xmlns(?::\w+)?\s*=", re.IGNORECASE)
_NAMESPACE = re.compile(r"fasb\.org/us-gaap/(\d{4})")


@dataclass(frozen=True)
class Paragraph:
    """A passage of running text with its tagged numbers."""

    text: str
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class TableBlock:
    """A table and the text just above it."""

    grid: Grid
    preceding_text: str = ""


Block = Paragraph | TableBlock


@dataclass
class Page:
    """What a page says about itself, filled while its blocks are read.

    ``about`` holds the first of each inline ``dei`` fact of :data:`ABOUT` by local name, wherever it stands
    (hidden, in a paragraph, in a table such as a cover page); ``taxonomy_year`` the year of its us-gaap
    namespace; ``namespaces`` the namespace of each prefix; ``tables`` counts all tables.
    """

    about: dict[str, str] = field(default_factory=dict)
    taxonomy_year: str | None = None
    namespaces: dict[str, str] = field(default_factory=dict)
    tables: int = 0
    encoding: str = "utf-8"


class NotWellFormed(Exception):
    """A page that claims to be XML is not; what was read of it must be forgotten."""


def parse_blocks(path: Path, page: Page, as_xml: bool = False) -> Iterator[Block]:
    """The blocks of a page in reading order; ``page`` is filled on the way.

    Args:
        path: the page.
        page: a fresh one from :func:`open_page`.
        as_xml: read it as XML, as inline-XBRL filings are; else as HTML, which takes any markup.

    Raises:
        NotWellFormed: read as XML, it is not.
        InputError: unreadable, or a part of it is too large or too deep.
    """
    from lxml import etree

    with open_bytes(path) as stream:
        events = etree.iterparse(
            Utf8(stream, page.encoding),
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


def open_page(path: Path) -> tuple[Page, bool]:
    """What can be said of a page before it is read, and whether it claims to be XML.

    Raises:
        InputError: unreadable, or it declares entities.
    """
    page = Page(encoding=find_encoding(path))
    with open_bytes(path) as stream:
        head = stream.read(65_536)
    as_xml = _XHTML.search(head[:4096]) is not None
    declares = _declares(path, page) if as_xml else False
    if _ENTITY.search(head) or declares:
        raise InputError("declares entities (<!ENTITY ...>), which are not accepted", file=path)
    return page, as_xml and declares is not None


def _declares(path: Path, page: Page) -> bool | None:
    """Whether what stands before the root element declares entities, however far behind comments.

    It is parsed up to the root element, with the parser's own bounds on size and expansion. None where it is
    no XML up to there: it is read as HTML then, in which declarations mean nothing.
    """
    from lxml import etree

    parser = etree.XMLPullParser(
        events=("start",), resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True
    )
    with open_bytes(path) as stream:
        source = Utf8(stream, page.encoding)
        for chunk in iter(lambda: source.read(4096), b""):
            wrong = False
            try:
                parser.feed(chunk)
            except etree.XMLSyntaxError:
                wrong = True
            root = next(parser.read_events(), None)
            if root is not None:
                declared = root[1].getroottree().docinfo.internalDTD
                return declared is not None and next(declared.iterentities(), None) is not None
            if wrong:
                return None
    return None


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

    def blocks(self, events: Any) -> Iterator[Block]:
        for event, element in events:
            if event == "start-ns":
                self._namespace(*element)
            elif event == "start":
                yield from self._start(element)
            else:
                yield from self._end(element)

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
        if (name == "table" or _is_block(name)) and not (self.tables or self.unseen or self.telling):
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
        elif self.tables == 0 and _is_block(name):
            if not self.unseen:
                yield from self._paragraph(flatten(element))
            self._drop(element)

    def _before(self, element: Any) -> Iterator[Block]:
        """Text that stands loose in the block around an element that begins, up to there; it is forgotten."""
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
        grid = table_grid(element, f"{self.path}: a table")
        if is_layout(grid):
            for row in grid.rows:
                text, marks = _joined([c for c in row if c.text], row)
                yield from self._emit(text, marks)
        else:
            yield TableBlock(grid, " ".join(filter(None, (self.above, _caption(element))))[-600:])
            self.above = ""

    def _paragraph(self, flat: Flat) -> Iterator[Block]:
        yield from self._emit(flat.text, tuple(flat.marks))

    def _emit(self, text: str, marks: tuple[Mark, ...]) -> Iterator[Block]:
        text_length = len(text)
        if not text_length:
            return
        if any(c.isalpha() for c in text):
            yield Paragraph(text, marks)
            if text_length > 3 and text.lower() not in ("table of contents", "contents"):
                self.above = text[-600:]

    def _drop(self, element: Any) -> None:
        """Forget an element's content, and the empty elements before it."""
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


def _caption(table: Any) -> str:
    """What a table is called in itself."""
    for child in table:
        if name_of(child) == "caption" and not is_hidden(child):
            return flatten(child).text.strip()
    return ""


def _said(element: Any, told: Mapping[Any, str]) -> str:
    """All text of an element, that of the dropped ones in ``told`` included."""
    edge = " " if name_of(element) in BLOCKS else ""
    parts = [edge, told.get(element) or element.text or ""]
    for child in element:
        parts += [_said(child, told), child.tail or ""]
    return "".join([*parts, edge])


_FIXED = {"fixed-true": "true", "booleantrue": "true", "fixed-false": "false", "booleanfalse": "false"}
"""Formats whose value is not what is printed."""


def _about(element: Any) -> str:
    """Which fact of :data:`ABOUT` an inline element is; empty for any other."""
    prefix, _, name = attribute(element, "name").partition(":")
    return name if prefix == "dei" and name in ABOUT else ""


def _unseen(element: Any, name: str) -> bool:
    if name in ("script", "style", "head", "template", "noscript"):
        return True
    if name in ("hidden", "header") and ("inlineXBRL" in element.tag or element.tag.startswith("ix:")):
        return True
    return is_hidden(element)


def is_layout(grid: Grid) -> bool:
    """Whether a table only arranges text: bullet points, signatures, page furniture.

    A table of values has a figure in a cell of its own; bullets, list numbers and page numbers are not.
    """
    for row in grid.rows:
        if len(row) < 2:
            continue
        for cell in row[1:]:
            if cell.figure and (cell.number is not None or cell.marks) and len(cell.text) < 60:
                return False
    return True


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
