"""A taxonomy for a page's search box: concepts, and their tokens for BM25."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from ...retrievers.taxonomy import Taxonomy
from ...signatures.tokenize import tok

DEFINITION = 320
"""Characters of a definition that a page shows."""


def taxonomy_pack(taxonomy: Taxonomy) -> dict[str, Any]:
    """``ids``, ``labels``, ``texts``, ``datatypes``; ``words`` (every token once, sorted); ``tokens`` and
    ``heads``: the tokens of all documents and of all labels, concatenated, as positions in ``words``;
    ``sizes`` and ``headSizes``: how many tokens each has. Arrays are little-endian, base64.
    """
    documents = [tok(taxonomy.document(c, with_datatype=True)) for c in taxonomy]
    heads = [sorted(tok.distinct(c.label)) for c in taxonomy]
    words = sorted({t for tokens in documents for t in tokens} | {t for tokens in heads for t in tokens})
    place = {word: i for i, word in enumerate(words)}
    return {
        "ids": [c.id for c in taxonomy],
        "labels": [c.label for c in taxonomy],
        "texts": [c.definition[:DEFINITION] for c in taxonomy],
        "datatypes": [c.datatype or "" for c in taxonomy],
        "words": words,
        "tokens": _packed([place[t] for tokens in documents for t in tokens], "<u4"),
        "sizes": _packed([len(tokens) for tokens in documents], "<u4"),
        "heads": _packed([place[t] for tokens in heads for t in tokens], "<u4"),
        "headSizes": _packed([len(tokens) for tokens in heads], "<u4"),
    }


def _packed(values: list[int], kind: str) -> str:
    return base64.b64encode(np.asarray(values, dtype=kind).tobytes()).decode()
