"""The codes of a note on the terminal: one block per mention, with warnings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...retrievers.taxonomy import Taxonomy
from ...tagging.notes.coder import Coded
from ...tagging.notes.codes import Codes

SHOWN_NOTES = 4
"""Exclusion notes without a conflict that a block shows; a chapter's Excludes1 notes come on top."""

SHOWN_CODES = 8
"""Codes that a line about a chapter's Excludes2 notes lists."""

_LEVELS = ("code", "category", "section", "chapter")


def show(codes: Codes, console: Console) -> None:
    """Print the page; a code's notes are shown with its first mention."""
    first: dict[str, str] = {}
    taxonomy, top = codes.taxonomy, codes.top
    for one in codes:
        fact = one.mention.fact
        places = f", {one.mention.occurrences} times" if one.mention.occurrences > 1 else ""
        value = " ".join(fact.value.split())
        title = Text(f'{fact.fact_id}: "{value}" [{fact.mention_start}, {fact.mention_end}){places}', "bold")
        console.print(title)
        if one.told or one.asked:
            console.print(_codes(one, taxonomy, top))
        lines = Table.grid(padding=(0, 1))
        lines.add_column(no_wrap=True)
        lines.add_column(overflow="fold")
        for head, text, style in _lines(one, taxonomy, first.get(one.code)):
            lines.add_row(Text(f"  {head}", style), Text(text, style))
        console.print(lines)
        if one.code:
            first.setdefault(one.code, fact.fact_id)
    console.print(codes.summary, markup=False, highlight=False)


def _codes(one: Coded, taxonomy: Taxonomy, top: int) -> Table:
    table = Table()
    for name in ("", "code", "label", "score"):
        table.add_column(
            name, overflow="fold", min_width=8 if name == "code" else 5 if name == "score" else None
        )
    for i, hit in enumerate(one.hits[:top]):
        score = "-" if math.isnan(hit.score) else f"{hit.score:.3f}"
        table.add_row("->" if i == 0 and one.told else "", hit.id, Text(taxonomy[hit.id].label), score)
    return table


def _lines(one: Coded, taxonomy: Taxonomy, shown_at: str | None) -> Iterable[tuple[str, str, str]]:
    """Label, text and style of the lines below a block's table."""
    if one.asked:
        yield "Your code", one.asked, ""
    if not one.code:
        if not one.asked:
            yield "No code:", f"no word of the mention is known to {taxonomy.name}", "yellow"
        return
    if one.confidence is not None:
        yield "Confidence:", f"{one.confidence:.2f}", ""
    if one.evidence:
        yield "Evidence:", one.evidence, ""
    if shown_at is not None:
        if one.warnings:
            yield "Warning:", f"{len(one.warnings)} of {one.code}, as at {shown_at}", "yellow"
        elif one.excluded:
            yield "Notes:", f"those of {one.code} stand at {shown_at}", "dim"
        return
    for warning in one.warnings:
        yield "Warning:", warning, "yellow"
    yield from _both_may_stand(one)
    yield from _checks(one)


def _both_may_stand(one: Coded) -> Iterable[tuple[str, str, str]]:
    """Excludes2 notes that apply: those of codes line by line, those of chapters in one line."""
    of_chapter: dict[str, None] = {}
    node = ""
    for clash in one.clashes:
        if clash.exclusion.kind == 2 and clash.exclusion.level == "chapter":
            of_chapter |= dict.fromkeys(clash.codes)
            node = clash.exclusion.node
        elif clash.exclusion.kind == 2:
            yield "Both may stand:", clash.line, ""
    if of_chapter:
        codes = list(of_chapter)
        more = f" and {len(codes) - SHOWN_CODES} more" if len(codes) > SHOWN_CODES else ""
        yield "Both may stand:", f"{', '.join(codes[:SHOWN_CODES])}{more}: Excludes2 at {node}", "dim"


def _checks(one: Coded) -> Iterable[tuple[str, str, str]]:
    """Notes that name no chosen code: first those that name an alternative, then Excludes1, nearest first."""
    near = {clash.exclusion: clash.listed for clash in one.near}
    clashing = {clash.exclusion for clash in one.clashes}
    rest = sorted(
        (e for e in one.excluded if e not in clashing),
        key=lambda e: (e not in near, e.kind, _LEVELS.index(e.level)),
    )
    wanted = [e for e in rest if not e.heads and (e.kind == 1 or e.level in ("code", "category"))]
    wanted = wanted[:SHOWN_NOTES]
    wanted += [e for e in rest if e.kind == 1 and e.level == "chapter" and e not in wanted]
    for exclusion in wanted:
        names = f" [an alternative: {near[exclusion]}]" if exclusion in near else ""
        yield "Check:", exclusion.line + names, "dim"
    left = Counter(f"Excludes{e.kind} of {e.level}" for e in rest if e not in wanted)
    if left:
        counts = ", ".join(f"{n} {kind}" for kind, n in sorted(left.items()))
        yield "", f"... and {sum(left.values())} more exclusion notes ({counts}): --out FILE.csv", "dim"
