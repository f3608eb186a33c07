"""Terms of a taxonomy against a worded mention: labels, inclusion terms and index paths.

An index path (``Failure, failed, heart (acute), systolic (congestive)``) is read as its books say: words in
brackets may be there or not, another form of the main term is no further word, and what is said to be
unspecified needs no saying.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..signatures.types import Concept
from ..signatures.wording import Wording

LONG = 160
"""Characters of a term, at most."""

_BRACKETS = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
_UNSAID = re.compile(
    r"\b(?:initial|subsequent) encounter\b.*|\bsequela\b.*|\bnot elsewhere classified\b"
    r"|\bin (?:diseases|conditions) classified\b.*"
    r"|\b(?:and|with) (?:(?!\b(?:and|with)\b)[^,])*, or unspecified\b.*",
    re.IGNORECASE,
)
"""What a mention need not say: the encounter, and a stage that may be unspecified."""

_WITHOUT = re.compile(r"\bwithout\b[^,]*", re.IGNORECASE)
_RANGE = re.compile(r"(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)")
_DECIMAL = re.compile(r"\d+\.\d+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Term(NamedTuple):
    """The stems that a mention must have to be this term, those that it may have, and ranges of numbers of
    which one must be met."""

    needed: frozenset[str]
    may: frozenset[str]
    ranges: tuple[tuple[float, float], ...] = ()


class Fit(NamedTuple):
    """How a mention fits the terms of a concept.

    ``alike``, in [0, 1]: the share of the mention's words that the best term has times the share of the
    term's words that the mention has. ``named``, in [0, 1]: 1 where a term is the mention, less where several
    concepts have that term; 0 where a term of another concept says more of the mention.
    """

    alike: float
    named: float


def read_term(text: str, wording: Wording) -> Term:
    """A term's words."""
    may: list[str] = []

    def taken(match: re.Match[str]) -> str:
        may.extend(wording.stems(match[1] or match[2] or ""))
        return " "

    plain = text
    while "(" in plain or "[" in plain:
        plain, before = _BRACKETS.sub(taken, plain), plain
        if plain == before:  # a bracket that does not close
            break
    unsaid = _UNSAID.findall(plain)
    if unsaid:
        may += wording.stems(" ".join(unsaid))
        plain = _UNSAID.sub(" ", plain)
    plain = _WITHOUT.sub(" ", plain)
    found = _RANGE.findall(plain)
    ranges = tuple((float(low), float(high)) for low, high in found)
    segments = [wording.stems(s) for s in (_RANGE.sub(" ", plain) if found else plain).split(",")]
    needed = [s for segment in segments for s in segment]
    if segments and segments[0]:
        main = segments[0][0][:4]
        forms = {segment[0] for segment in segments[1:3] if len(segment) == 1 and segment[0][:4] == main}
        may += forms - set(segments[0])
        needed = [s for s in needed if s not in forms or s in segments[0]]
    spoken = frozenset(needed) - wording.optional
    return Term(spoken, (frozenset(needed) | frozenset(may)) - spoken, ranges)


def _any(text: str) -> bool:
    return True


class Terms:
    """The terms of one taxonomy's concepts, each read once.

    Args:
        wording: how mentions write what the taxonomy words otherwise.
    """

    def __init__(self, wording: Wording) -> None:
        self.wording = wording
        self._of: dict[str, list[tuple[str, str]]] = {}
        self._read: dict[str, Term] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Terms:
        return self

    def of(self, concept: Concept) -> list[tuple[str, str]]:
        """The label, and the parts of the definition that are no place in a hierarchy, each also in small
        letters."""
        found = self._of.get(concept.id)
        if found is None:
            parts = concept.definition.split(" ; ") if concept.definition else []
            others = (p for p in parts if p and " > " not in p and len(p) <= LONG)
            found = self._of[concept.id] = [(t, t.lower()) for t in dict.fromkeys([concept.label, *others])]
        return found

    def _term(self, text: str) -> Term:
        term = self._read.get(text)
        if term is None:
            term = self._read[text] = read_term(text, self.wording)
        return term

    def fits(self, mention: str, concepts: Sequence[Concept]) -> list[Fit]:
        """How a mention fits each of some concepts. A term that several of them have (but for siblings) says
        less of each."""
        wording = self.wording
        words = frozenset(wording.stems(_DECIMAL.sub(" ", mention)))
        spoken = words - wording.optional or words
        numbers = [float(n) for n in _NUMBER.findall(mention)]
        decimals = len(_DECIMAL.findall(mention))
        near = re.compile("|".join(map(re.escape, wording.beginnings(spoken)))).search if spoken else _any
        near = near if not numbers else _any
        whose: Counter[str] = Counter()
        fitting: list[list[tuple[str, float, int]]] = []
        parents: set[tuple[str, str]] = set()
        for concept in concepts:
            found = []
            parent = str(concept.metadata.get("parent") or concept.id)
            for text, small in self.of(concept):
                if not near(small):
                    continue
                term = self._term(text)
                met = sum(any(low <= n <= high for n in numbers) for low, high in term.ranges[:1])
                inside = len(spoken & term.needed) + len(spoken & term.may) + min(met, decimals)
                if not inside or not (term.needed or term.ranges):
                    continue
                covered = len(words & term.needed) + met
                asked = len(term.needed) + len(term.ranges[:1])
                value = inside * covered / ((len(spoken) + decimals) * asked)
                if value > 0.0:
                    found.append((text, value, len(spoken & term.needed) + met))
                    if (text, parent) not in parents:
                        parents.add((text, parent))
                        whose[text] += 1
            fitting.append(found)
        most = max((said for found in fitting for _, value, said in found if value == 1.0), default=0)
        return [_best(found, whose, most) for found in fitting]


def _best(found: Sequence[tuple[str, float, int]], whose: Counter[str], most: int) -> Fit:
    """The best of a concept's terms; ``most`` is how many words a term that is the mention has at most."""
    alike = named = 0.0
    for text, value, said in found:
        shared = value / whose[text]
        alike = max(alike, shared)
        if value == 1.0 and said == most:
            named = max(named, shared)
    return Fit(alike, named)
