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
_ENCOUNTERS = {
    "subsequent_encounter": re.compile(
        r"\b(?:subsequent|follow.?up|aftercare|healing|healed|delayed|non.?union|mal.?union)\b", re.IGNORECASE
    ),
    "sequela": re.compile(r"\b(?:sequelae?|late effects?|residuals?|old)\b", re.IGNORECASE),
}
_FIRST = "initial_encounter"
_TOLD = frozenset({_FIRST, *_ENCOUNTERS})
_NUMBERED = re.compile(r"\b(?:stage|type|grade|class|degree)\s+(\d|iv|v|i{1,3})\b", re.IGNORECASE)
_ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5"}
_COURSES = frozenset({"acute", "chronic", "subacute"})


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
    """What a mention says: its sides, the encounter (the initial one where it says none), and its stage."""

    sides: frozenset[str]
    encounter: str
    stage: _Stage

    @classmethod
    def of(cls, mention: str) -> Self:
        words = _WORD.findall(mention.lower())
        sides = {_SIDES[w] for w in words if w in _SIDES}
        if {"right", "left"} <= sides:
            sides.add("bilateral")
        encounter = next((name for name, said in _ENCOUNTERS.items() if said.search(mention)), _FIRST)
        return cls(frozenset(sides), encounter, _Stage.of(mention))

    def against(self, concept: Concept) -> tuple[bool, bool, bool, bool]:
        """What a concept has against the mention: another side, a side that is not said, another encounter,
        another stage or course."""
        sides = _of(concept, "laterality") & set(_SIDES.values())
        encounters = _of(concept, "encounter") & _TOLD
        mine, theirs = self.stage, _stage(concept.label)
        return (
            _differ(self.sides, sides),
            bool(sides and not self.sides),
            bool(encounters) and self.encounter not in encounters,
            _differ(mine.numbers, theirs.numbers) or _differ(mine.courses, theirs.courses),
        )


def _of(concept: Concept, field: str) -> frozenset[str]:
    value: Sequence[str] = concept.metadata.get(field) or ()
    return frozenset(value)
