"""The exclusion notes of the tabular list that apply to the codes of a note, and the codes of a category."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...retrievers.taxonomy import Taxonomy
from .named_codes import named_codes


@dataclass(frozen=True)
class Exclusion:
    """One exclusion note of a code.

    ``kind`` is 1 (never both codes) or 2 (the condition is not part of this one; both may be used). ``node``
    is the chapter (``chapter 4``), section (``A00-A09``), category or code with the note. ``note`` is its
    text, ``under`` the heading of its list, if any.
    """

    code: str
    kind: int
    node: str
    note: str
    under: str = ""

    @property
    def heads(self) -> bool:
        """Whether it is the heading of a list (``pericarditis (in):``)."""
        return self.note.endswith(":")

    @property
    def level(self) -> str:
        """``chapter``, ``section``, ``category`` or ``code``."""
        if self.node.startswith("chapter "):
            return "chapter"
        if "-" in self.node:
            return "section"
        return "category" if len(self.node) == 3 else "code"

    def covers(self, other: str) -> bool:
        """Whether the note names the code, or a category or range that contains it."""
        return any(named.covers(other) for named in named_codes(self.note))

    @property
    def line(self) -> str:
        """``Excludes1 at A00: carrier of cholera (Z22.1)``."""
        place = f"section {self.node}" if self.level == "section" else self.node
        after = f' [after "{self.under}"]' if self.under else ""
        return f"Excludes{self.kind} at {place}: {self.note}{after}"


def exclusions(code: str, metadata: Mapping[str, Any]) -> list[Exclusion]:
    """The exclusion notes of a code, inherited and its own; Excludes1 first."""
    found: list[Exclusion] = []
    for kind in (1, 2):
        chapter = f"chapter {metadata.get('chapter', '')}"
        notes = [(chapter, str(text)) for text in metadata.get(f"chapter_excludes{kind}", ())]
        for text in metadata.get(f"excludes{kind}", ()):
            node, _, note = str(text).partition(": ")
            notes.append((node, note))
        before = Exclusion(code, kind, "", "")
        for node, note in notes:
            before = Exclusion(code, kind, node, note, _heading(before, node, note))
            found.append(before)
    return found


def _heading(before: Exclusion, node: str, note: str) -> str:
    """The heading that a note belongs to; the official files do not nest their lists.

    A heading ends in a colon (``pericarditis (in):``), and its items follow in alphabetic order.
    """
    if before.node != node or note.endswith(":"):
        return ""
    if before.heads:
        return before.note
    return before.under if before.note.casefold() <= note.casefold() else ""


@dataclass(frozen=True)
class Conflict:
    """An exclusion note and the codes of other mentions that it names; ``listed`` also has their mentions."""

    exclusion: Exclusion
    codes: tuple[str, ...]
    listed: str

    @property
    def line(self) -> str:
        """``R32 and N39.3 (m2, m5): Excludes1 at R32: stress incontinence (N39.3-N39.4-)``."""
        return f"{self.exclusion.code} and {self.listed}: {self.exclusion.line}"


class Meeting:
    """Which codes of a patient's note are named by the exclusion notes of other codes.

    Args:
        places: maps each code to the ids of its mentions.
    """

    def __init__(self, places: Mapping[str, Sequence[str]]) -> None:
        self.places = places
        self._named: dict[str, tuple[str, ...]] = {}

    def named(self, exclusion: Exclusion) -> tuple[str, ...]:
        """The codes that an exclusion note names, without the note's own code."""
        if exclusion.note not in self._named:
            found = named_codes(exclusion.note)
            self._named[exclusion.note] = tuple(c for c in self.places if any(n.covers(c) for n in found))
        return tuple(c for c in self._named[exclusion.note] if c != exclusion.code)

    def conflicts(self, excluded: Iterable[Exclusion], but: Container[str] = ()) -> list[Conflict]:
        """The notes that name codes other than ``but``, in the order of the notes."""
        found = ((e, [c for c in self.named(e) if c not in but]) for e in excluded)
        return [Conflict(e, tuple(c), self.listed(c)) for e, c in found if c]

    def listed(self, codes: Iterable[str]) -> str:
        """Codes with the mentions that have them: ``N39.3 (m2, m5 and 3 more), N39.41 (m4)``."""
        return ", ".join(f"{code} ({self._where(self.places[code])})" for code in codes)

    @staticmethod
    def _where(ids: Sequence[str]) -> str:
        return ", ".join(ids[:2]) + (f" and {len(ids) - 2} more" if len(ids) > 2 else "")


def billable_children(code: str, taxonomy: Taxonomy) -> list[str]:
    """The billable codes below a category or subcategory, ascending; none if it is not a category."""
    prefix = code.upper().rstrip("-.")
    return [c for c in taxonomy.ids if c != prefix and c.startswith(prefix)] if len(prefix) >= 3 else []


def evidence(mention_tokens: frozenset[str], parts: Sequence[str], tokens: Any) -> str:
    """The part of a code's text (label, inclusion term, index path ...) that shares most with the mention.

    Args:
        mention_tokens: tokens of the mention.
        parts: texts; the first wins ties.
        tokens: text to token set.
    """
    best, best_key = "", (0.0, 0.0)
    for part in parts:
        held = tokens(part)
        shared = len(mention_tokens & held)
        key = (shared / max(len(mention_tokens), 1), shared / max(len(held), 1))
        if key > best_key:
            best, best_key = part, key
    return best
