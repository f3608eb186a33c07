"""``abduce tag NOTE.txt --mentions FILE``: codes for the mentions of a note, with reasons and warnings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from ...cli.pages.note import show, summary
from ...retrievers.errors import InputError
from ...retrievers.files import write_text
from ...retrievers.taxonomy import Taxonomy
from ..tags_file import csv_text
from .coder import Coded, Coder, code_mentions
from .note import read_mentions, read_note

COLUMNS = (
    "id", "mention", "start", "end", "occurrences", "code", "label", "score", "margin",
    "evidence", "alternatives", "asked", "warnings", "remarks", "near", "excludes1", "excludes2",
)  # fmt: skip
"""Columns of the tags of a note.

``asked``: the user's own code and what became of it. ``warnings``: Excludes1 notes that name other chosen
codes of the note. ``remarks``: Excludes2 notes that do, where both may stand. ``near``: Excludes1 notes that
name alternatives of other mentions. ``excludes1``, ``excludes2``: every note of the code, from its chapter
down. Where no code is chosen, ``alternatives`` are all that were ranked for a category of the user's.
"""


def to_csv(coded: Sequence[Coded], taxonomy: Taxonomy, top: int) -> str:
    """The codes as CSV text with :data:`COLUMNS`."""
    return csv_text(COLUMNS, (_cells(one, taxonomy, top) for one in coded))


def _cells(one: Coded, taxonomy: Taxonomy, top: int) -> dict[str, object]:
    fact = one.mention.fact
    scores = [h.score for h in one.hits[:2]] if one.code else []
    offered = one.hits[1:top] if one.code else one.hits[:top] if one.asked else ()
    return {
        "id": fact.fact_id,
        "mention": fact.value,
        "start": fact.mention_start,
        "end": fact.mention_end,
        "occurrences": one.mention.occurrences,
        "code": one.code,
        "label": taxonomy[one.code].label if one.code else "",
        "score": _number(scores[0]) if scores else "",
        "margin": _number(scores[0] - scores[1]) if len(scores) > 1 else "",
        "evidence": one.evidence,
        "alternatives": "; ".join(h.id for h in offered),
        "asked": one.asked,
        "warnings": " | ".join(one.warnings),
        "remarks": " | ".join(one.remarks),
        "near": " | ".join(clash.line for clash in one.near),
        "excludes1": " | ".join(f"{e.node}: {e.note}" for e in one.excluded if e.kind == 1),
        "excludes2": " | ".join(f"{e.node}: {e.note}" for e in one.excluded if e.kind == 2),
    }


def _number(value: float) -> float | str:
    return "" if math.isnan(value) else value


def tag_note(
    note: Path | None,
    mentions: Path,
    ready: Callable[[], Coder],
    top: int,
    out: Path | None,
    console: Console,
) -> None:
    """Code the mentions of a note; print the page, or write a CSV.

    Args:
        note, mentions: the files.
        ready: gives what codes; called when both files are known to be sound.
        top: how many codes a mention.
        out: where the CSV goes; None: the page is printed.
        console: where to print.

    Raises:
        InputError: whatever is wrong with the note, the mentions or the output's place.
    """
    if note is None:
        raise InputError("--mentions needs the note they stand in: abduce tag NOTE.txt --mentions FILE")
    context = read_note(note)
    read_mentions(mentions, context, {})
    coder = ready()
    coded = code_mentions(read_mentions(mentions, context, coder.constants), coder, top)
    if out is None:
        show(coded, coder.taxonomy, top, console)
        return
    write_text(out, to_csv(coded, coder.taxonomy, top))
    console.print(f"{summary(coded)}: {out}", markup=False, highlight=False)


__all__ = ["COLUMNS", "tag_note", "to_csv"]
