"""Features of a locus in blocks; each block has the same weight, however many features it has.

A table cell has blocks for its innermost row header, the chain above that, the column header, the text above
the table, the table's words, the rows above and below, and the kind of its value. A number in running text
has the words beside it, a near and a wide window, the whole passage, and the kind of its value. A worded
mention has words, pairs of words and pieces of words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from ...signatures.types import Fact
from ..precedents.loci import context_tokens, digits_of, period_of, words
from ..tokenize import tok
from .rows import place_of

Blocks = list[Sequence[str]]

_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
NEAR, WIDE = (60, 50), (150, 100)
"""Characters before and after a number in running text: its near and its wide window."""

BESIDE = 4
"""Words on each side of a number that are told apart by their place."""

PIECES = (3, 4, 5)
"""Lengths of the pieces of words."""


def blocks_of(fact: Fact) -> Blocks:
    """The features of a fact's locus, block by block; a block may be empty."""
    if worded(fact):
        return mention_blocks(fact.value)
    return _cell(fact) if fact.modality == "table" else _number(fact)


def worded(fact: Fact) -> bool:
    """Whether a fact is a mention in words."""
    return fact.modality == "text" and _LETTER.search(fact.value) is not None


def header_blocks(text: str, datatype: str | None) -> Blocks:
    """The features of a cell with only a header and a datatype."""
    return [_header(text), (f"v:{datatype}",)]


def mention_blocks(text: str) -> Blocks:
    """The features of a worded mention, or of the words of a concept in the same space."""
    found = words_of(text)
    pieces = dict.fromkeys(p for word in dict.fromkeys(found) for p in _pieces(word))
    return [list(dict.fromkeys(found)), [f"{a}_{b}" for a, b in pairwise(found)], list(pieces)]


@lru_cache(maxsize=100_000)
def _pieces(word: str) -> tuple[str, ...]:
    marked = f"<{word}>"
    return tuple(f"~{marked[i : i + n]}" for n in PIECES for i in range(len(marked) - n + 1))


@lru_cache(maxsize=50_000)
def words_of(text: str) -> tuple[str, ...]:
    """The tokens of a text in their order, numbers too; those of camel-case words split."""
    return tuple(t for run in text.split() for t in dict.fromkeys(tok(run)))


@lru_cache(maxsize=50_000)
def label_words(label: str) -> tuple[str, ...]:
    """The distinct words of a concept's label."""
    return tuple(dict.fromkeys(words(label)))


@lru_cache(maxsize=50_000)
def _header(leaf: str) -> tuple[str, ...]:
    found = words(leaf)
    if not found:
        return (f"h=#{leaf.strip()[:12]}",)
    pairs = (f"h:{a}_{b}" for a, b in pairwise(found))
    return tuple(dict.fromkeys([*(f"h:{w}" for w in found), *pairs, "h=" + " ".join(found[:12])]))


@lru_cache(maxsize=50_000)
def _chain(parents: str) -> tuple[str, ...]:
    if not parents:
        return ()
    found = dict.fromkeys(f"c:{w}" for w in words(parents.replace(" | ", " ")))
    inner = words(parents.rpartition(" | ")[2])
    return (*found, "c=" + " ".join(inner[:12]))


@lru_cache(maxsize=50_000)
def _column(column: str) -> tuple[str, ...]:
    found = words(column)
    period = period_of(column)
    return (*dict.fromkeys(f"k:{w}" for w in found), f"k#{period}", "k=" + " ".join(found[:12]))


@lru_cache(maxsize=20_000)
def _beside(kind: str, label: str) -> tuple[str, ...]:
    found = words(label)
    if not found:
        return ()
    return (*dict.fromkeys(f"{kind}:{w}" for w in found), f"{kind}=" + " ".join(found[:12]))


@lru_cache(maxsize=512)
def _page(text: str, above: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    shown = tuple(f"t:{w}" for w in context_tokens(text, True))
    return shown, tuple(f"p:{w}" for w in context_tokens(above, False))


def _kind(fact: Fact, period: int, year: int = 0) -> list[str]:
    value, datatype = fact.value, fact.datatype
    kinds = [f"v:{datatype}", f"v#{datatype} {period}", f"v:digits {digits_of(fact)}"]
    if value.lstrip("$ ").startswith(("(", "-", "−")):
        kinds.append("v:negative")
    if "." in value:
        kinds.append("v:decimals")
    if not _DIGIT.search(value):
        kinds.append("v:no digit")
    if year:
        kinds.append(f"v:year {year}")
    return kinds


def _cell(fact: Fact) -> Blocks:
    parents, _, leaf = (fact.row_header or "").rpartition(" | ")
    column = fact.column_header or ""
    shown, above = _page(fact.context.text, fact.context.preceding_text)
    place = place_of(fact)
    return [
        _header(leaf),
        _chain(parents),
        _column(column),
        above,
        shown,
        _beside("a", place.above),
        _beside("b", place.below),
        _kind(fact, period_of(column), place.year),
    ]


def _number(fact: Fact) -> Blocks:
    text, start, end = fact.context.text, fact.mention_start, fact.mention_end
    kind = [*_kind(fact, 0), "v:text"]
    if start is None or end is None:
        return [kind]
    before = words(text[max(0, start - WIDE[0]) : start])
    after = words(text[end : end + WIDE[1]])
    beside = [f"<{i}{w}" for i, w in enumerate(reversed(before[-BESIDE:]))]
    beside += [f">{i}{w}" for i, w in enumerate(after[:BESIDE])]
    near = words(f"{text[max(0, start - NEAR[0]) : start]} {text[end : end + NEAR[1]]}")
    return [
        beside,
        list(dict.fromkeys(f"n:{w}" for w in near)),
        list(dict.fromkeys(f"h:{w}" for w in near)),
        list(dict.fromkeys(f"w:{w}" for w in [*before, *after])),
        [f"s:{w}" for w in context_tokens(text, False)],
        kind,
    ]
