"""Tables of scores and of what can be accepted."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from ...tagging.calibration import Acceptance
from ...tagging.score import CUTS, Score


def show_score(score: Score, console: Console) -> None:
    """Print how often known concepts were found, by modality, and what can be accepted unseen."""
    table = Table(title=f"{score.name}: {score.groups[0].facts:,} tagged facts of {score.taxonomy}")
    for name in ("facts", "n", *(f"R@{k}" for k in CUTS), "MRR"):
        table.add_column(name, justify="left" if name == "facts" else "right")
    for group in score.groups:
        table.add_row(group.name, f"{group.facts:,}", *(f"{v:.3f}" for v in (*group.recall, group.mrr)))
    console.print(table)
    if score.other or score.missing:
        console.print(
            f"Not scored: {score.other:,} values with tags of the company's own or of other taxonomies (dei, "
            f"srt), {score.missing:,} whose concept is not in {score.taxonomy}",
            markup=False,
        )
    if score.accepted:
        title = f"What may be accepted unseen, by thresholds fixed on {score.fitted_on}"
        console.print(acceptance_table(title, score.accepted))


def acceptance_table(title: str, lines: Iterable[Acceptance]) -> Table:
    """One line per wanted precision: threshold, accepted share, and share of right ones in it."""
    table = Table(title=title)
    for name in ("for a precision of", "confidence at least", "accepted", "right among them"):
        table.add_column(name, justify="right")
    for line in lines:
        shown = "-" if line.threshold is None else f"{line.threshold:.3f}"
        right = "-" if line.threshold is None or line.precision is None else f"{line.precision:.1%}"
        table.add_row(f"{line.wanted:.0%}", shown, f"{line.coverage:.1%}", right)
    return table
