"""PDF documents with text: words and their positions, as tables and paragraphs (extra ``pdf``)."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from ..retrievers.errors import InputError, MissingExtra
from ..signatures.letters import tidy
from .blocks import Block, Paragraph, TableBlock
from .placed import Piece, blocks_of, lines_of
from .source import open_bytes
from .tablerun import goes_on, headed_columns, stacked

MAX_PDF = 64 * 1024 * 1024
"""Bytes of a PDF document."""

MAX_PAGES = 1_000
MAX_CHARACTERS = 60_000
"""Of one page; a page with more is passed over."""

GAP = 1.4
"""How many times a letter's usual width parts two pieces of a line."""


def read_pdf(path: Path, on_unread: Callable[[str, str, str], None]) -> Iterator[Block]:
    """The tables and paragraphs of a PDF document, page by page. Each value knows its page and box
    (``page 3, box 72 100 540 112``: points from the upper left corner).

    Args:
        path: the document.
        on_unread: called with reason, place and text for a page without text (scanned) or with too much.

    Raises:
        MissingExtra: pdfplumber is not installed.
        InputError: not a PDF, encrypted, too large, or no page has text.
    """
    yield from _continued(_pages(path, on_unread))


def _continued(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks, with a table that continues on the next page as one: only a page number is between its
    parts, and the second part has no headings.
    """
    held: TableBlock | None = None
    for block in blocks:
        text = block.text if isinstance(block, Paragraph) else block.preceding_text
        if held is not None and not any(map(str.isalpha, text)):
            if isinstance(block, Paragraph):
                yield block
                continue
            if goes_on(block.grid, headed_columns(held.grid)):
                held = TableBlock(stacked((held.grid, block.grid)), held.preceding_text)
                continue
        if held is not None:
            yield held
        held = block if isinstance(block, TableBlock) else None
        if held is None:
            yield block
    if held is not None:
        yield held


def _pages(path: Path, on_unread: Callable[[str, str, str], None]) -> Iterator[Block]:
    """The blocks of each page."""
    try:
        import pdfplumber
    except ImportError as e:
        raise MissingExtra("pdfplumber", "pdf") from e
    with open_bytes(path, MAX_PDF) as stream:
        data = b"".join(iter(stream.read, b""))
    if b"%PDF-" not in data[:1024]:
        raise InputError("is not a PDF document", file=path)
    texts = 0
    try:
        with pdfplumber.open(io.BytesIO(data)) as pdf:
            pages = len(pdf.pages)
            if pages > MAX_PAGES:
                raise InputError(f"has more than {MAX_PAGES:,} pages: split it", file=path)
            for number, page in enumerate(pdf.pages, 1):
                what = f"page {number}"
                if not page.chars:
                    on_unread("scanned pages (no text)", what, "")
                elif len(page.chars) > MAX_CHARACTERS:
                    on_unread("pages with too much text", what, f"{len(page.chars):,} characters")
                else:
                    texts += 1
                    yield from blocks_of(lines_of(_pieces(page, what)), f"{path}: {what}")
                page.close()
    except InputError:
        raise
    except Exception as e:
        why = f"cannot be read as a PDF ({type(e).__name__})"
        if re.search("Password|Encrypt", repr(e)):
            why = "is encrypted: save it without a password"
        raise InputError(why, file=path) from e
    if not texts:
        raise InputError(
            f"has no text on any of its {pages} pages (scanned?): give a PDF with text, or run text "
            "recognition over it first",
            file=path,
        )


def _pieces(page: Any, what: str) -> Iterator[Piece]:
    """The words of a page, joined if at most a space is between them."""
    words = page.extract_words(x_tolerance_ratio=0.18, y_tolerance=2, keep_blank_chars=False)
    if not words:
        return
    wide = median((w["x1"] - w["x0"]) / max(1, len(w["text"])) for w in words)
    word_pieces = (
        Piece(tidy(w["text"]), w["x0"], w["x1"], w["top"], w["bottom"]) for w in words if tidy(w["text"])
    )
    for line in lines_of(word_pieces):
        run: list[Piece] = []
        for piece in line:
            if run and piece.x0 - run[-1].x1 > GAP * wide:
                yield _joined(run, what)
                run = []
            run.append(piece)
        if run:
            yield _joined(run, what)


def _joined(run: list[Piece], what: str) -> Piece:
    x0, x1 = run[0].x0, run[-1].x1
    top, bottom = min(p.top for p in run), max(p.bottom for p in run)
    box = " ".join(f"{v:.0f}" for v in (x0, top, x1, bottom))
    return Piece(" ".join(p.text for p in run), x0, x1, top, bottom, place=f"{what}, box {box}")
