"""The official CodiEsp layout: annotations (TSV), Spanish cases, English translations."""

from __future__ import annotations

import io
import os
import re
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ....retrievers.errors import InputError
from ....retrievers.outside import check_regular, read_bytes
from ..icd10cm.release import UNREADABLE

SPLITS = ("train", "dev", "test")
MAX_FILE = 8 * 1024 * 1024
"""A file of the corpus is at most this large (the largest official one has 0.6 MB)."""

MAX_ARCHIVE = 512 * 1024 * 1024
"""Bytes of a tar archive, unpacked."""

_TEXT = re.compile(r"(?:^|/)(train|dev|test)/text_files(_en)?/([^/]+)\.txt$")
_TABLE = re.compile(r"(?:^|/)(train|dev|test)X\.tsv$")
_CODE = re.compile(r"[A-Z]\d[0-9A-Z](?:\.[0-9A-Z]{1,4})?")


@dataclass(frozen=True)
class Case:
    """A clinical case: the Spanish original and its machine translation, one sentence per line."""

    case_id: str
    split: str
    text_es: str
    text_en: str


@dataclass(frozen=True)
class Annotation:
    """A diagnosis code of a Spanish mention. ``spans`` are offsets into the Spanish text, in text order."""

    split: str
    case_id: str
    code: str
    mention_es: str
    spans: tuple[tuple[int, int], ...]
    line: int

    @property
    def fact_id(self) -> str:
        """``dev-X00003``: split and line of the annotation."""
        return f"{self.split}-X{self.line:05d}"


@dataclass
class CodiEsp:
    """Cases by id, and the diagnosis annotations in file order.

    ``dropped`` counts the skipped annotations, by reason.
    """

    cases: dict[str, Case]
    annotations: list[Annotation]
    dropped: dict[str, int] = field(default_factory=dict)

    def drop(self, reason: str) -> None:
        """Count a skipped annotation."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1


def read_corpus(path: str | Path, splits: Sequence[str] = SPLITS) -> CodiEsp:
    """Read a folder, a ``.tar.gz`` or a ``.zip`` of the official layout, without unpacking it.

    The cases of all splits are read, because alignment learns from them; only the annotations of ``splits``
    are.

    Raises:
        InputError: missing, corrupted, another layout, or a bad line.
    """
    path = Path(path)
    if not os.path.exists(path):
        raise InputError("no such file or folder", file=path)
    texts: dict[tuple[str, str, bool], str] = {}
    tables: dict[str, tuple[str, str]] = {}
    for name, data in _files(path):
        text = _TEXT.search(name)
        table = _TABLE.search(name)
        if text is None and table is None:
            continue
        try:
            content = data.decode("utf-8-sig")
        except UnicodeDecodeError as e:
            raise InputError(f"is not UTF-8 (byte {e.start})", file=f"{path}!{name}") from e
        if text is not None:
            texts[text[1], text[3], bool(text[2])] = content
        elif table is not None:
            tables[table[1]] = f"{path}!{name}", content
    if not tables or not texts:
        raise InputError(
            "is not the CodiEsp layout (train, dev, test with <split>X.tsv, text_files and text_files_en)",
            file=path,
        )
    cases = {
        case: Case(case, split, es, texts[split, case, True])
        for (split, case, english), es in texts.items()
        if not english and (split, case, True) in texts
    }
    corpus = CodiEsp(cases, [])
    for split in SPLITS:
        if split in tables and split in splits:
            _read_table(*tables[split], split, corpus)
    return corpus


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of every file that may belong to the corpus, sorted by name."""
    try:
        if os.path.isdir(path):
            for file in sorted(p for p in path.rglob("*") if p.suffix in (".txt", ".tsv")):
                yield file.relative_to(path).as_posix(), read_bytes(file, MAX_FILE)
            return
        check_regular(path)
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for info in sorted(archive.infolist(), key=lambda i: i.filename):
                    if info.filename.endswith((".txt", ".tsv")):
                        _check_size(path, info.filename, info.file_size)
                        yield info.filename, archive.read(info)
        else:
            with tarfile.open(fileobj=io.BytesIO(read_bytes(path, MAX_ARCHIVE)), mode="r:") as tar:
                for member in sorted(tar.getmembers(), key=lambda m: m.name):
                    stream = tar.extractfile(member) if member.isfile() else None
                    if stream is not None and member.name.endswith((".txt", ".tsv")):
                        _check_size(path, member.name, member.size)
                        yield member.name, stream.read()
    except UNREADABLE as e:
        raise InputError(
            f"is corrupted, or neither a folder, a tar nor a zip archive ({e})", file=path
        ) from e


def _check_size(path: Path, name: str, size: int) -> None:
    if size > MAX_FILE:
        raise InputError(f"is larger than {MAX_FILE >> 20} MB", file=f"{path}!{name}")


def _read_table(name: str, content: str, split: str, corpus: CodiEsp) -> None:
    """The diagnosis lines of a ``<split>X.tsv``; the same code with the same spans counts once."""
    seen: set[tuple[str, str, tuple[tuple[int, int], ...]]] = set()
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != 5:
            raise InputError(f"has {len(cells)} columns; needed are 5", file=name, line=number)
        case_id, label, code, mention, positions = (c.strip() for c in cells)
        if label != "DIAGNOSTICO":
            continue
        if case_id not in corpus.cases:
            corpus.drop("case text not in the archive")
            continue
        try:
            spans = tuple(sorted((int(a), int(b)) for a, b in (p.split() for p in positions.split(";"))))
        except ValueError:
            raise InputError(
                f"{positions!r} are not spans", file=name, line=number, field="position"
            ) from None
        n = len(corpus.cases[case_id].text_es)
        if any(not 0 <= a <= b <= n for a, b in spans):
            raise InputError(f"span outside the case's text ({n} characters)", file=name, line=number)
        spans = tuple((a, b) for a, b in spans if a < b)  # the official train set has one empty span
        if not spans:
            corpus.drop("empty span")
            continue
        if not mention:
            raise InputError("is empty", file=name, line=number, field="text-reference")
        code = code.upper()
        if not _CODE.fullmatch(code):
            corpus.drop("not a diagnosis code")
            continue
        key = (case_id, code, spans)
        if key in seen:
            corpus.drop("same code on the same span")
            continue
        seen.add(key)
        corpus.annotations.append(Annotation(split, case_id, code, mention, spans, number))
