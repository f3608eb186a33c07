"""Markdown pages: pipe tables and paragraphs."""

from __future__ import annotations

import re

from .blocks import Block, Paragraph, TableBlock
from .grid import grid_of

_RULE = re.compile(r"\s*\|?\s*:?-{1,}:?\s*(\|\s*:?-{1,}:?\s*)*\|?\s*")
_CELLS = re.compile(r"(?<!\\)\|")
_MARKUP = re.compile(r"\*\*|__|`|^#{1,6}\s+|!?\[([^\]]*)\]\([^)]*\)", re.MULTILINE)


def read_markdown(text: str) -> list[Block]:
    """The tables (header row, rule, rows) and paragraphs of a Markdown text, in order."""
    blocks: list[Block] = []
    lines = text.splitlines()
    above, i = "", 0
    while i < len(lines):
        if _starts_table(lines, i):
            end = i + 2
            while end < len(lines) and "|" in lines[end]:
                end += 1
            rows = [_cells(line) for line in (lines[i], *lines[i + 2 : end])]
            blocks.append(TableBlock(grid_of(rows), above))
            above, i = "", end
            continue
        end = i
        while end < len(lines) and lines[end].strip() and not _starts_table(lines, end):
            end += 1
        passage = " ".join(_plain("\n".join(lines[i:end])).split())
        if passage:
            blocks.append(Paragraph(passage))
            above = passage[-600:]
        i = max(end, i + 1)
    return blocks


def _starts_table(lines: list[str], i: int) -> bool:
    if "|" not in lines[i] or i + 1 >= len(lines) or "-" not in lines[i + 1]:
        return False
    return _RULE.fullmatch(lines[i + 1]) is not None


def _cells(line: str) -> list[str]:
    """The cells of a row. Leading white space of the first (also as ``&nbsp;``) is its indent."""
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    cells = [_plain(c).replace("\\|", "|") for c in _CELLS.split(inner)]
    if cells:
        first = cells[0].replace("&nbsp;", "\u00a0").replace("&emsp;", "\u00a0\u00a0")
        lead = len(first) - len(first.lstrip("\u00a0 "))
        cells[0] = " " * max(0, lead - 1) + first.strip("\u00a0 ")
    return cells


def _plain(text: str) -> str:
    return _MARKUP.sub(lambda m: m[1] or "", text)
