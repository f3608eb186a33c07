"""The words of a page or PDF in reading order, for uses of its text rather than its values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .blocks import Block, Paragraph
from .html import parse_blocks
from .page import NotWellFormed, Page, open_page
from .pdf import read_pdf

PAGES = (".htm", ".html", ".xhtml")


def words_of(path: Path) -> str:
    """The text of a web page or PDF, with empty lines between blocks and line breaks between table rows.

    Raises:
        InputError: it cannot be read, or is too large.
        MissingExtra: a PDF, and pdfplumber is not installed.
    """
    if path.suffix.lower() not in PAGES:
        blocks: list[Block] = [*read_pdf(path, lambda *_: None)]
    else:
        page, xml = open_page(path)
        try:
            blocks = [*parse_blocks(path, page, as_xml=xml)]
        except NotWellFormed:
            blocks = [*parse_blocks(path, Page(encoding=page.encoding))]
    return "\n\n".join(text for block in blocks if (text := "\n".join(_lines(block))))


def _lines(block: Block) -> Iterator[str]:
    if isinstance(block, Paragraph):
        yield block.text
        return
    for r, row in enumerate(block.grid.rows):
        if words := " ".join(c.text for c in row if c.row == r):
            yield words
