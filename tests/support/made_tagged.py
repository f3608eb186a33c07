"""Already-tagged facts of made companies, and the taxonomy that they are tagged with."""

from __future__ import annotations

import json
import random
from pathlib import Path

from abduce.retrievers.precedents.index import Tagged
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.types import Concept, Fact, SourceContext
from made_facts import cell

SAYINGS = {
    "Cash": ("Cash on hand", "Liquid funds", "Cash"),
    "Receivables": ("Amounts owed by clients", "Trade debtors", "Receivables"),
    "Goodwill": ("Goodwill", "Purchased goodwill"),
    "Revenues": ("Turnover", "Net sales", "Revenues"),
    "IncomeTax": ("Taxes on income", "Provision for taxes"),
    "LongTermDebt": ("Term loans", "Long-term borrowings"),
}
"""How filers call each concept."""

LABELS = {
    "Cash": "Cash",
    "Receivables": "Receivables, Net",
    "Goodwill": "Goodwill",
    "Revenues": "Revenues",
    "IncomeTax": "Income Tax Expense",
    "LongTermDebt": "Long-Term Debt",
    "DeferredCompensationLiability": "Deferred Compensation Liability",
}
TAXONOMY = Taxonomy(
    (Concept(id=i, label=label, datatype="monetaryItemType") for i, label in LABELS.items()), "made"
)


def fact(id_: str, row: str, context: SourceContext, at: int, filing: str, company: str | None) -> Fact:
    place = {"context": context, "row_index": at}
    return cell(id_, row, value=str(100 + at), filing=filing, company=company, **place)


def tagged(companies: int = 8, filings: int = 2, seed: int = 0) -> list[Tagged]:
    """Facts of balance sheets; each company has its own words, the same in all of its filings."""
    rng = random.Random(seed)
    found = []
    for c in range(companies):
        words = {concept: rng.choice(says) for concept, says in SAYINGS.items()}
        for f in range(filings):
            rows = list(words.items())
            cells = "".join(f"<tr><td>{w}</td><td>{101 + i}</td></tr>" for i, (_, w) in enumerate(rows))
            filing = f"C{c:02d}-{f}"
            context = SourceContext(
                context_id=f"{filing}-t", text=f"<table>{cells}</table>", modality="table"
            )
            for i, (concept, word) in enumerate(rows, 1):
                found.append(
                    Tagged(fact(f"{filing}-{i}", word, context, i, filing, f"{c:02d}COMPANY"), concept)
                )
    return found


def write_tagged(folder: Path, companies: int = 8) -> tuple[Path, Path]:
    """The facts as JSONL and the taxonomy as JSONL."""
    facts, concepts = folder / "tagged.jsonl", folder / "made.jsonl"
    with facts.open("w", encoding="utf-8") as stream:
        for one, concept in tagged(companies):
            row = one.model_dump(mode="json", exclude={"context"})
            row |= {"source_context": one.context.text, "context_id": one.context.context_id, "gold": concept}
            stream.write(json.dumps(row) + "\n")
    with concepts.open("w", encoding="utf-8") as stream:
        for concept in TAXONOMY:
            stream.write(
                json.dumps({"id": concept.id, "label": concept.label, "datatype": concept.datatype}) + "\n"
            )
    return facts, concepts
