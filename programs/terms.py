"""Terms of a taxonomy against a worded mention: labels, inclusion terms and index paths.

An index path (``Failure, failed, heart (acute), systolic (congestive)``) is read as its books say: words in
brackets may be there or not, another form of the main term is no further word, and what is said to be
unspecified needs no saying.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ..signatures.types import Concept
from ..signatures.wording import Wording
from .sayings import FIRST_ENCOUNTER, UNSAID_SIDE, MentionSides, laterality, sides_of

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
_COURSES = re.compile(r"\b(acute|subacute|chronic), (acute|subacute|chronic)\b", re.IGNORECASE)
"""Courses of which an index path means either."""

_RANGE = re.compile(r"(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?)| or (less|more|greater)\b)")
_DECIMAL = re.compile(r"\d+\.\d+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


_ORGANS = "eye ear"

_VISIT = "follow-up followup visit aftercare subsequent encounter routine delayed healing healed"
"""How a mention says that its encounter is a later one; a term need not."""


def _head(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]{4,}", text.lower()))


class Term(NamedTuple):
    """The stems that a mention must have to be this term, those that it may have, and ranges of numbers of
    which one must be met. ``without``: the stems of what the term excludes, which need no saying."""

    needed: frozenset[str]
    may: frozenset[str]
    ranges: tuple[tuple[float, float], ...] = ()
    without: frozenset[str] = frozenset()


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

    plain = _COURSES.sub(r"\1 (\2)", text)
    while "(" in plain or "[" in plain:
        plain, before = _BRACKETS.sub(taken, plain), plain
        if plain == before:  # a bracket that does not close
            break
    unsaid = _UNSAID.findall(plain)
    if unsaid:
        may += wording.stems(" ".join(unsaid))
        plain = _UNSAID.sub(" ", plain)
    without = frozenset(wording.stems(" ".join(_WITHOUT.findall(plain))))
    plain = _WITHOUT.sub(" ", plain)
    found = _RANGE.findall(plain)
    ranges = tuple(_range(*ends) for ends in found)
    segments = [wording.stems(s) for s in (_RANGE.sub(" ", plain) if found else plain).split(",")]
    needed = [s for segment in segments for s in segment]
    if segments and segments[0]:
        main = segments[0][0][:4]
        forms = {segment[0] for segment in segments[1:3] if len(segment) == 1 and segment[0][:4] == main}
        may += forms - set(segments[0])
        needed = [s for s in needed if s not in forms or s in segments[0]]
    spoken = frozenset(needed) - wording.optional
    return Term(spoken, (frozenset(needed) | frozenset(may)) - spoken, ranges, without)


def _range(one: str, other: str, beyond: str) -> tuple[float, float]:
    number = float(one)
    if beyond:
        return (0.0, number) if beyond == "less" else (number, math.inf)
    return number, float(other)


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
        less of each.

        A side asks nothing of a concept that knows no sides. A concept of the mention's side has the terms of
        the same concept without a side.
        """
        said = _Said(mention, self.wording)
        whose: Counter[str] = Counter()
        fitting: list[list[_Found]] = []
        parents: set[tuple[str, str]] = set()
        unsided = self._unsided(said, concepts)
        for concept in concepts:
            sides = sides_of(concept)
            found: list[_Found] = []
            parent = str(concept.metadata.get("parent") or concept.id)
            known = bool(sides) or UNSAID_SIDE in laterality(concept)
            mine = bool(sides & said.sides)
            organs = self._organs(concept) if said.sides and not known else frozenset[str]()
            for text, small in self.of(concept):
                one = self._fit(said, text, small, mine or not known, mine, organs)
                if one is not None:
                    found.append(one)
                    if (text, parent) not in parents:
                        parents.add((text, parent))
                        whose[text] += 1
            if mine or (known and not sides and not said.sides):
                others = unsided.get(self._plain(concept), ()) if mine else ()
                more = [*(term for other in others for term in self.of(other)), *self._above(concept)]
                found += [f for term in more if (f := self._fit(said, *term, True, mine)) is not None]
            fitting.append(found)
        most = max((one.said for found in fitting for one in found if one.value == 1.0), default=0.0)
        return [_best(found, whose, most) for found in fitting]

    def _fit(
        self,
        said: _Said,
        text: str,
        small: str,
        unsided: bool,
        mine: bool,
        more: frozenset[str] = frozenset(),
    ) -> _Found | None:
        """How a term fits: one that need not say the side (``unsided``) and ``more``, of the mention's side
        (``mine``)."""
        if not said.near(small):
            return None
        spare = (self._side_words if unsided else frozenset()) | more
        return said.fit(text, self._term(text), spare, self._one_sided if mine else frozenset())

    def _organs(self, concept: Concept) -> frozenset[str]:
        """Organs that a mention's side names ("left eye"), where a heading above the concept names them."""
        path = next((p for p in concept.definition.split(" ; ") if " > " in p), "")
        headings = path.rpartition(" > ")[0]
        return frozenset(self.wording.stems(_ORGANS)) & frozenset(self.wording.stems(headings))

    def _above(self, concept: Concept) -> list[tuple[str, str]]:
        """The nearest heading above a concept of a side that does not name its side."""
        path = next((p for p in concept.definition.split(" ; ") if " > " in p), "").split(" > ")
        for heading in reversed(path[1:-1]):
            if not MentionSides.of(heading).sides:
                return [(heading, heading.lower())] if _head(heading) & _head(concept.label) else []
        return []

    @cached_property
    def _side_words(self) -> frozenset[str]:
        return frozenset(self.wording.stems("right left bilateral bilaterally both unilateral"))

    @cached_property
    def _one_sided(self) -> frozenset[str]:
        """What a term of one side says besides, and a mention of that side need not."""
        return frozenset(self.wording.stems("unilateral primary"))

    def _unsided(self, said: _Said, concepts: Sequence[Concept]) -> Mapping[frozenset[str], list[Concept]]:
        """The concepts whose side is not said, by the words of their labels but for sides."""
        found: dict[frozenset[str], list[Concept]] = {}
        for concept in concepts if said.sides else ():
            if UNSAID_SIDE in laterality(concept):
                found.setdefault(self._plain(concept), []).append(concept)
        return found

    def _plain(self, concept: Concept) -> frozenset[str]:
        return frozenset(self.wording.stems(concept.label)) - self._side_words - self.wording.optional


