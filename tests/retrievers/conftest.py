"""Inventories that the retrieval tests share: a real one where the project's data lies, a made one always."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from abduce.retrievers.corpus import Corpus, Passage
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.types import Concept

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
WORDS = (
    "asset liability revenue goodwill depreciation expense current net gross deferred tax lease debt equity "
    "cash inventory receivable payable accrued interest income loss gain share stock option award plan"
).split()


def made_taxonomy(n: int = 400, seed: int = 0) -> Taxonomy:
    """Concepts of random accounting words in three datatypes; some twice, so that scores tie."""
    rng = random.Random(seed)
    concepts = []
    for i in range(n):
        words = rng.choices(WORDS, k=rng.randint(1, 6))
        definition = " ".join(rng.choices(WORDS, k=rng.randint(0, 15)))
        datatype = rng.choice(["monetaryItemType", "sharesItemType", None])
        filing = {"filing_id": f"F{i % 7}"}
        concepts.append(
            Concept(
                id=f"C{i:04d}",
                label=" ".join(words),
                definition=definition,
                datatype=datatype,
                metadata=filing,
            )
        )
    return Taxonomy(concepts, "made")


def us_gaap() -> Taxonomy | None:
    path = DATA / "finance" / "concepts.jsonl.gz"
    return Taxonomy.load(path) if path.exists() else None


@pytest.fixture(scope="session")
def taxonomy() -> Taxonomy:
    """US-GAAP 2024 where the data folder is there, else made concepts."""
    return us_gaap() or made_taxonomy()


@pytest.fixture(scope="session")
def made() -> Taxonomy:
    return made_taxonomy()


@pytest.fixture(scope="session")
def passages() -> Corpus:
    rng = random.Random(1)
    return Corpus(
        Passage(
            f"p{i:03d}",
            " ".join(rng.choices(WORDS, k=3)),
            " ".join(rng.choices(WORDS, k=30)),
            {"source": "made"},
        )
        for i in range(200)
    )
