"""Markdown pages, parsed by markdown-it-py and read as HTML.

The parser handles escapes, emphasis, entities, line breaks, quotes and HTML tables. It lacks grid tables
(``+---+---+``), which are read here.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..retrievers.errors import InputError
from .blocks import Block
from .html import parse_stream
from .page import Page

MAX_MARKDOWN = 8 * 1024 * 1024
"""Characters of a Markdown page; a larger one is refused."""

_BORDER = re.compile(r"\+(?:[-=:]+\+)+\s*")


def read_markdown(text: str, path: Path, page: Page) -> Iterator[Block]:
    """The tables and paragraphs of a Markdown text, in order.

    Args:
        text: the page.
        path: the file, for messages.
        page: counts its tables.

    Raises:
        InputError: too large, or a grid table whose cells span rows.
    """
    if len(text) > MAX_MARKDOWN:
        raise InputError(f"has more than {MAX_MARKDOWN:,} characters of Markdown: save it as HTML", file=path)
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.block.ruler.before(
        "table", "grid_table", _GridTables(path), {"alt": ["paragraph", "blockquote", "list"]}
    )
    markup = f"<html><body>{parser.render(text)}</body></html>"
    yield from parse_stream(io.BytesIO(markup.encode("utf-8", "replace")), path, page)


class _GridTables:
    """A block rule for the parser: a table drawn with ``+``, ``-`` and ``|``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, state: Any, start: int, end: int, silent: bool) -> bool:
        if not _BORDER.fullmatch(_line(state, start)):
            return False
        lines = []
        for n in range(start, end):
            line = _line(state, n).rstrip()
            if line[:1] not in ("+", "|") or len(line) < 2:
                break
            lines.append(line)
        if len(lines) < 3 or not _BORDER.fullmatch(lines[-1]):
            return False
        if not silent:
            token = state.push("html_block", "", 0)
            token.content = self._table(lines, start + 1, state.md.renderInline)
            token.map = [start, start + len(lines)]
            state.line = start + len(lines)
        return True

    def _table(self, lines: Sequence[str], first: int, inline: Callable[[str], str]) -> str:
        edges = [i for i, c in enumerate(lines[0]) if c == "+"]
        out, texts = ["<table>"], [""] * (len(edges) - 1)
        for number, line in enumerate(lines[1:], first + 1):
            if _BORDER.fullmatch(line):
                out.append(_row(texts, "th" if "=" in line else "td", inline))
                texts = [""] * (len(edges) - 1)
            elif line[0] == "+" or re.search(r"\+-{2,}\+?", line):
                raise InputError(
                    "a grid table has cells that span rows: write it as a pipe table or in HTML",
                    file=self.path,
                    line=number,
                )
            else:
                at = 0
                for place, (left, right) in enumerate(pairwise(edges)):
                    if line[left : left + 1] in ("|", ""):
                        at = place
                        texts[at] += " " + line[left + 1 : right]
                    else:  # the cell goes on over this column
                        texts[at] += line[left:right]
                        texts[place] = "\0"
        return "".join([*out, "</table>\n"])


def _row(texts: Sequence[str], name: str, inline: Callable[[str], str]) -> str:
    cells: list[str] = []
    spans: list[int] = []
    for text in texts:
        if text == "\0":
            spans[-1] += 1
        else:
            cells.append(inline(" ".join(text.split())))
            spans.append(1)
    return (
        "<tr>"
        + "".join(f'<{name} colspan="{n}">{c}</{name}>' for c, n in zip(cells, spans, strict=True))
        + "</tr>"
    )


def _line(state: Any, n: int) -> str:
    return str(state.src[state.bMarks[n] + state.tShift[n] : state.eMarks[n]])
