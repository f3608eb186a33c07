"""Information on an HTML or inline-XBRL page before it is read; declared entities are refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from ..retrievers.errors import InputError
from .limits import check_page
from .source import Utf8, find_encoding, open_bytes

ABOUT = frozenset(
    "EntityRegistrantName DocumentType DocumentPeriodEndDate DocumentFiscalYearFocus AmendmentFlag".split()
)
"""What a page says about itself that is read (local names of ``dei`` facts)."""

_ENTITY = re.compile(rb"<!ENTITY", re.IGNORECASE)
_XHTML = re.compile(rb"^\s*(?:\xef\xbb\xbf)?\s*<\?xml|xmlns(?::\w+)?\s*=", re.IGNORECASE)


@dataclass
class Page:
    """Information on a page, filled while its blocks are read.

    ``about`` holds the first of each inline ``dei`` fact of :data:`ABOUT` by local name, wherever it stands
    (hidden, in a paragraph, in a table such as a cover page); ``taxonomy_year`` the year of its us-gaap
    namespace; ``namespaces`` the namespace of each prefix; ``tables`` counts all tables;
    ``alone`` has the numbers that stand in the page without a word (page numbers, most of them).
    """

    about: dict[str, str] = field(default_factory=dict)
    taxonomy_year: str | None = None
    namespaces: dict[str, str] = field(default_factory=dict)
    tables: int = 0
    encoding: str = "utf-8"
    alone: list[str] = field(default_factory=list)


class NotWellFormed(Exception):
    """A page that claims to be XML is not; discard what was read of it."""


def open_page(path: Path) -> tuple[Page, bool]:
    """Information on a page before it is read, and whether it claims to be XML.

    Raises:
        InputError: unreadable, or it declares entities.
    """
    page = Page(encoding=find_encoding(path))
    check_page(path, page.encoding)
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
