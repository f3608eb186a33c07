"""Whether a workbook may be loaded: its parts are first read as a stream, without keeping anything.

A workbook is loaded whole, so its size in memory is estimated first: cells, the cells of merged and linked
ranges, and the elements of everything else (styles, names, rules), which become objects. A document type
declaration is refused, so no entity is ever expanded.
"""

from __future__ import annotations

import lzma
import zipfile
import zlib
from pathlib import Path
from typing import Any

from ..retrievers.errors import InputError
from ..retrievers.outside import check_regular
from .grid import MAX_CELLS

MAX_UNPACKED = 256 * 1024 * 1024
"""Bytes of a workbook after unpacking."""

MAX_RATIO = 200
"""How much smaller than its content a part of a workbook may be packed."""

MAX_PARTS = 10_000
"""Files in the archive."""

MAX_BOOK_CELLS = 4 * MAX_CELLS
"""Cells of all sheets, those that merged and linked ranges stand for included."""

MAX_OTHERS = 300_000
"""Elements that are neither cells nor shared texts."""

MAX_FORMULAS = 10_000
"""Formulas without a value that are told."""

_TRANSIENT = frozenset("c v f is t r rPr row sheetData".split())
_RANGES = frozenset(("mergeCell", "hyperlink"))
_CHUNK = 1 << 18


def check_book(path: Path) -> dict[str, dict[str, str]]:
    """Refuse a file that is not a zip archive or would become too large.

    Returns its formulas without a stored value, by part and cell; at most :data:`MAX_FORMULAS`.

    Raises:
        InputError: no such file, not a workbook, too large, or with a document type declaration.
    """
    check_regular(path)
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            _check_sizes(path, parts)
            count = _Count(path)
            for part in parts:
                count.part(archive, part)
            return count.unvalued
    except (zipfile.BadZipFile, OSError, RuntimeError, EOFError, zlib.error, lzma.LZMAError) as e:
        raise InputError(f"is not an Excel workbook ({e})", file=path) from e


def _check_sizes(path: Path, parts: list[zipfile.ZipInfo]) -> None:
    """Check the sizes that the archive states; a part larger than stated cannot be read to its end."""
    total = sum(p.file_size for p in parts)
    worst = max((p.file_size / max(1, p.compress_size) for p in parts if p.file_size > 1_000_000), default=0)
    if total > MAX_UNPACKED or worst > MAX_RATIO or len(parts) > MAX_PARTS:
        raise InputError(f"would unpack to {total // 2**20:,} MB: refused as a zip bomb", file=path)


class _Count:
    """A parser's target that counts over all parts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cells = self.others = 0
        self.texts = False
        self.unvalued: dict[str, dict[str, str]] = {}
        self.formulas = 0
        self.sheet = self.address = self.formula = ""
        self.valued = False
        self.inside = ""

    def part(self, archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
        """Count a part with any name, because a workbook may store a sheet under any name."""
        from lxml import etree

        self.texts = part.filename.lower().endswith("sharedstrings.xml")
        self.sheet = part.filename
        parser = etree.XMLParser(target=self, resolve_entities=False, no_network=True, load_dtd=False)
        named_so = part.filename.lower().endswith((".xml", ".rels", ".vml"))
        try:
            with archive.open(part) as stream:
                for chunk in iter(lambda: stream.read(_CHUNK), b""):
                    parser.feed(chunk)
            parser.close()
        except etree.XMLSyntaxError as e:
            if not named_so:
                return  # a picture, or what openpyxl could not read either
            raise InputError(f"cannot be read as a workbook: {part.filename}: {e.msg}", file=self.path) from e

    def doctype(self, *_: Any) -> None:
        raise InputError("has a document type declaration, which is not accepted", file=self.path)

    def start(self, tag: str, attributes: Any) -> None:
        name = tag.rpartition("}")[2]
        if name == "c":
            self.cells += 1
            self.address, self.formula, self.valued = str(attributes.get("r") or ""), "", False
        elif name in ("f", "v", "t"):
            self.inside = name
            if name == "f":
                self.formula = "="
        elif name in _RANGES:
            self.cells += _area(attributes.get("ref") or "")
            self.others += 1
        elif not (self.texts or name in _TRANSIENT):
            self.others += 1
        if self.cells > MAX_BOOK_CELLS:
            raise InputError(f"has more than {MAX_BOOK_CELLS:,} cells", file=self.path)
        if self.others > MAX_OTHERS:
            raise InputError(f"has more than {MAX_OTHERS:,} elements beside its cells", file=self.path)

    def data(self, text: str) -> None:
        if self.inside == "f" and len(self.formula) < 100:
            self.formula += text
        elif self.inside and text.strip():
            self.valued = True

    def end(self, tag: str) -> None:
        name = tag.rpartition("}")[2]
        self.inside = ""
        if name == "c" and self.formula and not self.valued and self.formulas < MAX_FORMULAS:
            self.formulas += 1
            self.unvalued.setdefault(self.sheet, {})[self.address] = self.formula

    def close(self) -> None:
        """Parsers call it at the end of a part."""


def _area(ref: str) -> int:
    """The number of cells in a range such as ``B2:D9``; 1 for anything else."""
    from openpyxl.utils import range_boundaries

    try:
        left, top, right, bottom = range_boundaries(ref.replace("$", ""))
        return max(1, int((right - left + 1) * (bottom - top + 1)))
    except (ValueError, TypeError):
        return 1
