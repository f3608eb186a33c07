"""Tags of a made filing, or of made facts, for tests of the review."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from abduce.programs.serialize import Serializer
from abduce.retrievers.base import Ranking
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.types import Concept, Fact, SourceContext
from abduce.tagging.calibration import Calibration
from abduce.tagging.tag import Tag
from abduce.tagging.tagger import Tagger
from abduce.tagging.tags import Tags
from made_filing import page

ROWS = (
    "Cash and equivalents",
    "Trade receivables",
    "Inventories",
    "Goodwill",
    "Long-term debt",
    "Deferred taxes",
)
LABELS = (*ROWS, "Cash, restricted", "Debt, current", "Revenues", "Income tax expense")


def made_taxonomy(say: Callable[[str], str] = str) -> Taxonomy:
    return Taxonomy(
        [
            Concept(
                id=f"T{i}",
                label=say(label),
                definition=say(f"Amount of {label}."),
                datatype="monetaryItemType",
            )
            for i, label in enumerate(LABELS)
        ],
        "made",
    )


def filing_tags(folder: Path, say: Callable[[str], str] = str, text: str = "") -> tuple[Tags, Path]:
    """A filing of two columns of six rows, tagged by its labels."""
    path = folder / "filing.htm"
    path.write_text(page(2024, ROWS, tagged=False, text=text), encoding="utf-8")
    with Tagger(made_taxonomy(say)) as tagger:
        return tagger.tag(path, traces=True), path


def made_tags(
    rankings: Sequence[Sequence[str]],
    confidence: Sequence[float | None] = (),
    labels: Sequence[str] = ROWS,
    company: str = "Acme",
) -> Tags:
    """Facts of one table of two columns: fact i is of row i // 2; ``rankings`` are theirs."""
    rows = "".join(f"<tr><td>{label}</td><td>1{i}</td><td>2{i}</td></tr>" for i, label in enumerate(labels))
    markup = f"<table><tr><td></td><td>2024</td><td>2023</td></tr>{rows}</table>"
    context = SourceContext(context_id="t", text=markup, modality="table")
    tags = []
    for i, ids in enumerate(rankings):
        fact = Fact(
            fact_id=f"f{i}",
            value=f"{i % 2 + 1}{i // 2}",
            context=context,
            datatype="monetaryItemType",
            row_header=labels[i // 2],
            column_header=("2024", "2023")[i % 2],
            company=company,
            filing_id="F",
        )
        sure = confidence[i] if i < len(confidence) else None
        tags.append(Tag(fact, Ranking.of(list(ids)), confidence=sure))
    line = (0.0, 1.0)
    fitted = Calibration("made", "isotonic", 100, x=line, y=line, split="dev")
    known = replace(fitted, wanted=(0.99, 0.95), thresholds=(None, 0.9))
    sure_at = known.accepts if confidence else None
    return Tags(
        tuple(tags),
        made_taxonomy(),
        "made",
        Serializer(),
        "made",
        thresholds=sure_at,
        of_document=True,
    )
