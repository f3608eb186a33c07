"""Read facts files and source contexts (JSONL or CSV) as examples."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from ..retrievers.concept_ids import strip_namespace
from ..retrievers.errors import InputError
from ..retrievers.files import Row, read_jsonl, read_rows, require
from ..signatures.types import Fact, SourceContext
from .domains import Domain
from .example import Example, fingerprint
from .kept import FactInputs, KeptFacts
from .parquet import read_parquet


def _renamed(row: Row, fields: Mapping[str, str]) -> Row:
    """A row that also has our names for the file's fields."""
    return row | {ours: row[theirs] for ours, theirs in fields.items() if theirs in row and ours not in row}


def read_contexts(path: Path, fields: Mapping[str, str] | None = None) -> dict[str, SourceContext]:
    """Source contexts by id, from JSONL with ``context_id`` and ``source_context``.

    ``fields`` maps these names to those in the file.
    """
    found: dict[str, SourceContext] = {}
    for line, given in read_jsonl(path):
        row = _renamed(given, fields or {})
        id_ = require(row, "context_id", path, line)
        text = require(row, "source_context", path, line)
        found[id_] = _context(id_, text, row, path, line)
    return found


def _context(id_: str, text: str, row: Row, path: Path, line: int) -> SourceContext:
    modality = row.get("modality") or ("table" if "<table" in text[:500].lower() else "text")
    try:
        return SourceContext.model_validate(
            {
                "context_id": id_,
                "text": text,
                "modality": modality,
                "preceding_text": row.get("preceding_text") or "",
            }
        )
    except ValidationError as e:
        raise InputError.of_validation(e, file=path, line=line) from e


_FACT_FIELDS = tuple(f for f in Fact.model_fields if f not in ("context", "fact_id", "value"))


def read_facts(
    path: str | Path,
    contexts: Mapping[str, SourceContext] | None = None,
    bad: list[InputError] | None = None,
    need_gold: bool = False,
    domain: Domain | None = None,
) -> Iterator[Example]:
    """Yield the facts of a JSONL, CSV or Parquet file.

    A fact has a ``fact_id``, a ``value`` and a source context, which is inline as ``source_context`` or found
    by ``context_id`` in ``contexts`` (default: the file ``contexts.jsonl`` or ``contexts.jsonl.gz`` in the
    same folder). ``gold`` is optional and kept separate from the fact.

    Args:
        path: the facts file.
        contexts: source contexts by id.
        bad: if given, bad facts are appended here and skipped.
        need_gold: a fact without ``gold`` is bad.
        domain: gives the file's field names, constants and groups.

    Raises:
        InputError: names the file, line and field of the error.
    """
    path = Path(path)
    if contexts is None:
        contexts = contexts_beside(path, domain)
    seen: set[int] = set()  # of hashes: 100,000 ids are 6 MB
    for line, row in _rows(path, bad):
        if domain is not None:
            row = {**domain.fact_constants, **_renamed(row, domain.fact_fields)}
        try:
            example = _fact(row, contexts, path, line, need_gold, {} if domain is None else domain.groups)
            if hash(example.id) in seen:
                where = (
                    f"first in line {_line_of(example.id, path)}" if bad is None else "as in an earlier line"
                )
                raise InputError(
                    f"duplicate id {example.id!r}, {where}", file=path, line=line, field="fact_id"
                )
        except InputError as e:
            if bad is None:
                raise
            bad.append(e)
            continue
        seen.add(hash(example.id))
        yield example


def contexts_beside(path: Path, domain: Domain | None = None) -> dict[str, SourceContext]:
    """The source contexts of ``contexts.jsonl`` or ``contexts.jsonl.gz`` next to a facts file; empty without
    such a file.
    """
    beside = [path.parent / name for name in ("contexts.jsonl", "contexts.jsonl.gz")]
    fields = None if domain is None else domain.context_fields
    return next((read_contexts(p, fields) for p in beside if os.path.isfile(p)), {})


def keep_facts(
    path: str | Path,
    contexts: Mapping[str, SourceContext] | None = None,
    bad: list[InputError] | None = None,
    need_gold: bool = False,
    domain: Domain | None = None,
) -> KeptFacts:
    """All facts of :func:`read_facts`, with a few bytes of memory per fact."""
    if contexts is None:
        contexts = contexts_beside(Path(path), domain)
    return KeptFacts(read_facts(path, contexts, bad, need_gold, domain), contexts)


def _rows(path: Path, bad: list[InputError] | None = None) -> Iterator[tuple[int, Row]]:
    return read_parquet(path) if path.suffix == ".parquet" else read_rows(path, bad)


def _line_of(id_: str, path: Path) -> int:
    """The first line of a facts file with an id."""
    return next((line for line, row in _rows(path) if str(row.get("fact_id")) == id_), 0)


def _fact(
    row: Row,
    contexts: Mapping[str, SourceContext],
    path: Path,
    line: int,
    need_gold: bool,
    more_groups: Mapping[str, str],
) -> Example:
    id_ = require(row, "fact_id", path, line)
    value = require(row, "value", path, line)
    if row.get("source_context"):
        text = require(row, "source_context", path, line)
        context = _context(str(row.get("context_id") or id_), text, row, path, line)
    else:
        context_id = require(row, "context_id", path, line)
        if context_id not in contexts:
            raise InputError(f"no source context {context_id!r}", file=path, line=line, field="context_id")
        context = contexts[context_id]
    given = {k: v for k in _FACT_FIELDS if (v := row.get(k)) is not None and v != ""}
    given.setdefault("modality", "text" if "mention_start" in given else context.modality)
    if isinstance(given.get("datatype"), str):
        given["datatype"] = strip_namespace(given["datatype"])
    try:
        fact = Fact(fact_id=id_, value=value, context=context, **given)
    except ValidationError as e:
        raise InputError.of_validation(e, file=path, line=line) from e
    gold = row.get("gold") or ""
    if need_gold:
        gold = require(row, "gold", path, line)
    groups = {"modality": fact.modality, "datatype": fact.datatype or "none"}
    groups |= {name: str(row[field]) for name, field in more_groups.items() if field in row}
    gold = strip_namespace(str(gold))
    return Example(
        id_, FactInputs.of(fact), gold, context.context_id, groups, fingerprint([{"fact": fact}, gold])
    )
