"""Build an inventory of concepts from an official XBRL taxonomy release (US-GAAP of any year, or any other).

It reads the schemas (``*.xsd``: names, datatypes, balance, period type, abstract) and the label linkbases
(``*.xml``: standard and documentation labels, deprecation). Files are parsed as a stream. A document type
declaration is refused, so no entity is expanded and no other file or address is opened.
"""

from __future__ import annotations

import gzip
import json
import lzma
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from ...retrievers.errors import InputError
from ...retrievers.files import make_folder, write_bytes
from ...retrievers.outside import check_regular

XS = "{http://www.w3.org/2001/XMLSchema}"
XBRLI = "{http://www.xbrl.org/2003/instance}"
LINK = "{http://www.xbrl.org/2003/linkbase}"
XLINK = "{http://www.w3.org/1999/xlink}"
LANG = "{http://www.w3.org/XML/1998/namespace}lang"

STANDARD = "http://www.xbrl.org/2003/role/label"
DOCUMENTATION = "http://www.xbrl.org/2003/role/documentation"

MAX_FILE = 512 * 1024 * 1024
"""Bytes of one file of a release after unpacking."""

MAX_RELEASE = 2 * 1024 * 1024 * 1024
"""Bytes of all schemas and linkbases of a release after unpacking."""

MAX_PARTS = 20_000
"""Schemas and linkbases of a release."""

_DEPRECATED_ROLE = re.compile(r"/deprecated(?:Date)?Label$")
_DEPRECATED_TEXT = re.compile(r"\(Deprecated (\d{4}-\d{2}-\d{2})\)", re.IGNORECASE)
_YEAR = re.compile(r"/(20\d\d)(?:-\d\d-\d\d)?/?$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)")


@dataclass
class Element:
    """One declared concept."""

    name: str
    prefix: str
    year: str
    datatype: str | None
    balance: str | None
    period_type: str | None
    abstract: bool
    labels: dict[str, str] = field(default_factory=dict)


@dataclass
class Built:
    """What was built: the inventory's path and lines for the user."""

    path: Path
    lines: list[str]


def build_us_gaap(
    source: Path,
    out: Path,
    prefix: str = "us-gaap",
    year: str | None = None,
    abstract: bool = True,
    deprecated: bool = True,
) -> Built:
    """Build an inventory (``concepts.jsonl.gz``) from a release.

    Args:
        source: a folder with the release's files, at any depth, or its published zip archive.
        out: the output folder; made if missing.
        prefix: the part of an element's id before the underscore (``us-gaap_Assets``); other elements are
            skipped.
        year: the release's year; needed only if the folder has several.
        abstract: keep abstract concepts (they are marked).
        deprecated: keep deprecated concepts (they are marked).

    Raises:
        InputError: no element with that prefix, several years, or a file that is malformed, too large, or has
            a document type declaration.
    """
    elements: dict[str, Element] = {}
    linkbases = 0
    files = list(_files(source))
    for name, opened in files:
        if name.endswith(".xsd"):
            for id_, element in _elements(name, opened):
                if element.prefix == prefix and (year is None or element.year in ("", year)):
                    _keep(elements, id_, element, source)
    if not elements:
        what = f" of {year}" if year else ""
        raise InputError(f"has no schema (*.xsd) that declares {prefix}_... concepts{what}", file=source)
    for name, opened in files:
        if name.endswith(".xml"):
            linkbases += _labels(name, opened, elements)
    rows = [row for row in map(_row, elements.values()) if _wanted(row, abstract, deprecated)]
    rows.sort(key=lambda r: r["id"])
    return _written(rows, out, prefix, elements, linkbases)


def _keep(elements: dict[str, Element], id_: str, element: Element, source: Path) -> None:
    known = elements.setdefault(id_, element)
    if known.year != element.year:
        years = sorted({known.year, element.year})
        raise InputError(f"has several years ({', '.join(years)}): give --year", file=source)


