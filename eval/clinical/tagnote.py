"""``abduce tag NOTE.txt --mentions FILE``: codes for the mentions of a note, with reasons and warnings."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ...retrievers.base import Hit
from ...retrievers.errors import InputError
from ...retrievers.taxonomy import Taxonomy
from ...signatures.tokenize import tok_set
from ..atomic import write_text
from .excludes import Exclusion, billable_children, conflicts, evidence, exclusions
from .note import Mention, read_mentions, read_note

COLUMNS = (
    "id", "mention", "start", "end", "occurrences", "code", "label", "score", "margin",
    "evidence", "alternatives", "asked", "warnings", "excludes1", "excludes2",
)  # fmt: skip
"""Columns of the tags of a note. ``asked`` is the user's own code and what became of it."""


@dataclass
class Coded:
    """A mention with its code.

    ``hits`` is the ranking, or the billable children of the user's category in its order; ``asked`` says
    what became of a code of the user's own; ``clashes`` are the exclusion notes that name another code
    of the same note.
    """

    mention: Mention
    hits: Sequence[Hit]
    evidence: str
    asked: str = ""
    excluded: Sequence[Exclusion] = ()
    clashes: list[tuple[Exclusion, str]] = field(default_factory=list)

    @property
    def code(self) -> str:
        return self.hits[0].id if self.hits else ""

    @property
    def warnings(self) -> list[str]:
        """One line a clash."""
        return [f"{self.code} and {other}: {e.line}" for e, other in self.clashes]


def code_mentions(mentions: Sequence[Mention], program: Any, taxonomy: Taxonomy) -> list[Coded]:
    """Code every mention, then look for exclusion notes between the chosen codes.

    A mention whose user gave a category is coded among the category's billable children; a billable
    code of the user's own is kept as the choice and its rank is told.

    Raises:
        InputError: a code that is neither in the inventory nor a category of it.
    """
    coded = [_code(m, program, taxonomy) for m in mentions]
    chosen = [c.code for c in coded if c.code]
    for one in coded:
        if one.code:
            metadata = taxonomy[one.code].metadata
            one.excluded = exclusions(one.code, metadata)
            one.clashes = conflicts(one.code, metadata, chosen)
    return coded


def _code(mention: Mention, program: Any, taxonomy: Taxonomy) -> Coded:
    hits = list(program(fact=mention.fact).ranking)
    asked = ""
    if mention.code is not None:
        hits, asked = _as_asked(mention, mention.code, hits, taxonomy)
    if not hits:
        return Coded(mention, [], "", asked)
    concept = taxonomy[hits[0].id]
    parts = [concept.label, *concept.definition.split(" ; ")]
    return Coded(mention, hits, evidence(tok_set(mention.fact.value), parts, tok_set), asked)


def _as_asked(mention: Mention, code: str, hits: Sequence[Hit], taxonomy: Taxonomy) -> tuple[list[Hit], str]:
    """The ranking under the user's own code, and what is said of it."""
    by_id = {h.id: h for h in hits}
    asked = code if code in taxonomy or "." in code or len(code) <= 3 else f"{code[:3]}.{code[3:]}"
    if asked in taxonomy:
        own = by_id.get(asked)
        said = f"{asked}: billable, " + (f"rank {own.rank}" if own else f"not among the first {len(hits)}")
        first = own or Hit(asked, 0.0, len(hits) + 1)
        return [first, *(h for h in hits if h.id != asked)], said
    children = billable_children(asked, taxonomy)
    if not children:
        message = f"{code} is neither a code of {taxonomy.name} nor a category of its codes"
        raise InputError(message, file=mention.file, line=mention.line, field="code")
    below = set(children)
    ranked = [h for h in hits if h.id in below]
    rest = [Hit(c, 0.0, len(hits) + 1) for c in children if c not in by_id]
    return [*ranked, *rest], f"{asked.rstrip('-.')}: a category with {len(children)} billable codes"


def to_csv(coded: Sequence[Coded], taxonomy: Taxonomy, top: int) -> str:
    """The codes as CSV text with :data:`COLUMNS`."""
    from ..tagging import cell

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in coded:
        fact = one.mention.fact
        margin = one.hits[0].score - one.hits[1].score if len(one.hits) > 1 else ""
        line: Mapping[str, object] = {
            "id": fact.fact_id,
            "mention": fact.value,
            "start": fact.mention_start,
            "end": fact.mention_end,
            "occurrences": one.mention.occurrences,
            "code": one.code,
            "label": taxonomy[one.code].label if one.code else "",
            "score": one.hits[0].score if one.hits else "",
            "margin": margin,
            "evidence": one.evidence,
            "alternatives": "; ".join(h.id for h in one.hits[1:top]),
            "asked": one.asked,
            "warnings": " | ".join(one.warnings),
            "excludes1": " | ".join(f"{e.node}: {e.note}" for e in one.excluded if e.kind == 1),
            "excludes2": " | ".join(f"{e.node}: {e.note}" for e in one.excluded if e.kind == 2),
        }
        writer.writerow([cell(line[name]) for name in COLUMNS])
    return stream.getvalue()


def show(coded: Sequence[Coded], taxonomy: Taxonomy, top: int, console: Console) -> None:
    """The codes as a page: one block a mention, its alternatives, its warnings."""
    for one in coded:
        fact = one.mention.fact
        places = f", {one.mention.occurrences} times" if one.mention.occurrences > 1 else ""
        title = Text(f'{fact.fact_id}: "{fact.value}" [{fact.mention_start}, {fact.mention_end}){places}')
        table = RichTable(title=title, title_justify="left", title_style="bold")
        for name in ("", "code", "label", "score"):
            table.add_column(name, overflow="fold")
        for i, hit in enumerate(one.hits[:top]):
            table.add_row("->" if i == 0 else "", hit.id, Text(taxonomy[hit.id].label), f"{hit.score:.3f}")
        console.print(table)
        if one.asked:
            console.print(Text(f"  Your code {one.asked}"))
        if one.evidence:
            console.print(Text(f"  Evidence: {one.evidence}"))
        for warning in one.warnings:
            console.print(Text(f"  Warning: {warning}", style="yellow"))
        clashing = {e for e, _ in one.clashes}
        own = [e for e in one.excluded if "-" not in e.node and e not in clashing]
        for exclusion in own[:SHOWN_NOTES]:
            console.print(Text(f"  Check: {exclusion.line}", style="dim"))
        if len(own) > SHOWN_NOTES:
            console.print(Text(f"  ... and {len(own) - SHOWN_NOTES} more exclusion notes", style="dim"))


SHOWN_NOTES = 4
"""Exclusion notes of a code, its category's and below, that the page shows."""


def tag_note(
    note: Path | None,
    mentions: Path,
    ready: Callable[[], tuple[Taxonomy, Mapping[str, str], Any]],
    top: int,
    out: Path | None,
    console: Console,
) -> None:
    """Code the mentions of a note; print the page, or write a CSV.

    Args:
        note, mentions: the files.
        ready: gives the taxonomy, the fields that every fact of its domain has, and the program; called
            when both files are known to be sound.
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
    taxonomy, constants, program = ready()
    coded = code_mentions(read_mentions(mentions, context, constants), program, taxonomy)
    if out is None:
        show(coded, taxonomy, top, console)
        return
    write_text(out, to_csv(coded, taxonomy, top))
    warned = sum(bool(c.warnings) for c in coded)
    console.print(
        f"{len(coded)} mentions coded, {warned} with warnings: {out}", markup=False, highlight=False
    )


__all__ = ["COLUMNS", "Coded", "code_mentions", "show", "tag_note", "to_csv"]
