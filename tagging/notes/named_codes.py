"""The codes that a note of the tabular list names: codes, ranges, and conditions on their endings."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

_CODE = r"(?<![0-9A-Za-z])([A-Z]\d[0-9A-Z](?:\.[0-9A-Zx]{1,4})?)(?![0-9A-Za-z])"
_CODES = re.compile(rf"{_CODE}(?:(?:\.?-|\.)?\s*(?:-|\bto\b)\s*{_CODE})?")
_WITH = re.compile(r"[\s.,-]*\bwith\s+(.*)$")
_PARTS = re.compile(r"\.(\d+)(?:-\.(\d+))?")
_FINAL = re.compile(r"final characters -(\w+)")
_PLACES = re.compile(r"\b(fourth|fifth|sixth|[4-7]th)\b")
_CHARACTERS = re.compile(r"(?:character|digit)\s+(.*)$")
_ORDINALS = {"fourth": 4, "fifth": 5, "sixth": 6}
_OPEN = "BCEFHJMNQR"
"""The 7th characters of open fractures."""


@dataclass(frozen=True)
class Named:
    """A code (``first`` and ``last`` are the same) or a range of codes that a note names.

    ``ending`` is the condition on further characters (``with .42``, ``with 7th character B``); empty for
    none.
    """

    first: str
    last: str
    ending: str = ""

    def covers(self, code: str) -> bool:
        """Whether a code is at, below or between ``first`` and ``last``, and fulfils the condition."""
        plain = code.replace(".", "")
        low, high = self.first.replace(".", ""), self.last.replace(".", "")
        if not (plain.startswith((low, high)) or (low < plain[: len(low)] and plain[: len(high)] < high)):
            return False
        return not self.ending or _fulfils(self.ending)(plain, plain[len(low) :])


@lru_cache(maxsize=20_000)
def named_codes(note: str) -> tuple[Named, ...]:
    """The codes and ranges that a note names.

    Codes in brackets count: ``(A30-A49)`` is a range, ``(I27.2-)`` and ``(Z22.1)`` are prefixes. Without
    codes in brackets, those of the text count: ``conditions classified to A74.-``, ``jaw pain R68.84``.
    """
    inside = re.findall(r"\(([^()]*)\)", note)
    return tuple(n for part in inside for n in _named(part)) or tuple(_named(note))


def _named(text: str) -> list[Named]:
    found = list(_CODES.finditer(text))
    condition = _WITH.match(text, found[-1].end()) if found else None
    ending = condition[1].strip() if condition else ""
    if _fulfils(ending) is _anything:
        ending = ""
    return [Named(m[1], m[2] or m[1], ending) for m in found]


Check = Callable[[str, str], bool]


def _anything(plain: str, rest: str) -> bool:
    return True


@lru_cache(maxsize=1_000)
def _fulfils(ending: str) -> Check:
    """The check of a condition, given a code without its dot and what follows the named prefix.

    A condition in any other wording than the tabular list's restricts nothing.
    """
    final = _FINAL.search(ending)
    if final is not None:
        return lambda plain, rest: plain.endswith(final[1])
    places = [_ORDINALS.get(p) or int(p[0]) for p in _PLACES.findall(ending.replace("-", " "))]
    if "open fracture" in ending and places:
        return lambda plain, rest: plain[6:7] in tuple(_OPEN)
    wanted = _CHARACTERS.search(ending)
    if places and wanted is not None:
        listed = _listed(wanted[1])
        return lambda plain, rest: _at(plain, places) in listed
    parts = tuple(p for first, last in _PARTS.findall(ending) for p in _between(first, last))
    if parts:
        return lambda plain, rest: rest.startswith(parts)
    if ending.isdigit():
        return lambda plain, rest: rest.startswith(ending)
    return _anything


def _at(plain: str, places: list[int]) -> str:
    """The character at the last of the places that the code has and no placeholder fills."""
    found = [c for p in places if (c := plain[p - 1 : p]) not in ("", "X")]
    return found[-1] if found else ""


def _listed(text: str) -> set[str]:
    """``1-4 or 6`` and ``B or C``, and ``.6``: one character each."""
    found: set[str] = set()
    for first, last in re.findall(r"\b([0-9A-Z])(?:-([0-9A-Z]))?\b", text):
        found.update(chr(c) for c in range(ord(first), ord(last or first) + 1))
    return found


def _between(first: str, last: str) -> list[str]:
    if not last or len(first) != len(last):
        return [first]
    return [str(n).zfill(len(first)) for n in range(int(first), int(last) + 1)]
