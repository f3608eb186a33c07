"""Texts and rows of documents, cut into passages."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..documents.words import PAGES, words_of
from ..retrievers.corpus import CONTENT_FIELDS, ID_FIELDS, TITLE_FIELDS
from ..retrievers.errors import InputError
from ..retrievers.files import Row, first_of, open_text, read_rows, require
from .chunking import TARGET, chunks
from .parquet import read_parquet

LOG = logging.getLogger("abduce.data")

TEXT_FILES = (".txt", ".md", *PAGES, ".pdf")
"""Files that are cut into passages."""


@dataclass(frozen=True)
class SourceText:
    """One document; ``more`` are further fields, which all its passages keep."""

    id: str
    title: str
    content: str
    more: dict[str, Any] = field(default_factory=dict)


def passages_of(
    sources: Sequence[Path], size: int = TARGET, bad: list[InputError] | None = None
) -> Iterator[tuple[str, Row]]:
    """Yield (document id, passage) of documents, in order.

    Args:
        sources: files or folders.
        size: the most characters per passage.
        bad: if given, bad documents are appended here and skipped.

    Raises:
        InputError: a missing or unsupported source, a bad document, a duplicate id.
    """
    seen: dict[str, str] = {}
    for source in sources:
        for place, found in _documents(source, bad):
            if found.id in seen:
                problem = InputError(f"duplicate id {found.id!r}, first in {seen[found.id]}", file=place)
                if bad is None:
                    raise problem
                bad.append(problem)
                continue
            seen[found.id] = place
            for number, text in enumerate(chunks(found.content, size)):
                yield (
                    found.id,
                    {"id": f"{found.id}_{number}", "title": found.title, "content": text, **found.more},
                )


def _documents(source: Path, bad: list[InputError] | None) -> Iterator[tuple[str, SourceText]]:
    """(position, document) of one source."""
    if os.path.isdir(source):
        there = sorted(p for p in source.rglob("*") if os.path.isfile(p) and not p.name.startswith("."))
        files = [p for p in there if p.suffix.lower() in TEXT_FILES]
        if not files:
            raise InputError(f"holds no text files ({', '.join(TEXT_FILES)})", file=source)
        if others := Counter(p.suffix.lower() or p.name for p in there if p.suffix.lower() not in TEXT_FILES):
            LOG.info(
                "%s: not read: %s", source, ", ".join(f"{n} {kind}" for kind, n in others.most_common(9))
            )
        for path in files:
            yield from _kept(lambda path=path: _text_file(path, source), str(path), bad)
    elif source.suffix.lower() in TEXT_FILES:
        yield from _kept(lambda: _text_file(source, source.parent), str(source), bad)
    else:
        rows = read_parquet(source) if source.suffix == ".parquet" else read_rows(source, bad)
        for line, row in rows:
            yield from _kept(lambda row=row, line=line: _row(row, source, line), f"{source}:{line}", bad)


def _kept(read: Any, place: str, bad: list[InputError] | None) -> Iterator[tuple[str, SourceText]]:
    try:
        yield place, read()
    except InputError as e:
        if bad is None:
            raise
        bad.append(e)


def _text_file(path: Path, root: Path) -> SourceText:
    if path.suffix.lower() in (".txt", ".md"):
        with open_text(path) as stream:
            text = stream.read()
    else:
        text = words_of(path)
    if not text.strip():
        raise InputError("is empty", file=path)
    name = path.relative_to(root).with_suffix("").as_posix()
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    title = first.lstrip("# ") if first.startswith("#") else path.stem.replace("_", " ")
    return SourceText(name, title, text, {"source": path.name})


def _row(row: Row, path: Path, line: int) -> SourceText:
    id_ = require(row, first_of(row, ID_FIELDS) or "id", path, line).strip()
    text_field = first_of(row, CONTENT_FIELDS) or "content"
    content = require(row, text_field, path, line)
    title_field = first_of(row, TITLE_FIELDS) or "title"
    title = row.get(title_field) or ""
    if not isinstance(title, str):
        raise InputError("must be a text", file=path, line=line, field=title_field)
    used = {*ID_FIELDS, text_field, title_field}
    more = {k: v for k, v in row.items() if k not in used and v not in (None, "", [])}
    return SourceText(id_, title, content, more)
