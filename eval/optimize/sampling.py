"""Choosing examples by source context, so that what is learned on one is not measured on its neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...data.example import Example


def spread(examples: Sequence[Example], n: int, seed: int = 0) -> list[Example]:
    """At most ``n`` examples from as many source contexts as possible: contexts in a random order, one
    example of each, then a second one of each, and so on."""
    contexts: dict[str, list[Example]] = {}
    for example in examples:
        contexts.setdefault(example.cluster or example.id, []).append(example)
    names = list(contexts)
    order = [names[i] for i in np.random.default_rng(seed).permutation(len(names))]
    deepest = max(map(len, contexts.values()), default=0)
    turns = (contexts[name][i] for i in range(deepest) for name in order if i < len(contexts[name]))
    return [example for example, _ in zip(turns, range(n), strict=False)]


def split_by_context(examples: Sequence[Example], share: float = 0.5) -> tuple[list[Example], list[Example]]:
    """Two lists without a common source context; the first has about ``share`` of the contexts, and both have
    at least one where there are two."""
    names = list(dict.fromkeys(e.cluster or e.id for e in examples))
    cut = min(max(1, round(share * len(names))), max(1, len(names) - 1))
    first = set(names[:cut])
    inside = [e for e in examples if (e.cluster or e.id) in first]
    return inside, [e for e in examples if (e.cluster or e.id) not in first]
