"""How a field writes what its taxonomy words otherwise: abbreviations, sayings, words that are the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from .tokenize import tok
from .toml import named_text, one_line, parse_toml

SHORT = 3
"""Abbreviations of at most so many letters count only as they are written."""

BEGINNING = 4
"""Letters of a word that its stem leaves alone, or all that it has."""

KEPT = 200_000
"""Words whose stems are kept."""

_ENDINGS = (
    "osis", "otic", "ical", "ious", "ions", "itis", "emia", "emic", "ure", "ive", "ion", "ism", "ial", "ies",
    "ing", "ous", "es", "ed", "ic", "al", "is", "us", "um", "ia", "y", "e", "a",
)  # fmt: skip
_KEPT = frozenset({"itis", "osis", "emia", "ism"})
_LEAST = 5
_BRITISH = {
    "aem": "em", "aec": "ec", "paed": "ped", "aesth": "esth", "aeti": "eti", "oedema": "edema",
    "oesoph": "esoph", "oestr": "estr", "oea": "ea", "foet": "fet", "coeli": "celi", "umour": "umor",
    "aviour": "avior", "colour": "color", "labour": "labor", "sulph": "sulf", "leucocyt": "leukocyt",
    "leucop": "leukop", "centre": "center", "fibre": "fiber",
}  # fmt: skip
_SPELLED = re.compile("|".join(sorted(_BRITISH, key=len, reverse=True)), re.IGNORECASE)


class _WordingTable(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    may: tuple[str, ...] = ()
    same: tuple[tuple[str, ...], ...] = ()
    says: Mapping[str, str] = {}
    abbreviations: Mapping[str, str] = {}


def american(text: str) -> str:
    """A text with British forms of medical words in American spelling (``haemorrhage``, ``oedema``)."""

    def spelled(match: re.Match[str]) -> str:
        found = _BRITISH[match[0].lower()]
        return found.capitalize() if match[0][0].isupper() else found

    return _SPELLED.sub(spelled, text)


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """A word of :data:`~.tokenize.tok` without the ending that tells a noun from its adjective, in American
    spelling: ``diabetes`` and ``diabetic`` are one, ``nephritis`` and ``nephrosis`` are two."""
    word = american(word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST:
            return word if ending in _KEPT else word[: -len(ending)]
    return word


@dataclass(frozen=True, eq=False)
class Wording:
    """The wording of a field.

    Args:
        name: of the taxonomy's schema.
        may: words that a term of the taxonomy may have and a mention need not.
        same: groups of words of which the first stands for all.
        says: what mentions say, and how the taxonomy words it.
        abbreviations: what is written short, and the words for it.
    """

    name: str = ""
    may: Sequence[str] = ()
    same: Sequence[Sequence[str]] = ()
    says: Mapping[str, str] = field(default_factory=dict)
    abbreviations: Mapping[str, str] = field(default_factory=dict)
    _runs: dict[str, tuple[str, ...]] = field(default_factory=dict, init=False, repr=False)

    def __deepcopy__(self, memo: dict[int, Any]) -> Wording:
        return self

    @cached_property
    def _first(self) -> Mapping[str, str]:
        return {stem(word): stem(group[0]) for group in self.same for word in group}

    @cached_property
    def optional(self) -> frozenset[str]:
        """The stems of ``may``."""
        return frozenset(self.stems(" ".join(self.may)))

    @cached_property
    def _written(self) -> tuple[re.Pattern[str] | None, Mapping[str, str]]:
        """A pattern of all abbreviations and sayings, the longest first, and the words for each."""
        known = {k.lower(): v for k, v in (*self.says.items(), *self.abbreviations.items())}
        parts = sorted((*self.says, *self.abbreviations), key=lambda k: (-len(k), k))
        exact = [re.escape(p) if _short(p) else f"(?i:{re.escape(p)})" for p in parts]
        if not parts:
            return None, known
        return re.compile(rf"(?<![^\W_])(?:{'|'.join(exact)})(?![^\W_])"), known

    def expand(self, text: str) -> str:
        """The text in the taxonomy's words and spelling; itself where nothing of it is known."""
        pattern, known = self._written
        if pattern is None:
            return text
        text = american(text)
        for _ in range(2):  # an abbreviation may stand for a saying
            found = pattern.sub(lambda m: known[m[0].lower()], text)
            if found == text:
                break
            text = found
        return text

    def spoken(self, text: str) -> list[str]:
        """The words of a text that a term must have: those of ``may`` left out."""
        return [run for run in text.split() if not self.optional.issuperset(self._stems_of(run))]

    def stems(self, text: str) -> list[str]:
        """The stems of a text in their order, of the words that stand for others."""
        return [s for run in text.split() for s in self._stems_of(run)]

    def beginnings(self, stems: Iterable[str]) -> list[str]:
        """With one of these begins every word, in small letters, that has one of some stems."""
        return sorted({other[:BEGINNING] for s in stems for other in (s, *self._others.get(s, ()))})

    @cached_property
    def _others(self) -> Mapping[str, Sequence[str]]:
        """The stems of the words for which another stands."""
        return {stem(group[0]): [stem(word) for word in group[1:]] for group in self.same}

    def _stems_of(self, run: str) -> tuple[str, ...]:
        known = self._runs.get(run)
        if known is None:
            stems = (stem(t) for t in dict.fromkeys(tok(run)))
            known = tuple(self._first.get(s, s) for s in stems)
            if len(self._runs) < KEPT:
                self._runs[run] = known
        return known


def _short(text: str) -> bool:
    return len(text) <= SHORT and text != text.lower()


@lru_cache(maxsize=8)
def load_wording(name: str) -> Wording:
    """The bundled wording of a schema's name; an empty one where there is none.

    Raises:
        ValueError: the file is not one.
    """
    folder = resources.files(__package__) / "vocabularies"
    if not (folder / f"{name}-wording.toml").is_file():
        return Wording(name)
    try:
        table = _WordingTable.model_validate(parse_toml(named_text(f"{name}-wording", folder, "wording")))
    except ValidationError as e:
        raise ValueError(f"wording: {one_line(e)}") from e
    return Wording(**dict(table))
