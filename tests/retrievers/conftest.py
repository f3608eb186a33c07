"""Inventories that the retrieval tests share: the bundled one, and a made one."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from abduce.data.domains import FINANCE
from abduce.data.folder import DataFolder
from abduce.retrievers.corpus import Corpus, Passage
from abduce.retrievers.encoders import Text, Vectors
from abduce.retrievers.taxonomy import Taxonomy
from abduce.retrievers.tokenize import tok
from abduce.signatures.types import Concept

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


def us_gaap() -> Taxonomy:
    """The bundled concepts, with the document text that a bare file of them has."""
    return Taxonomy.load(DataFolder.find().root / "finance" / FINANCE.inventory)


class WordVectors:
    """The normalised sum of a fixed random vector per word: a real encoder's behaviour without a model."""

    name = "word-vectors"
    pairs = False

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return self.encode_documents(texts)

    def encode_documents(self, texts: Sequence[Text], progress: bool = False) -> Vectors:
        rows = [self._one(" ".join(t) if isinstance(t, tuple) else t) for t in texts]
        return np.array(rows, dtype=np.float32).reshape(len(rows), 16)

    @staticmethod
    def _one(text: str) -> Any:
        total = np.zeros(16)
        for word in tok(text):
            total += _vector(word)
        return total / max(float(np.linalg.norm(total)), 1e-9)


@cache
def _vector(word: str) -> Any:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "little")
    return np.random.default_rng(seed).normal(size=16)


@pytest.fixture(scope="session")
def taxonomy() -> Taxonomy:
    """US-GAAP 2024 where the data folder is there, else made concepts."""
    return us_gaap()


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