def _files(source: Path) -> Iterator[tuple[str, Any]]:
    """(name, opener) of each schema and linkbase, sorted by name; none is held in memory."""
    sizes: list[tuple[str, int, Any]] = []
    if not os.path.isdir(source):
        check_regular(source)
    if os.path.isdir(source):
        found = sorted(p for p in source.rglob("*") if p.suffix in (".xsd", ".xml") and os.path.isfile(p))
        sizes = [(str(path), path.stat().st_size, path.open) for path in found]
    else:
        for part in _parts(source):
            if part.file_size > 300 * max(1, part.compress_size):
                raise InputError(f"its part {part.filename} unpacks to too much", file=source)
            sizes.append((f"{source}:{part.filename}", part.file_size, partial(_open_part, source, part)))
    large = next((name for name, size, _ in sizes if size > MAX_FILE), None)
    if large is not None:
        raise InputError(f"is larger than {MAX_FILE // 2**20} MB", file=large)
    total = sum(size for _, size, _ in sizes)
    if total > MAX_RELEASE or len(sizes) > MAX_PARTS:
        raise InputError(
            f"has {len(sizes):,} schemas and linkbases, {total // 2**20:,} MB in all: a release has at most "
            f"{MAX_PARTS:,} and {MAX_RELEASE // 2**20:,} MB",
            file=source,
        )
    for name, _, opened in sizes:
        yield name, opened


_ZIP_ERRORS = (zipfile.BadZipFile, RuntimeError, OSError, EOFError, zlib.error, lzma.LZMAError)
"""A broken archive, an encrypted part, a way of packing that is not known (a RuntimeError, too)."""


def _parts(source: Path) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(source) as archive:
            found = [p for p in archive.infolist() if p.filename.endswith((".xsd", ".xml"))]
    except _ZIP_ERRORS as e:
        raise InputError(f"is neither a folder nor a zip archive ({e})", file=source) from e
    return sorted(found, key=lambda p: p.filename)


@contextmanager
def _open_part(source: Path, part: zipfile.ZipInfo, mode: str) -> Iterator[IO[bytes]]:
    """A part of an archive, unpacked as it is read, with no more bytes than the archive states."""
    try:
        with zipfile.ZipFile(source) as archive, archive.open(part) as stream:
            yield stream
    except _ZIP_ERRORS as e:
        raise InputError(f"cannot be unpacked ({e})", file=f"{source}:{part.filename}") from e


def _events(name: str, opened: Any) -> Iterator[Any]:
    """The elements of a file as they end."""
    from lxml import etree

    with opened("rb") as stream:
        try:
            for event, element in etree.iterparse(
                stream,
                events=("start", "end"),
                resolve_entities=False,
                no_network=True,
                load_dtd=False,
                huge_tree=False,
                remove_comments=True,
                remove_pis=True,
            ):
                if event == "end":
                    yield element
                elif element.getparent() is None and element.getroottree().docinfo.doctype:
                    raise InputError("has a document type declaration, which is not accepted", file=name)
        except etree.XMLSyntaxError as e:
            raise InputError(f"is not well-formed XML: {e.msg}", file=name, line=e.lineno) from e


def _elements(name: str, opened: Any) -> Iterator[tuple[str, Element]]:
    """The items that a schema declares, by id (``us-gaap_Assets``)."""
    year = ""
    found: list[tuple[str, Element]] = []
    for node in _events(name, opened):
        if node.tag == f"{XS}schema":
            match = _YEAR.search(node.get("targetNamespace") or "")
            year = match[1] if match else ""
        elif node.tag == f"{XS}element" and node.get("name") and node.get("substitutionGroup"):
            id_ = node.get("id") or ""
            prefix, _, rest = id_.rpartition("_")
            kind = (node.get("type") or "").rpartition(":")[2] or None
            element = Element(
                name=node.get("name"),
                prefix=prefix if rest else "",
                year="",
                datatype=kind,
                balance=node.get(f"{XBRLI}balance"),
                period_type=node.get(f"{XBRLI}periodType"),
                abstract=(node.get("abstract") or "").strip() in ("true", "1"),
            )
            found.append((id_, element))
            node.clear()
    for id_, element in found:
        element.year = year
        yield id_, element


