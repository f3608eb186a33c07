"""The blocks of a document: tables and paragraphs, in reading order."""

from __future__ import annotations

from dataclasses import dataclass

from .grid import Grid, Mark


@dataclass(frozen=True)
class Paragraph:
    """A passage of running text with its tagged numbers. ``place`` is its position (a page)."""

    text: str
    marks: tuple[Mark, ...] = ()
    place: str = ""


@dataclass(frozen=True)
class TableBlock:
    """A table and the text just above it."""

    grid: Grid
    preceding_text: str = ""


Block = Paragraph | TableBlock
