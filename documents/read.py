"""Read a file of any supported format as a :class:`~.document.Document`."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from ..retrievers.errors import InputError
from ..retrievers.precedents.loci import company_key, same_company
from .document import Document
from .html import parse_blocks
from .identity import content_digest, declared_filing
from .limits import check_markdown
from .markdown import read_markdown
from .page import NotWellFormed, Page, open_page
from .pdf import read_pdf
from .plain import read_plain
from .sheets import read_csv_table, read_workbook
from .source import read_text

LOG = logging.getLogger("abduce.documents")

HTML = frozenset({".htm", ".html", ".xhtml", ".xml"})
MARKDOWN = frozenset({".md", ".markdown"})
SHEETS = frozenset({".xlsx", ".xlsm"})
SUFFIXES = HTML | MARKDOWN | SHEETS | {".csv", ".tsv", ".txt", ".pdf"}
"""What :func:`read_document` reads (a ``.gz`` may follow, except for workbooks and PDF)."""

_PAGE = "save it as a web page (.htm) or as PDF"
NEAREST = {
    **dict.fromkeys((".doc", ".docx", ".odt", ".rtf", ".pages", ".ppt", ".pptx", ".epub"), _PAGE),
    **dict.fromkeys((".xls", ".xlsb", ".ods", ".numbers"), "save it as an Excel workbook (.xlsx) or as .csv"),
    **dict.fromkeys((".json", ".parquet", ".feather"), "facts are read from .jsonl and .csv"),
    **dict.fromkeys((".zip", ".7z", ".rar", ".tar", ".tgz"), "unpack it and give the document in it"),
    **dict.fromkeys((".xbrl", ".xsd"), "give the inline-XBRL page (.htm) of the filing"),
    **dict.fromkeys(
        (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".gif"),
        "give a document with text: a PDF, a web page or a sheet",
    ),
}
"""What comes nearest to a kind of file that is not read."""


def refusal(path: Path, kinds: str = ", ".join(sorted(SUFFIXES))) -> str:
    """Why a format outside ``kinds`` is refused, and what works instead."""
    kind = kind_of(path)
    return f"is none of {kinds}" + (f"; {NEAREST[kind]}" if kind in NEAREST else "")


def kind_of(path: Path) -> str:
    """The suffix that gives a file's format, without ``.gz``."""
    return next((s.lower() for s in reversed(path.suffixes) if s.lower() != ".gz"), "")


def read_document(path: str | Path, company: str | None = None) -> Document:
    """All facts of a document: every value of its tables and every numeric mention of its text.

    Args:
        path: an HTML or inline-XBRL page, Markdown, plain text, CSV, TSV, an Excel workbook or a PDF.
        company: the document's company, if it names none (an inline-XBRL page does).

    Raises:
        InputError: unreadable, an unsupported format, too large, or without a number.
    """
    path = Path(path)
    kind = kind_of(path)
    if kind not in SUFFIXES:
        raise InputError(refusal(path), file=path)
    company = (company or "").strip() or None
    document = Document(content_digest(path), _shown(path), company=company)
    if kind in HTML:
        document = _read_page(path, document)
    elif kind in SHEETS:
        document.add_blocks(read_workbook(path, document.pass_over))
    elif kind in MARKDOWN:
        page = Page()
        document.add_blocks(read_markdown(check_markdown(read_text(path), path), path, page))
        _alone(page, document)
    elif kind == ".txt":
        document.add_blocks(read_plain(read_text(path), str(path)))
    elif kind == ".pdf":
        document.add_blocks(read_pdf(path, document.pass_over))
    else:
        document.add_blocks(read_csv_table(read_text(path), path))
    document.settle()
    if not document.facts:
        raise InputError(_nothing(document), file=path)
    if document.counts["unlabelled"]:
        document.notes.append(f"{document.counts['unlabelled']} values stand in rows without a label")
    if document.counts["wordless"]:
        document.notes.append(
            f"{document.counts['wordless']} tagged values stand in blocks without words, whose layout is not "
            f"read: they have no headers; the first is {document.wordless!r}"
        )
    for unread in document.unread:
        LOG.debug(
            "not read: %s: %s%s", unread.place, unread.reason, f": {unread.text}" if unread.text else ""
        )
    if document.passed_over:
        document.notes.append(f"seen and not read: {_counted(document)}")
    return document


def _counted(document: Document) -> str:
    return ", ".join(f"{n:,} {reason}" for reason, n in document.passed_over.most_common())


def _nothing(document: Document) -> str:
    """Why and where a document has no facts, as far as known."""
    if not document.passed_over:
        return "has no numbers that could be facts"
    where = document.unread[0]
    return f"has no numbers that could be facts; seen and not read: {_counted(document)}; first {where.place}"


def _alone(page: Page, document: Document) -> None:
    for text in page.alone:
        document.pass_over("numbers without words", "text", text)


def _shown(path: Path) -> str:
    """A file's name for messages."""
    return path.name.removesuffix(".gz").rpartition(".")[0] or path.name


def _read_page(path: Path, document: Document) -> Document:
    page, xml = open_page(path)
    try:
        document.add_blocks(parse_blocks(path, page, as_xml=xml))
    except NotWellFormed:
        page = Page(encoding=page.encoding)
        document = Document(document.content, document.name, company=document.company)
        document.notes.append("the page is not well-formed XML; it was read as HTML")
        document.add_blocks(parse_blocks(path, page))
    _alone(page, document)
    if not page.tables and not document.counts["tables"]:
        document.notes.append("the page has no tables; only numbers in its text were read")
    if page.encoding not in ("utf-8", "utf-8-sig"):
        document.notes.append(f"the page is not UTF-8; it was read as {page.encoding}")
    document.told(
        _company(page.about.get("EntityRegistrantName"), document),
        page.taxonomy_year or _year(page.about.get("DocumentFiscalYearFocus")),
        declared_filing(page.about),
        page.namespaces,
    )
    return document


def _company(own: str | None, document: Document) -> str | None:
    """A page's company: the one it names, else the user's."""
    given = document.company
    if not company_key(own or ""):
        return given
    if given is not None and not same_company(given, own or ""):
        document.notes.append(f"the page is of {own}, not of {given}: precedents of both are its company's")
    return own


def _year(text: str | None) -> str | None:
    match = re.search(r"20\d\d", text or "")
    return match[0] if match else None
