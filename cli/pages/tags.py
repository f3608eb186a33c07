"""Tags on the terminal: a table, and notes on the facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ...tagging.calibration import Thresholds
from ...tagging.tag import Tag
from ...tagging.tags import Counts, Tags
from ...tagging.tags_file import locus_of

SHOWN = 40
"""Facts that the table shows."""

SAID = (0.95, 0.9)
"""Precisions for which is told how many tags may be accepted unseen."""


def show_tags(first: Sequence[Tag], of: Tags, count: int, console: Console) -> None:
    """Print the table of the ``first`` tags, out of ``count``."""
    console.print((_of_document if of.of_document else _of_facts)(first[:SHOWN], of, count))
    if count > SHOWN:
        console.print(f"... and {count - SHOWN:,} more; --out FILE.csv writes all", markup=False)


def _of_document(first: Sequence[Tag], tags: Tags, count: int) -> Table:
    table = Table(title=f"{tags.taxonomy.name}: {count:,} facts")
    for name, width in (("value", 14), ("locus", 44), ("concept", 52), ("confidence", None)):
        table.add_column(name, max_width=width, overflow="fold" if name != "locus" else "ellipsis")
    for tag in first:
        sure = "" if tag.confidence is None else f"{tag.confidence:.2f}"
        cells = (tag.fact.value, locus_of(tag.fact, tags.serializer), tag.concept, sure)
        table.add_row(*(escape(c) for c in cells))
    return table


def _of_facts(first: Sequence[Tag], tags: Tags, count: int) -> Table:
    table = Table(title=f"{tags.taxonomy.name}: {count:,} facts")
    for name, width in (("fact", None), ("value", 14), ("locus", 40), ("concept", 50), ("score", None)):
        table.add_column(name, max_width=width, overflow="fold" if name != "locus" else "ellipsis")
    for tag in first:
        score = "" if tag.score is None else f"{tag.score:.3f}"
        locus = locus_of(tag.fact, tags.serializer)
        cells = (tag.fact.fact_id, tag.fact.value, locus, tag.concept, score)
        table.add_row(*(escape(c) for c in cells))
    return table


def accepted_line(accepted: Mapping[float, int], facts: int, thresholds: Thresholds | None) -> str:
    """How many tags may be accepted unseen; empty without confidence."""
    if thresholds is None or not facts:
        return ""
    said = [f"{accepted.get(p, 0):,} for {p:.0%} right" for p in SAID if p in thresholds.least]
    whole = f"of {facts:,} may be accepted unseen (thresholds fitted on {thresholds.fitted_on})"
    return f"{', '.join(said)}, {whole}" if said else ""


def show_problems(counts: Counts, tags: Tags, notes: Console) -> None:
    """Print what may be accepted, what was skipped, what failed, and for which numbers all datatypes were
    searched.
    """
    if line := accepted_line(counts.accepted, counts.facts, tags.thresholds):
        notes.print(line, markup=False, highlight=False, soft_wrap=True)
    for problem in tags.skipped:
        notes.print(f"skipped: {problem}", markup=False, highlight=False, soft_wrap=True)
    if tags.skipped:
        notes.print(f"{len(tags.skipped)} bad facts were skipped", markup=False)
    for tag in counts.failures:
        line = f"failed: {tag.fact.fact_id}: {tag.error}"
        notes.print(line, markup=False, highlight=False, soft_wrap=True)
    if counts.failed:
        notes.print(f"{counts.failed} facts failed; their rankings are empty", markup=False)
    if counts.lost:
        notes.print(
            f"{counts.lost:,} of {counts.facts:,} facts fell back in part: replies of the model were no use",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip
    if counts.fell_back:
        what = "everything was searched"
        if tags.searched < len(tags.taxonomy):
            whole = len(tags.taxonomy)
            what = f"the {tags.searched:,} of {whole:,} concepts that numbers can have were searched"
        line = f"{counts.fell_back:,} values have no datatype that could be told: {what}"
        notes.print(line, soft_wrap=True)
