"""What a worded mention says of side, encounter, number and course, and what a concept has against it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Self

from ..signatures.types import Concept

_WORD = re.compile(r"[a-z]+|\d+")
_SIDES = {
    "right": "right",
    "left": "left",
    "bilateral": "bilateral",
    "bilaterally": "bilateral",
    "both": "bilateral",
}
UNSAID_SIDE = "unspecified_side"
"""What a concept's field ``laterality`` says where the concept is of a side that is not said."""

_ENCOUNTERS = {
    "subsequent_encounter": re.compile(
        r"\b(?:subsequent|follow.?up|aftercare|healing|healed|delayed|non.?union|mal.?union)\b", re.IGNORECASE
    ),
    "sequela": re.compile(r"\b(?:sequelae?|late effects?|residuals?|old)\b", re.IGNORECASE),
}
FIRST_ENCOUNTER = "initial_encounter"
"""What a concept's field ``encounter`` says of the first one."""

_TOLD = frozenset({FIRST_ENCOUNTER, *_ENCOUNTERS})
_NUMBERED = re.compile(r"\b(?:stage|type|grade|class|degree)\s+(\d|iv|v|i{1,3})\b", re.IGNORECASE)
_ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5"}
_COURSES = frozenset({"acute", "chronic", "subacute"})


_OPEN = re.compile(r"\bopen\b|\bcompound\b|\bgustilo\b", re.IGNORECASE)
_OPENED = re.compile(r"encounter for (open|closed) fracture")
_HEALING = ("delayed", "nonunion", "malunion")
_HEALS = re.compile(r"encounter for .*fracture.* with (routine|delayed|nonunion|malunion)")


def _healing(mention: str) -> str:
    plain = mention.lower().replace("-", "").replace("non union", "nonunion").replace("mal union", "malunion")
    return next((how for how in _HEALING if how in plain), "routine")


def _heals_otherwise(mention: str, label: str) -> bool:
    """Whether a fracture's code is of an open one where the mention says none, or the reverse; or heals
    otherwise. What is not said is closed, and heals as it should."""
    opened, heals = _OPENED.search(label), _HEALS.search(label)
    if opened is not None and (opened[1] == "open") != bool(_OPEN.search(mention)):
        return True
    if heals is not None:
        return heals[1] != _healing(mention) or ("open fracture" in label) != bool(_OPEN.search(mention))
    return False


class _Stage(NamedTuple):
    numbers: frozenset[str]
    courses: frozenset[str]

    @classmethod
    def of(cls, text: str) -> _Stage:
        numbers = (n.lower() for n in _NUMBERED.findall(text))
        words = set(_WORD.findall(text.lower()))
        return cls(frozenset(_ROMAN.get(n, n) for n in numbers), frozenset(words & _COURSES))


@lru_cache(maxsize=100_000)
def _stage(label: str) -> _Stage:
    return _Stage.of(label)


def _differ(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    return bool(mine and theirs) and not mine & theirs


class MentionSides(NamedTuple):
    """What a mention says: its sides, the encounter (the initial one where it says none), its stage, and its
    words."""

    sides: frozenset[str]
    encounter: str
    stage: _Stage
    mention: str

    @classmethod
    def of(cls, mention: str) -> Self:
        words = _WORD.findall(mention.lower())
        sides = {_SIDES[w] for w in words if w in _SIDES}
        if {"right", "left"} <= sides:
            sides.add("bilateral")
        encounter = next(
            (name for name, said in _ENCOUNTERS.items() if said.search(mention)), FIRST_ENCOUNTER
        )
        return cls(frozenset(sides), encounter, _Stage.of(mention), mention)

    def against(self, concept: Concept) -> tuple[bool, bool, bool, bool]:
        """What a concept has against the mention: another side, a side that is not said, another encounter
        (of a fracture also an open one, or one that heals badly, where that is not said), another stage or
        course."""
        sides = sides_of(concept)
        encounters = _of(concept, "encounter") & _TOLD
        mine, theirs = self.stage, _stage(concept.label)
        return (
            _differ(self.sides, sides),
            bool(sides and not self.sides),
            bool(encounters)
            and (self.encounter not in encounters or _heals_otherwise(self.mention, concept.label)),
            _differ(mine.numbers, theirs.numbers) or _differ(mine.courses, theirs.courses),
        )


def _of(concept: Concept, field: str) -> frozenset[str]:
    value: Sequence[str] = concept.metadata.get(field) or ()
    return frozenset(value)


def laterality(concept: Concept) -> frozenset[str]:
    """What a concept's field of that name says: ``right``, ``bilateral``, ``unspecified_side`` ..."""
    return _of(concept, "laterality")


def sides_of(concept: Concept) -> frozenset[str]:
    """The sides that a concept names."""
    return laterality(concept) & frozenset(_SIDES.values())
