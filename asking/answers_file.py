"""Answers as JSONL (everything) or CSV (one line per question)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..retrievers.files import check_out, csv_text, write_text
from .answer import Answer

COLUMNS = (
    "id", "question", "answer", "answer_text", "confidence", "sure_for", "gold", "right", "exact", "program",
    "cited", "passages", "reasoning", "error",
)  # fmt: skip


ENDINGS = (".jsonl", ".csv")
"""Of files of answers; a device or a pipe gets JSONL."""


def write_answers(path: Path, answers: Iterable[Answer]) -> None:
    """Write answers; the file is replaced as a whole or not at all.

    Raises:
        InputError: it ends in neither ``.jsonl`` nor ``.csv``, or cannot be written.
    """
    check_out(path, ENDINGS)
    write_text(path, as_csv(answers) if path.suffix == ".csv" else as_jsonl(answers))


def as_jsonl(answers: Iterable[Answer]) -> str:
    """One JSON object per line."""
    return "".join(answer.model_dump_json() + "\n" for answer in answers)


def as_csv(answers: Iterable[Answer]) -> str:
    """A header and one line per question. ``cited`` and ``passages`` are passage ids separated by blanks:
    those that support the answer, and the whole context.
    """
    lines = []
    for answer in answers:
        ids = [passage.id for passage in answer.evidence]
        more = {"cited": " ".join(ids[n - 1] for n in answer.cited), "passages": " ".join(ids)}
        lines.append([more[c] if c in more else getattr(answer, c) for c in COLUMNS])
    return csv_text(COLUMNS, lines)
