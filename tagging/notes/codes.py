"""The codes of a note: a sequence, a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import overload

from ...retrievers.errors import InputError
from ...retrievers.files import csv_text, write_text
from ...retrievers.taxonomy import Taxonomy
from ...signatures.types import Fact
from ..calibration import Thresholds
from .coder import Coded, Coder, code_mentions
from .note import read_mentions, read_note

COLUMNS = (
    "id", "mention", "start", "end", "occurrences", "code", "label", "score", "margin", "confidence",
    "evidence", "alternatives", "asked", "warnings", "remarks", "near", "excludes1", "excludes2",
)  # fmt: skip
"""Columns of the tags of a note.

``confidence``: the probability that the code is right. ``asked``: the user's own code and what became of it.
``warnings``: Excludes1 notes that name other chosen codes of the note. ``remarks``: Excludes2 notes that do,
where both may stand. ``near``: Excludes1 notes that name alternatives of other mentions. ``excludes1``,
``excludes2``: every note of the code, from its chapter down. Where no code is chosen, ``alternatives`` are
all that were ranked for a category of the user's.
"""


@dataclass(frozen=True, eq=False)
class Codes(Sequence[Coded]):
    """The mentions of a note with their codes, in the order of the mentions.

    Args:
        coded: one per mention.
        taxonomy: the codes' taxonomy.
        top: how many codes of a mention are shown, at least 1.
        program: the row that coded.
        thresholds: the confidence from which codes may be accepted; None: there is no confidence.
    """

    coded: tuple[Coded, ...]
    taxonomy: Taxonomy
    top: int = 10
    program: str = ""
    thresholds: Thresholds | None = None

    @overload
    def __getitem__(self, index: int) -> Coded: ...
    @overload
    def __getitem__(self, index: slice) -> Codes: ...
    def __getitem__(self, index: int | slice) -> Coded | Codes:
        return replace(self, coded=self.coded[index]) if isinstance(index, slice) else self.coded[index]

    def __len__(self) -> int:
        return len(self.coded)

    def __iter__(self) -> Iterator[Coded]:
        return iter(self.coded)

    def accept(self, precision: float = 0.95) -> Codes:
        """The mentions whose codes may be accepted unseen, so that about the share ``precision`` is right.

        Raises:
            InputError: there is no confidence, or no threshold for this precision.
        """
        if self.thresholds is None:
            raise InputError(f"{self.program!r} gives no confidence with {self.taxonomy.name}")
        return replace(self, coded=self.thresholds.sure(self.coded, precision))

    @property
    def accepted(self) -> Mapping[float, int]:
        """The number of codes that may be accepted unseen, by wanted precision."""
        if self.thresholds is None:
            return {}
        return Counter(p for one in self.coded for p in self.thresholds.reached(one.confidence))

    def rows(self) -> Iterator[dict[str, object]]:
        """The lines of their table, with :data:`COLUMNS`."""
        return (_cells(one, self.taxonomy, self.top) for one in self.coded)

    def to_csv(self, path: str | Path) -> None:
        """Write a CSV file, in one step at the end.

        Raises:
            InputError: it cannot be written.
        """
        write_text(Path(path), csv_text(COLUMNS, ([row[c] for c in COLUMNS] for row in self.rows())))

    @property
    def summary(self) -> str:
        """``49 mentions, 46 coded, 3 with warnings``."""
        warned = sum(bool(c.warnings) for c in self.coded)
        mentions = f"{len(self)} mention{'' if len(self) == 1 else 's'}"
        return f"{mentions}, {sum(bool(c.code) for c in self.coded)} coded, {warned} with warnings"


def code_note(
    note: str | Path,
    mentions: str | Path,
    ready: Callable[[Sequence[Fact]], Coder],
    constants: Mapping[str, str],
    top: int = 10,
) -> Codes:
    """Code the mentions of a note.

    Args:
        note, mentions: the files.
        ready: returns the coder; called once both files are checked.
        constants: fields that every fact of the domain has.
        top: how many codes of a mention count as its alternatives, at least 1.

    Raises:
        InputError: what is wrong with the note, the mentions or a code.
    """
    asked = read_mentions(mentions, read_note(note), constants)
    coder = ready([mention.fact for mention in asked])
    return Codes(tuple(code_mentions(asked, coder, top)), coder.taxonomy, top, coder.name, coder.thresholds)


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
        "confidence": "" if one.confidence is None else round(one.confidence, 4),
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
