"""Already-tagged facts from files: our JSONL, tagged filings, and reviewed tags.csv files."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..retrievers.errors import InputError
from ..retrievers.files import Row, read_rows, require
from ..retrievers.precedents import Precedents, Tagged
from ..retrievers.taxonomy import strip_namespace
from ..signatures.types import Fact, SourceContext
from .data import DataFolder, file_fingerprint, read_contexts, read_facts
from .documents.read import HTML, kind_of, read_document
from .domains import Domain
from .rows import fingerprint

FACTS = frozenset({".jsonl", ".ndjson"})
TAGS = frozenset({".csv", ".tsv"})


def read_precedents(
    path: str | Path, contexts: Path | None = None, domain: Domain | None = None
) -> Iterator[Tagged]:
    """The tagged facts of a file.

    Args:
        path: facts with ``gold`` (.jsonl), a filing with inline-XBRL tags (.htm), or a reviewed tags.csv of
            ``abduce tag`` (lines whose concept was emptied are passed over).
        contexts: source contexts of the facts, where they are not inline or beside the file.
        domain: whose field names a facts file uses.

    Raises:
        InputError: unreadable, of another kind, or without a single tagged fact.
    """
    path = Path(path)
    kind = kind_of(path)
    if kind in FACTS:
        found = _from_facts(path, contexts, domain)
    elif kind in HTML:
        found = _from_filing(path)
    elif kind in TAGS:
        found = _from_tags(path)
    else:
        raise InputError("is no precedents file: give .jsonl, .htm or a tags .csv", file=path)
    empty = True
    for one in found:
        empty = False
        yield one
    if empty:
        raise InputError("has no tagged facts", file=path)


def _from_facts(path: Path, contexts: Path | None, domain: Domain | None) -> Iterator[Tagged]:
    fields = domain.context_fields if domain is not None else None
    known = None if contexts is None else read_contexts(contexts, fields)
    for example in read_facts(path, known, need_gold=True, domain=domain):
        yield Tagged(example.inputs["fact"], strip_namespace(str(example.gold)))


def _from_filing(path: Path) -> Iterator[Tagged]:
    document = read_document(path)
    for fact in document.facts:
        concept = document.gold.get(fact.fact_id)
        if concept is not None and fact.fact_id not in document.own_tags:
            yield Tagged(fact, concept)


def _from_tags(path: Path) -> Iterator[Tagged]:
    for line, row in read_rows(path):
        concept = str(row.get("concept") or "").strip()
        if not concept:
            continue
        yield Tagged(_tagged_fact(row, path, line), strip_namespace(concept))


def _tagged_fact(row: Row, path: Path, line: int) -> Fact:
    """The fact of a line of a tags file. Its source context is not in the file; its headers are."""
    fact_id = require(row, "fact_id", path, line)
    value = require(row, "value", path, line).removeprefix("'")
    given: dict[str, Any] = {
        k: str(row[k]).removeprefix("'") for k in ("datatype", "filing_id", "company") if row.get(k)
    }
    locus = str(row.get("locus") or "").removeprefix("'")
    if row.get("modality") == "text":
        before, found, after = locus.partition(value)
        if not found:
            raise InputError(f"does not contain the value {value!r}", file=path, line=line, field="locus")
        context = SourceContext(context_id=f"{path}:{line}", text=locus)
        span: dict[str, Any] = {"mention_start": len(before), "mention_end": len(locus) - len(after)}
        return Fact(fact_id=fact_id, value=value, context=context, modality="text", **span, **given)
    headers: dict[str, Any] = {
        k: str(row[k]).removeprefix("'") for k in ("row_header", "column_header") if row.get(k)
    }
    if not headers:
        headers["row_header"] = require(row, "locus", path, line).removeprefix("'")
    context = SourceContext(context_id=f"{path}:{line}", text="", modality="table")
    return Fact(fact_id=fact_id, value=value, context=context, **headers, **given)


class PrecedentSource:
    """Precedents that are read and indexed when first asked for; later calls return the same index.

    Args:
        paths: what :func:`read_precedents` reads.
        contexts: source contexts of facts files, where they are not inline or beside the file.
        domain: whose field names facts files use.
    """

    def __init__(
        self, paths: Sequence[Path], contexts: Path | None = None, domain: Domain | None = None
    ) -> None:
        self.paths, self.contexts, self.domain = list(paths), contexts, domain
        self._built: Precedents | None = None
        self._lock = threading.Lock()

    def __call__(self) -> Precedents:
        with self._lock:
            if self._built is None:
                self._built = Precedents(
                    t for path in self.paths for t in read_precedents(path, self.contexts, self.domain)
                )
            return self._built

    @property
    def fingerprint(self) -> str:
        """A hash of the files' contents."""
        files = [*self.paths, *([self.contexts] if self.contexts else [])]
        return fingerprint([file_fingerprint(path) for path in files])


def domain_precedents(folder: DataFolder, domain: Domain) -> PrecedentSource | None:
    """The already-tagged facts of a data folder (of the splits that it has), or None where it has none."""
    paths = []
    for split in domain.precedents:
        with suppress(InputError):
            paths.append(folder.file(domain.name, domain.splits[split]))
    try:
        contexts = folder.file(domain.name, "contexts.jsonl.gz")
    except InputError:
        return None
    return PrecedentSource(paths, contexts, domain) if paths else None
