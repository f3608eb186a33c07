"""Read earlier decisions from any supported file, and reopen written tags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ...documents.read import kind_of
from ...retrievers.base import Ranking
from ...retrievers.concept_ids import strip_namespace
from ...retrievers.errors import InputError
from ...retrievers.taxonomy import Taxonomy
from ..decisions import STATES, Decision, latest
from ..tag import Tag
from ..tags_file import read_rows_of, tagged_fact
from .journal import read_journal
from .labelstudio import read_export

TABLES = frozenset({".csv", ".tsv", ".xlsx"})


def read_decisions(path: Path) -> dict[str, Decision]:
    """The latest decision on each fact in a file.

    Args:
        path: a journal (.jsonl), a JSON export of Label Studio (.json), or reviewed tags (.csv, .xlsx).

    Raises:
        InputError: another format, or names the bad line.
    """
    kind = kind_of(path)
    if kind == ".jsonl":
        return latest(read_journal(path))
    if kind == ".json":
        return latest(read_export(path))
    if kind in TABLES:
        return latest(_table_decisions(path))
    raise InputError("is none of .jsonl (a journal), .json (Label Studio), .csv and .xlsx (tags)", file=path)


def _table_decisions(path: Path) -> Iterator[Decision]:
    for line, row in read_rows_of(path):
        state = str(row.get("state") or "").strip()
        note, flag = str(row.get("note") or "").removeprefix("'"), str(row.get("flag") or "").strip()
        if state and state not in STATES:
            raise InputError(f"{state!r} is none of {', '.join(STATES)}", file=path, line=line, field="state")
        if state or note or flag:
            concept = strip_namespace(str(row.get("concept") or "").removeprefix("'").strip())
            record = {
                "fact_id": str(row.get("fact_id") or "").removeprefix("'"),
                "state": state or "open",
                "concept": concept if state in ("accepted", "corrected", "suggested") else "",
                "note": note,
                "flag": flag.lower() in ("yes", "true", "1"),
            }
            yield Decision.of(record, path, line)


def read_tags_again(path: Path, taxonomy: Taxonomy) -> list[Tag]:
    """The tags of a tags file, with what it stores: concepts in order, confidence and evidence.

    Raises:
        InputError: names the file, line and field of the error; or there are no tags.
    """
    tags = []
    for line, row in read_rows_of(path):
        fact = tagged_fact(row, path, line)
        said = _concepts(row)
        ids = [i for i in dict.fromkeys(said) if i]
        confidence = _number(row, "confidence", path, line)
        label = taxonomy[ids[0]].label if ids and ids[0] in taxonomy else ""
        evidence = str(row.get("evidence") or "").removeprefix("'")
        tags.append(Tag(fact, Ranking.of(ids), label, evidence, confidence))
    if not tags:
        raise InputError("has no tags", file=path)
    return tags


def _concepts(row: Mapping[str, object]) -> list[str]:
    names = [str(row.get("concept") or ""), *str(row.get("runner_up_concepts") or "").split(";")]
    return [strip_namespace(n.strip().removeprefix("'")) for n in names]


def _number(row: Mapping[str, object], name: str, path: Path, line: int) -> float | None:
    text = str(row.get(name) if row.get(name) is not None else "").strip().replace(",", ".")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InputError(f"{text!r} is no probability", file=path, line=line, field=name)
    return value
