"""``abduce data stats``: count a split."""

from __future__ import annotations

from typing import Annotated

import typer


def stats(
    domain: Annotated[str, typer.Option(help="finance or clinical.")] = "finance",
    split: Annotated[str | None, typer.Option(help="Split; by default the domain's first.")] = None,
    data: Annotated[str | None, typer.Option(help="Data folder; default $ABDUCE_DATA.")] = None,
) -> None:
    """Count facts, source contexts, concepts and datatypes of a split, and what the datatype filter keeps.

    Examples:

        abduce data stats --split test --data DATA

        abduce data stats --domain clinical --split test --data DATA
    """
    from rich.console import Console
    from rich.table import Table

    from ..data.folder import DataFolder, domain_named
    from ..data.statistics import split_statistics

    folder, found = DataFolder.find(data), domain_named(domain)
    name = split or next(iter(found.splits))
    counted = split_statistics(folder.facts(found, name), folder.taxonomy(found))
    console = Console()
    table = Table(title=f"{domain} {name}, from {folder}")
    for column in ("part", "contexts", "facts", "facts per context", "gold concepts"):
        table.add_column(column, justify="left" if column == "part" else "right")
    for part in counted.parts:
        per = f"{part.facts_per_context:.1f}"
        table.add_row(part.name, f"{part.contexts:,}", f"{part.facts:,}", per, f"{part.concepts:,}")
    console.print(table)
    shares = ", ".join(f"{kind} {share:.1%}" for kind, share in counted.datatypes.items())
    lines = (
        f"Gold concepts in more than one modality: {counted.shared_concepts:,}",
        f"Datatypes: {shares}",
        f"Inventory: {counted.concepts:,} concepts, {counted.undocumented:,} without a definition",
        f"The datatype filter leaves {counted.candidates:,.0f} candidates per query (mean) and keeps the "
        f"gold concept of {counted.kept:.1%} of the facts",
    )
    for line in lines:
        console.print(line, markup=False, highlight=False)
