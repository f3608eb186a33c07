"""Subsets of the examples: by group, or a sample by source context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...data.example import Example
from ...data.kept import Chosen
from ...retrievers.errors import InputError


def restricted(
    examples: Sequence[Example], where: Mapping[str, str], ids: Sequence[str] = ()
) -> Sequence[Example]:
    """The examples with all group values of an experiment's ``where``, and with its ``ids`` if given, in
    order.

    Raises:
        InputError: an unknown group, value or id, or no example has all of them.
    """
    if not where and not ids:
        return examples
    known_ids = {e.id for e in examples}
    missing = next((i for i in ids if i not in known_ids), None)
    if missing is not None:
        raise InputError(f"no example has the id {missing!r}", field="ids")
    kept = [e for e in examples if not ids or e.id in ids]
    for field, value in where.items():
        values = sorted({e.groups[field] for e in examples if field in e.groups})
        if not values:
            known = ", ".join(dict.fromkeys(n for e in examples for n in e.groups)) or "none"
            raise InputError(f"the examples have no such group; there are: {known}", field=f"where.{field}")
        kept = [e for e in kept if e.groups.get(field) == value]
        if value not in values:
            some = ", ".join(values[:10]) + (" ..." if len(values) > 10 else "")
            raise InputError(f"no example has the value {value!r}; there are: {some}", field=f"where.{field}")
    if not kept:
        raise InputError("no example has all of these values", field="where")
    return kept


def spread(examples: Sequence[Example], n: int, seed: int = 0) -> list[Example]:
    """At most ``n`` examples from as many source contexts as possible: contexts in random order, one example
    of each, then a second one of each, and so on.
    """
    return [examples[i] for i in _spread([(i, e.cluster or e.id) for i, e in enumerate(examples)], n, seed)]


def _spread(members: Sequence[tuple[int, str]], n: int, seed: int = 0) -> list[int]:
    """:func:`spread` for (position, source context)."""
    contexts: dict[str, list[int]] = {}
    for place, context in members:
        contexts.setdefault(context, []).append(place)
    names = list(contexts)
    order = [names[i] for i in np.random.default_rng(seed).permutation(len(names))]
    deepest = max(map(len, contexts.values()), default=0)
    turns = (contexts[name][i] for i in range(deepest) for name in order if i < len(contexts[name]))
    return [place for place, _ in zip(turns, range(n), strict=False)]


def sampled(examples: Sequence[Example], n: int, group: str = "") -> Sequence[Example]:
    """A sample of at most ``n`` examples (per value of ``group``, if given), in order, from as many source
    contexts as possible (:func:`spread`).

    The same call draws the same examples, and a larger ``n`` only adds examples.
    """
    strata: dict[str, list[tuple[int, str]]] = {}
    for place, e in enumerate(examples):
        strata.setdefault(e.groups.get(group, ""), []).append((place, e.cluster or e.id))
    kept = sorted(place for stratum in strata.values() for place in _spread(stratum, n))
    return Chosen(examples, kept)


def split_by_context(examples: Sequence[Example], share: float = 0.5) -> tuple[list[Example], list[Example]]:
    """Two lists without a common source context. The first has about ``share`` of the contexts; each has at
    least one if there are two.
    """
    names = list(dict.fromkeys(e.cluster or e.id for e in examples))
    cut = min(max(1, round(share * len(names))), max(1, len(names) - 1))
    first = set(names[:cut])
    inside = [e for e in examples if (e.cluster or e.id) in first]
    return inside, [e for e in examples if (e.cluster or e.id) not in first]
