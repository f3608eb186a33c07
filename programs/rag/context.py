"""From rankings to the documents a generator reads: union, deduplication, budget, packing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...retrievers.base import Ranking

CountTokens = Callable[[str], int]

BYTES_PER_TOKEN = 3.5


class PassageLike(Protocol):
    """What a passage must have to be read."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def content(self) -> str: ...


class Passages(Protocol):
    """Passages by id (a ``retrievers.corpus.Corpus`` is one)."""

    def __getitem__(self, id_: str, /) -> PassageLike: ...


@dataclass(frozen=True)
class Evidence:
    """One passage of a context and every (query name, rank) that returned it, in query order."""

    id: str
    sources: tuple[tuple[str, int], ...]

    def toDict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"id": self.id, "sources": [list(source) for source in self.sources]}

    @property
    def first(self) -> tuple[str, int]:
        """The query and rank that brought it into the context."""
        return self.sources[0]


@dataclass(frozen=True)
class Fused:
    """The union of rankings under a budget.

    ``duplicates`` counts places whose passage (by id or by text) stood in the union already, ``over_budget``
    the distinct passages that the budget left out. ``overlap`` is the mean pairwise Jaccard overlap of the
    rankings' ids, in [0, 1]; None for a single ranking.
    """

    evidence: tuple[Evidence, ...]
    duplicates: int = 0
    over_budget: int = 0
    overlap: float | None = None


def same_text(passage: PassageLike) -> str:
    """What two passages with the same words share: the content without case and spacing."""
    return " ".join(passage.content.casefold().split())


def fuse_queries(
    rankings: Mapping[str, Ranking], passages: Passages, budget: int, *, in_turn: bool = False
) -> Fused:
    """The union in query order, then rank, first occurrence kept, cut to ``budget`` passages.

    A passage is a duplicate by its id or by its text (corpora repeat pages under several ids); what a
    duplicate's query and rank were is added to the sources of the one that is kept.

    Args:
        rankings: query name -> ranking, already cut to its depth, in query order.
        passages: texts by id.
        budget: B_max, at least 1.
        in_turn: the first place of every query, then the second of every query, and so on.

    Raises:
        ValueError: ``budget`` below 1.
    """
    if budget < 1:
        raise ValueError(f"the budget must be at least 1 document, not {budget}")
    sources: dict[str, list[tuple[str, int]]] = {}
    by_text: dict[str, str] = {}
    places = [(name, rank, id_) for name, r in rankings.items() for rank, id_ in enumerate(r.ids, 1)]
    if in_turn:
        places.sort(key=lambda place: place[1])
    for name, rank, id_ in places:
        kept = id_ if id_ in sources else by_text.setdefault(same_text(passages[id_]), id_)
        sources.setdefault(kept, []).append((name, rank))
    evidence = tuple(Evidence(id_, tuple(found)) for id_, found in sources.items())
    duplicates, over = len(places) - len(evidence), max(0, len(evidence) - budget)
    return Fused(evidence[:budget], duplicates, over, overlap(list(rankings.values())))


def estimate_tokens(text: str) -> int:
    """A cautious count without a tokenizer: one token for every 3.5 bytes of UTF-8, rounded up.

    English prose has four to five bytes a token; 3.5 leaves room for numbers, drug names and scripts whose
    letters take two or three bytes. Give a model's own tokenizer where the window is tight.
    """
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)


def show(number: int, passage: PassageLike) -> str:
    """One document as a prompt shows it, numbered from 1."""
    title = f" (title: {' '.join(passage.title.split())})" if passage.title.strip() else ""
    return f"[{number}]{title} {' '.join(passage.content.split())}"


@dataclass(frozen=True)
class Packed:
    """The documents that fit, in order, as one text; ``left_out`` are the ids of those that did not."""

    text: str
    evidence: tuple[Evidence, ...]
    left_out: tuple[str, ...]
    tokens: int


def pack(
    evidence: Iterable[Evidence], passages: Passages, room: int, count: CountTokens = estimate_tokens
) -> Packed:
    """Fill ``room`` tokens with whole passages, in order.

    A passage that does not fit is left out as a whole and a later, shorter one may still be taken.

    Args:
        evidence: in the order of the context.
        passages: texts by id.
        room: tokens that the documents may take; 0 or less leaves out everything.
        count: the number of tokens of a text.
    """
    kept: list[Evidence] = []
    parts: list[str] = []
    left_out: list[str] = []
    used = 0
    for item in evidence:
        part = show(len(kept) + 1, passages[item.id])
        cost = count(part + "\n")
        if used + cost > room:
            left_out.append(item.id)
            continue
        used += cost
        kept.append(item)
        parts.append(part)
    return Packed("\n".join(parts), tuple(kept), tuple(left_out), used)


def overlap(rankings: Sequence[Ranking]) -> float | None:
    """Mean pairwise Jaccard overlap of the ids of several rankings, in [0, 1]; None for fewer than two."""
    sets = [set(r.ids) for r in rankings]
    pairs = [(a, b) for i, a in enumerate(sets) for b in sets[i + 1 :]]
    if not pairs:
        return None
    return sum(len(a & b) / len(a | b) if a | b else 0.0 for a, b in pairs) / len(pairs)