def _labels(name: str, opened: Any, elements: Mapping[str, Element]) -> int:
    """Attach a linkbase's labels to the elements; returns 1 if it has any."""
    any_label = 0
    for link in _events(name, opened):
        if link.tag != f"{LINK}labelLink":
            continue
        places, texts = _ends(link)
        prohibited = {_arc(a) for a in link.iter(f"{LINK}labelArc") if a.get("use") == "prohibited"}
        for arc in link.iter(f"{LINK}labelArc"):
            source, target = _arc(arc)
            if (source, target) in prohibited:
                continue
            for id_ in places.get(source, ()):
                if id_ in elements:
                    for role, text in texts.get(target, ()):
                        elements[id_].labels.setdefault(role, text)
                        any_label = 1
        link.clear()
    return any_label


def _arc(arc: Any) -> tuple[str, str]:
    return arc.get(f"{XLINK}from") or "", arc.get(f"{XLINK}to") or ""


def _ends(link: Any) -> tuple[dict[str, list[str]], dict[str, list[tuple[str, str]]]]:
    """A label link's locators (ids) and its English labels (role, text), by their xlink:label."""
    places: dict[str, list[str]] = {}
    texts: dict[str, list[tuple[str, str]]] = {}
    for loc in link.iter(f"{LINK}loc"):
        _, _, id_ = (loc.get(f"{XLINK}href") or "").partition("#")
        places.setdefault(loc.get(f"{XLINK}label") or "", []).append(id_)
    for label in link.iter(f"{LINK}label"):
        language = (label.get(LANG) or "en").lower()
        text = " ".join("".join(label.itertext()).split())
        if language.startswith("en") and text:
            role = label.get(f"{XLINK}role") or STANDARD
            texts.setdefault(label.get(f"{XLINK}label") or "", []).append((role, text))
    return places, texts


def _row(element: Element) -> dict[str, Any]:
    """One line of the inventory."""
    label = element.labels.get(STANDARD)
    said = next((text for role, text in element.labels.items() if _DEPRECATED_ROLE.search(role)), "")
    date = _DEPRECATED_TEXT.search(label or "") or re.search(r"(\d{4}-\d{2}-\d{2})", said)
    definition = element.labels.get(DOCUMENTATION, "")
    row: dict[str, Any] = {
        "id": element.name,
        "label": _DEPRECATED_TEXT.sub("", label).strip() if label else " ".join(_CAMEL.split(element.name)),
        "label_source": "official" if label else "camel_case_split",
        "definition": definition,
        "usage_neutral_definition": definition,
        "datatype": element.datatype,
        "balance": element.balance,
        "period_type": element.period_type,
        "abstract": element.abstract,
        "deprecated": bool(date or said),
    }
    if date:
        row["deprecated_date"] = date[1]
    return row


def _wanted(row: Mapping[str, Any], abstract: bool, deprecated: bool) -> bool:
    return (abstract or not row["abstract"]) and (deprecated or not row["deprecated"])


def _written(
    rows: list[dict[str, Any]], out: Path, prefix: str, elements: Mapping[str, Element], linkbases: int
) -> Built:
    if not rows:
        raise InputError(f"every {prefix} concept was left out", file=out)
    duplicates = [n for n, count in Counter(r["id"] for r in rows).items() if count > 1]
    if duplicates:
        raise InputError(f"the concept {duplicates[0]!r} is declared twice", file=out)
    make_folder(out)
    path = out / "concepts.jsonl.gz"
    write_bytes(path, packed(rows))
    years = sorted({e.year for e in elements.values() if e.year})
    kinds = Counter(r["datatype"] for r in rows)
    official = sum(r["label_source"] == "official" for r in rows)
    defined = sum(bool(r["definition"]) for r in rows)
    lines = [
        f"{path}: {len(rows):,} {prefix} concepts{' of ' + ', '.join(years) if years else ''}",
        f"{linkbases} label linkbases: {official:,} official labels, {defined:,} definitions",
        f"{sum(r['abstract'] for r in rows):,} abstract, {sum(r['deprecated'] for r in rows):,} deprecated",
        "datatypes: " + ", ".join(f"{k or 'none'} {n:,}" for k, n in kinds.most_common(6)),
    ]
    return Built(path, lines)


def packed(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Rows as gzip-compressed JSONL; the same rows give the same bytes."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return gzip.compress(text.encode("utf-8"), mtime=0)
