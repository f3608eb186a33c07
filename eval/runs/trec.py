"""Runs and qrels in TREC's text formats.

A run line is ``query Q0 document rank score tag``; a qrels line is ``query 0 document grade``. TREC tools
sort by score in single precision and break ties in their own ways, so a written score is lowered by
the least possible amount wherever it would not fall strictly: the order read is the order written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...retrievers.errors import InputError
from ...retrievers.files import open_text, write_text


@dataclass(frozen=True)
class TrecRanking:
    """One query's ranking: ids best first, and their scores."""

    ids: Sequence[str]
    scores: Sequence[float]


def _word(text: str, what: str) -> str:
    if not text or len(text.split()) != 1 or text.strip() != text:
        raise InputError(f"{what} {text!r} cannot be written to a TREC file: it is empty or has white space")
    return text


def _falling(scores: Iterable[float]) -> Iterator[np.float32]:
    """The scores in single precision, each below the one before it."""
    last = np.float32(np.inf)
    for score in scores:
        last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        yield last


def write_run(path: str | Path, rankings: Mapping[str, TrecRanking], tag: str = "abduce") -> None:
    """Write one run; ``tag`` names the system (white space becomes ``_``).

    Raises:
        InputError: an id that has white space, or the file cannot be written.
    """
    tag = "_".join(tag.split()) or "abduce"
    lines = []
    for query, ranking in rankings.items():
        _word(query, "query id")
        pairs = zip(ranking.ids, _falling(ranking.scores), strict=True)
        for rank, (id_, score) in enumerate(pairs, 1):
            lines.append(f"{query} Q0 {_word(id_, 'document id')} {rank} {score!s} {tag}\n")
    write_text(Path(path), "".join(lines))


def write_qrels(path: str | Path, qrels: Mapping[str, Mapping[str, float]]) -> None:
    """Write relevance grades: whole numbers, above 0 means relevant.

    Raises:
        InputError: an id that has white space, a grade that is no whole number, or an unwritable file.
    """
    lines = []
    for query, grades in qrels.items():
        _word(query, "query id")
        for id_, grade in grades.items():
            if not float(grade).is_integer():
                raise InputError(f"grade {grade} of {id_!r}: TREC grades are whole numbers")
            lines.append(f"{query} 0 {_word(id_, 'document id')} {int(grade)}\n")
    write_text(Path(path), "".join(lines))


def _fields(path: Path, names: str) -> Iterator[tuple[int, list[str]]]:
    expected = len(names.split())
    with open_text(path) as stream:
        for number, line in enumerate(stream, 1):
            parts = line.split()
            if not parts:
                continue
            if len(parts) != expected:
                raise InputError(f"has {len(parts)} fields, not {expected} ({names})", file=path, line=number)
            yield number, parts


def _number(text: str, path: Path, line: int, field: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value != value:
        raise InputError(f"{text!r} is not a number", file=path, line=line, field=field)
    return value


def read_run(path: str | Path) -> dict[str, TrecRanking]:
    """Rankings by query: by score descending, and where scores tie by the rank that the file states.

    Raises:
        InputError: a missing file, a malformed line, or a document twice under one query.
    """
    path = Path(path)
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for line, (query, _, id_, rank, score, _) in _fields(path, "query Q0 document rank score tag"):
        places = found.setdefault(query, {})
        if id_ in places:
            raise InputError(f"duplicate document {id_!r} under query {query!r}", file=path, line=line)
        places[id_] = (-_number(score, path, line, "score"), _number(rank, path, line, "rank"))
    runs = {}
    for query, places in found.items():
        ids = sorted(places, key=places.__getitem__)
        runs[query] = TrecRanking(ids, [-places[i][0] for i in ids])
    return runs


def read_qrels(path: str | Path) -> dict[str, dict[str, int]]:
    """Grades by query and document.

    Raises:
        InputError: a missing file, a malformed line, or a grade that is no whole number.
    """
    path = Path(path)
    qrels: dict[str, dict[str, int]] = {}
    for line, (query, _, id_, grade) in _fields(path, "query 0 document grade"):
        value = _number(grade, path, line, "grade")
        if not value.is_integer():
            raise InputError(f"{grade!r} is not a whole number", file=path, line=line, field="grade")
        qrels.setdefault(query, {})[id_] = int(value)
    return qrels
