"""The tags of a document or of facts: a sequence, a table, a score."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

from ..programs.serialize import Serializer
from ..retrievers.errors import InputError
from ..retrievers.files import csv_rows, replacing
from ..retrievers.taxonomy import Taxonomy
from ..signatures.html import html_table
from .calibration import Thresholds
from .golds import Golds
from .score import Score, score_tags
from .tag import Tag
from .tags_file import COLUMNS, tag_cells

if TYPE_CHECKING:
    import pandas
    import pyarrow

FAILURES = 5
"""Failures that are kept with their reasons."""


@dataclass
class Counts:
    """How many facts were tagged, and how many had problems.

    ``failures`` are the first facts on which the program failed; ``failed`` counts all of them. ``lost``: a
    part fell back because its model's reply was unusable. ``fell_back``: without a datatype that the taxonomy
    declares. ``accepted``: how many may be accepted unseen, by wanted precision.
    """

    thresholds: Thresholds | None = None
    facts: int = 0
    failed: int = 0
    lost: int = 0
    fell_back: int = 0
    failures: list[Tag] = field(default_factory=list)
    accepted: Counter[float] = field(default_factory=Counter)

    def add(self, tag: Tag) -> None:
        """Count one tag."""
        self.facts += 1
        self.failed += bool(tag.error)
        self.lost += tag.lost
        self.fell_back += tag.ranking.fell_back
        if tag.error and len(self.failures) < FAILURES:
            self.failures.append(tag)
        if self.thresholds is not None:
            self.accepted.update(self.thresholds.reached(tag.confidence))

    @property
    def unusable(self) -> float:
        """The share, in [0, 1], of facts that failed or fell back because of their model."""
        return (self.failed + self.lost) / max(1, self.facts)


@dataclass(frozen=True, eq=False)
class Tags(Sequence[Tag]):
    """The tags of facts, in the facts' order.

    Args:
        tags: one per fact.
        taxonomy: the taxonomy of the tags.
        program: the row that tagged.
        serializer: how a fact's locus is written.
        name: the facts' name in messages.
        golds: the known concepts, or why there are none to score.
        thresholds: the confidence from which tags may be accepted; None: there is no confidence.
        searched: how many concepts were searched for a number with an unknown datatype.
        unlabelled: ids of facts in rows without a label.
        of_document: whether the facts come from a document.
        seen: by fact id, whether others' precedents have its header (or mention) and its known concept.
        notes: notes for the user, one line each.
        skipped: errors of facts that were skipped.
    """

    tags: tuple[Tag, ...]
    taxonomy: Taxonomy
    program: str
    serializer: Serializer
    name: str = "facts"
    golds: Golds | InputError = field(default_factory=lambda: InputError("nothing is known to score against"))
    thresholds: Thresholds | None = None
    searched: int = 0
    unlabelled: Collection[str] = frozenset()
    of_document: bool = False
    seen: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    skipped: tuple[InputError, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Tag: ...
    @overload
    def __getitem__(self, index: slice) -> Tags: ...
    def __getitem__(self, index: int | slice) -> Tag | Tags:
        return replace(self, tags=self.tags[index]) if isinstance(index, slice) else self.tags[index]

    def __len__(self) -> int:
        return len(self.tags)

    def __iter__(self) -> Iterator[Tag]:
        return iter(self.tags)

    def __repr__(self) -> str:
        return f"<{len(self)} tags of {self.name!r} by {self.program!r} with {self.taxonomy.name}>"

    def _repr_html_(self) -> str:
        names = ("fact_id", "value", "where", "concept", "label", "confidence", "score")
        columns = [c for c in names if c in COLUMNS]
        rows = ([cells[c] for c in columns] for cells in self.rows(1))
        return html_table(columns, rows, repr(self).strip("<>"), len(self))

    def to_json(self, top: int = 10) -> str:
        """One JSON object: the program, taxonomy and the lines of the table, with ``top`` concepts per
        ranking.
        """
        lines = [{name: _scalar(cell) for name, cell in row.items()} for row in self.rows(top)]
        about = {"name": self.name, "program": self.program, "taxonomy": self.taxonomy.name}
        return json.dumps({**about, "tags": lines}, ensure_ascii=False)

    @property
    def failed(self) -> list[Tag]:
        """The facts on which the program failed; their rankings are empty."""
        return [tag for tag in self.tags if tag.error]

    @property
    def lost(self) -> list[Tag]:
        """The facts on which a part of the program fell back because its model's reply was unusable."""
        return [tag for tag in self.tags if tag.lost]

    @property
    def unusable(self) -> float:
        """The share, in [0, 1], of facts that failed or fell back because of their model."""
        return self._counts().unusable

    @property
    def fell_back(self) -> int:
        """How many facts have no datatype that the taxonomy declares."""
        return self._counts().fell_back

    def _counts(self) -> Counts:
        found = Counts(self.thresholds)
        for tag in self.tags:
            found.add(tag)
        return found

    def score(self) -> Score:
        """How often the known concepts are found.

        Raises:
            InputError: no concept is known, or none is in the taxonomy.
        """
        if isinstance(self.golds, InputError):
            raise self.golds
        return score_tags(self.tags, self.golds, self.name, self.taxonomy.name, self.thresholds, self.seen)

    def accept(self, precision: float = 0.95) -> Tags:
        """The tags that may be accepted unseen, so that about the share ``precision`` is right.

        Their confidence reaches the threshold for this precision, which was chosen on the facts of the fit.
        None if no threshold reached it.

        Raises:
            InputError: there is no confidence, or no threshold for this precision.
        """
        if self.thresholds is None:
            raise InputError(f"there is no calibration of {self.program!r} with {self.taxonomy.name}")
        return replace(self, tags=self.thresholds.sure(self.tags, precision))

    def rows(self, top: int = 10) -> Iterator[dict[str, object]]:
        """The lines of their table, with ``top`` concepts per ranking."""
        return (self.cells(tag, top) for tag in self.tags)

    def cells(self, tag: Tag, top: int = 10) -> dict[str, object]:
        """The line of one tag."""
        return tag_cells(tag, self.serializer, top, unlabelled=tag.fact.fact_id in self.unlabelled)

    def to_csv(self, path: str | Path, top: int = 10) -> None:
        """Write a CSV file in one step, with ``top`` concepts per ranking.

        Raises:
            InputError: it cannot be written.
        """
        with replacing(Path(path)) as stream:
            write = csv_rows(stream, COLUMNS)
            for row in self.rows(top):
                write([row[c] for c in COLUMNS])

    def to_arrow(self, top: int = 10) -> pyarrow.Table:
        """A table of Apache Arrow with the columns of the CSV file."""
        import pyarrow

        rows = list(self.rows(top))
        return pyarrow.table({name: [_scalar(row[name]) for row in rows] for name in COLUMNS})

    def to_pandas(self, top: int = 10) -> pandas.DataFrame:
        """A data frame with the columns of the CSV file."""
        import pandas

        return pandas.DataFrame(list(self.rows(top)), columns=list(COLUMNS))


def _scalar(value: object) -> object:
    return value if value is None or isinstance(value, str | int | float) else str(value)