class _Found(NamedTuple):
    """A term that fits a mention by ``value``, in [0, 1], and how many of the mention's words it says; half a
    word less where it excludes something that the mention does not."""

    text: str
    value: float
    said: float


class _Said:
    """What a mention says."""

    def __init__(self, mention: str, wording: Wording) -> None:
        told = MentionSides.of(mention)
        self.sides = told.sides
        self.words = frozenset(wording.stems(_DECIMAL.sub(" ", mention)))
        self.spoken = self.words - wording.optional or self.words
        later = told.encounter != FIRST_ENCOUNTER
        self.visit = frozenset(wording.stems(_VISIT)) if later else frozenset[str]()
        self.excludes = bool({"without", "no"} & self.words)
        self.numbers = [float(n) for n in _NUMBER.findall(mention)]
        self.decimals = len(_DECIMAL.findall(mention))
        near = re.compile("|".join(map(re.escape, wording.beginnings(self.spoken)))).search
        self.near = near if self.spoken and not self.numbers else _any

    def fit(self, text: str, term: Term, spare: frozenset[str], unsaid: frozenset[str]) -> _Found | None:
        """How a term fits; None where it shares nothing with the mention.

        Args:
            text, term: the term.
            spare: words of the mention that the term need not have.
            unsaid: words of the term that the mention need not.
        """
        needed = term.needed - (unsaid - self.words)
        if not (needed or term.ranges):
            return None
        met = sum(any(low <= n <= high for n in self.numbers) for low, high in term.ranges[:1])
        known = needed | term.may | (term.without if self.excludes else frozenset())
        spoken = self.spoken - ((spare | self.visit) - known)
        length = len(spoken) + self.decimals
        if not length:
            return None
        covered = len(self.words & needed) + met
        inside = min(len(spoken & known) + met, length)
        value = inside * covered / (length * (len(needed) + len(term.ranges[:1])))
        if not value > 0.0:
            return None
        excluded = bool(term.without) and not self.excludes
        said = len(spoken & (known - term.may)) + met - excluded / 2
        return _Found(text, value, said)


def _best(found: Sequence[_Found], whose: Counter[str], most: float) -> Fit:
    """The best of a concept's terms; ``most`` is how many words a term that is the mention has at most."""
    alike = named = 0.0
    for text, value, said in found:
        shared = value / max(whose[text], 1)
        alike = max(alike, shared)
        if value == 1.0 and said == most:
            named = max(named, shared)
    return Fit(alike, named)
