"""The files of an ICD-10-CM release: found by name, read without unpacking, with safe XML parsing."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....retrievers.errors import InputError

UNREADABLE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,  # encrypted, or (NotImplementedError) a method or version that zipfile does not know
    UnicodeDecodeError,
)
"""What the standard library raises for archives that are damaged, encrypted or of an unknown kind."""

MAX_BYTES = 256 * 1024 * 1024
"""A release file is at most this large when unpacked (the largest official one is 14 MB)."""

_NAME = re.compile(
    r"icd10cm?[ _-](?P<kind>codes|order|tabular|index|eindex|neoplasm|drug|table drug)"
    r"(?P<addenda>[ _-]addenda)?[ _-](?:[a-z]+[ _-])?(?:\d{1,2}[ _-])?(?P<year>20\d\d)"
    r"\.(?P<type>txt|xml|pdf)(?:\.gz)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ReleaseFile:
    """One file of a release: plain, gzip-compressed, or a member of a zip archive."""

    kind: str
    year: int
    path: Path
    member: str | None = None

    def __str__(self) -> str:
        return f"{self.path}!{self.member}" if self.member else str(self.path)

    def read(self) -> bytes:
        """Its unpacked bytes.

        Raises:
            InputError: corrupted, or larger than :data:`MAX_BYTES`.
        """
        try:
            if self.member is not None:
                with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as stream:
                    data = stream.read(MAX_BYTES + 1)
            elif self.path.suffix == ".gz":
                with gzip.open(self.path) as stream:
                    data = stream.read(MAX_BYTES + 1)
            else:
                with self.path.open("rb") as stream:
                    data = stream.read(MAX_BYTES + 1)
        except UNREADABLE as e:
            raise InputError(f"is corrupted or cannot be read ({e})", file=str(self)) from e
        if len(data) > MAX_BYTES:
            raise InputError(f"is larger than {MAX_BYTES >> 20} MB", file=str(self))
        return data

    def lines(self) -> Iterator[tuple[int, str]]:
        """(line number, text) of a text file, without line ends and blank lines."""
        try:
            text = self.read().decode("utf-8-sig")
        except UnicodeDecodeError as e:
            raise InputError(f"is not UTF-8 (byte {e.start})", file=str(self)) from e
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield number, line

    def xml(self) -> Any:
        """The root element of an XML file; entities, document types and network access are refused.

        Raises:
            InputError: not well-formed XML, or it declares a document type.
        """
        from lxml import etree

        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
        )
        try:
            tree = etree.parse(io.BytesIO(self.read()), parser)
        except etree.XMLSyntaxError as e:
            raise InputError(f"is not XML: {e.msg}", file=str(self)) from e
        if tree.docinfo.internalDTD is not None or tree.docinfo.doctype:
            raise InputError("declares a document type, which a release file never does", file=str(self))
        root = tree.getroot()
        declared = (root.findtext("version") or "").strip()
        if declared and declared != str(self.year):
            raise InputError(f"says that it is of {declared}, its name says {self.year}", file=str(self))
        return root


def _describe(name: str, path: Path, member: str | None) -> ReleaseFile | None:
    match = _NAME.search(name)
    if match is None:
        return None
    kind = match["kind"].lower().replace("table ", "") + (" addenda" if match["addenda"] else "")
    if match["type"].lower() == "pdf" and not match["addenda"]:
        return None
    if match["type"].lower() == "pdf":
        kind = kind.replace(" addenda", " changes")
    return ReleaseFile(kind, int(match["year"]), path, member)


class Release:
    """The release files in a folder, by kind and year.

    Args:
        folder: holds the files themselves, ``.gz`` files of them, or zip archives with them inside, as
            the publisher offers them; sub-folders are looked into.

    Raises:
        InputError: no such folder, a corrupted archive, or no release file in it.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not os.path.exists(self.folder):
            raise InputError("no such folder", file=self.folder)
        if not os.path.isdir(self.folder):
            raise InputError(
                "is not a folder; give the folder that holds the release files", file=self.folder
            )
        self._files: dict[tuple[str, int], ReleaseFile] = {}
        for path in sorted(p for p in self.folder.rglob("*") if os.path.isfile(p)):
            for found in self._inside(path):
                self._files.setdefault((found.kind, found.year), found)
        if not self._files:
            raise InputError(
                "holds no ICD-10-CM release file (icd10cm_codes_YEAR.txt, ...)", file=self.folder
            )

    @staticmethod
    def _inside(path: Path) -> Iterator[ReleaseFile]:
        if path.suffix.lower() != ".zip":
            found = _describe(path.name, path, None)
            if found is not None:
                yield found
            return
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        except UNREADABLE as e:
            raise InputError(f"is a corrupted zip archive ({e})", file=path) from e
        for name in names:
            found = _describe(name.rsplit("/", 1)[-1], path, name)
            if found is not None:
                yield found

    def years(self, kind: str) -> list[int]:
        """The years with a file of this kind, ascending."""
        return sorted(year for k, year in self._files if k == kind)

    def get(self, kind: str, year: int) -> ReleaseFile | None:
        """The file of exactly this year, or None."""
        return self._files.get((kind, year))

    def need(self, kind: str, year: int) -> ReleaseFile:
        """The file of exactly this year.

        Raises:
            InputError: it is missing; the message lists the years that exist.
        """
        found = self.get(kind, year)
        if found is None:
            years = ", ".join(map(str, self.years(kind))) or "no year"
            raise InputError(f"holds no {kind} file of {year}; there is {years}", file=self.folder)
        return found

    def nearest(self, kind: str, year: int) -> ReleaseFile:
        """The file of the year, else the latest before it, else the earliest after it.

        Raises:
            InputError: the folder holds none of this kind.
        """
        years = self.years(kind)
        if not years:
            raise InputError(f"holds no {kind} file of any year", file=self.folder)
        before = [y for y in years if y <= year]
        return self._files[kind, before[-1] if before else years[0]]


def text_of(element: Any) -> str:
    """All text inside an element, with white space normalised; empty for no element."""
    return "" if element is None else " ".join("".join(element.itertext()).split())


def notes_of(element: Any, tag: str) -> list[str]:
    """The texts of ``tag/note`` below an element, in document order."""
    return [t for block in element.findall(tag) for note in block.findall("note") if (t := text_of(note))]


def report_years(used: Mapping[str, ReleaseFile | None]) -> dict[str, str]:
    """What was read, by kind, for the manifest: file name and year."""
    return {
        kind: f"{f.member or f.path.name} ({f.year})" if f is not None else "not there"
        for kind, f in used.items()
    }
