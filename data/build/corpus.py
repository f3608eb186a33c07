"""Build a passage corpus from documents: the rows of ``abduce data build corpus``."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...retrievers.errors import InputError
from ...retrievers.files import check_out, write_bytes
from ..chunking import TARGET
from ..texts import passages_of


@dataclass
class Built:
    """The counts of what was written. ``characters``: of all passages."""

    documents: int = 0
    passages: int = 0
    characters: int = 0
    bad: list[InputError] = field(default_factory=list)


def build_corpus(sources: Sequence[Path], out: Path, size: int = TARGET, *, skip_bad: bool = False) -> Built:
    """Write the passages of some documents.

    A passage is ``{"id": "DOCUMENT_N", "title", "content", ...}``, N from 0, with further fields of the
    document. The file is replaced as a whole or not at all.

    Args:
        sources: files or folders.
        out: ``.jsonl`` or ``.jsonl.gz``.
        size: the most characters per passage.
        skip_bad: skip bad documents and count them.

    Raises:
        InputError: a missing or unsupported source, a bad document, a duplicate id, no passages.
    """
    check_out(out, (".jsonl", ".jsonl.gz"))
    built, lines, documents = Built(), [], set()
    for document, row in passages_of(sources, size, built.bad if skip_bad else None):
        documents.add(document)
        lines.append(json.dumps(row, ensure_ascii=False))
        built.characters += len(row["content"])
    built.documents, built.passages = len(documents), len(lines)
    if not lines:
        raise InputError("there are no passages to write", file=out)
    data = ("\n".join(lines) + "\n").encode()
    write_bytes(out, gzip.compress(data, mtime=0) if out.suffix == ".gz" else data)
    return built
