"""Terms of a taxonomy against a worded mention: labels, inclusion terms and index paths.

An index path (``Failure, failed, heart (acute), systolic (congestive)``) is read as its books say: words in
brackets may be there or not, another form of the main term is no further word, and what is said to be
unspecified needs no saying.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..signatures.types import Concept
from ..signatures.wording import Wording

LONG = 160
"""Characters of a term, at most."""

_BRACKETS = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
_ENCOUNTER = re.compile(
    r"\b(?:initial|subsequent) encounter\b.*|\bsequela\b.*|\bnot elsewhere classified\b"
    r"|\bin (?:diseases|conditions) classified\b.*",
    re.IGNORECASE,
)
_WITHOUT = re.compile(r"\bwithout\b[^,]*", re.IGNORECASE)


class Term(NamedTuple):
    """The stems that a mention must have to be this term, and those that it may have."""

    needed: frozenset[str]
    may: frozenset[str]


class Fit(NamedTuple):
    """How a mention fits the terms of a concept.

    ``alike``, in [0, 1]: the share of the mention's words that the best term has times the share of the
    term's words that the mention has. ``named``, in [0, 1]: 1 where a term is the mention, less where several
    concepts have that term.
    """

    alike: float
    named: float


@lru_cache(maxsize=400_000)
def read_term(text: str, wording: Wording) -> Term:
    """A term's words."""
    may: list[str] = []

    def taken(match: re.Match[str]) -> str:
        may.extend(wording.stems(match[1] or match[2] or ""))
        return " "

    plain = text
    while _BRACKETS.search(plain):
        plain = _BRACKETS.sub(taken, plain)
    left_out = _ENCOUNTER.findall(plain)
    may += wording.stems(" ".join(left_out))
    plain = _WITHOUT.sub(" ", _ENCOUNTER.sub(" ", plain))
    segments = [wording.stems(s) for s in plain.split(",")]
    needed = [s for segment in segments for s in segment]
    if segments and segments[0]:
        main = segments[0][0][:4]
        forms = {segment[0] for segment in segments[1:3] if len(segment) == 1 and segment[0][:4] == main}
        may += forms - set(segments[0])
        needed = [s for s in needed if s not in forms or s in segments[0]]
    spoken = frozenset(needed) - wording.optional
    return Term(spoken, (frozenset(needed) | frozenset(may)) - spoken)


def terms_said(concept: Concept) -> list[str]:
    """The label, and the parts of the definition that are no place in a hierarchy."""
    parts = concept.definition.split(" ; ") if concept.definition else []
    return list(
        dict.fromkeys([concept.label, *(p for p in parts if p and " > " not in p and len(p) <= LONG)])
    )


def fits(mention: str, concepts: Sequence[Concept], wording: Wording) -> list[Fit]:
    """How a mention fits each of some concepts. A term that several of them have (but for siblings) says
    less of each."""
    words = frozenset(wording.stems(mention))
    spoken = words - wording.optional or words
    said = [terms_said(concept) for concept in concepts]
    whose = _owners(zip(concepts, said, strict=True))
    found = []
    for terms in said:
        alike = named = 0.0
        for text in terms:
            term = read_term(text, wording)
            inside = len(spoken & (term.needed | term.may))
            if not inside or not term.needed:
                continue
            covered = len(words & term.needed) / len(term.needed)
            value = inside / len(spoken) * covered
            if value > alike or value == 1.0:
                value /= whose[text]
                alike = max(alike, value)
                if inside == len(spoken) and covered == 1.0:
                    named = max(named, value)
        found.append(Fit(alike, named))
    return found


def _owners(said: Iterable[tuple[Concept, Sequence[str]]]) -> Counter[str]:
    """How many concepts have each term; siblings are one."""
    pairs = {(t, str(c.metadata.get("parent") or c.id)) for c, terms in said for t in terms}
    return Counter(t for t, _ in pairs)
