"""Which exclusion notes of the tabular list bear on the codes of one note, and what a category holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...retrievers.taxonomy import Taxonomy

_CODES = re.compile(
    r"([A-Z]\d[0-9A-Z](?:\.[0-9A-Z]{1,4})?)(\.?-(?![A-Z]))?(?:\s*-\s*([A-Z]\d[0-9A-Z](?:\.[0-9A-Z]{1,4})?))?"
)


@dataclass(frozen=True)
class Exclusion:
    """One exclusion note of a code.

    ``kind`` is 1 (never both codes) or 2 (the condition is not part of this one, both may stand),
    ``node`` the section, category or code that the note stands at, ``note`` its text.
    """

    code: str
    kind: int
    node: str
    note: str

    def covers(self, other: str) -> bool:
        """Whether the note names a code, or a category or range that it lies in."""
        return any(_within(other, first, last) for first, last in named_codes(self.note))

    @property
    def line(self) -> str:
        """``Excludes1 at A00: carrier of cholera (Z22.1)``."""
        return f"Excludes{self.kind} at {self.node}: {self.note}"


def named_codes(note: str) -> list[tuple[str, str]]:
    """First and last code of each code or range that a note names in its brackets.

    ``(A30-A49)`` is a range; ``(I27.2-)`` and ``(Z22.1)`` are one prefix, given twice.
    """
    found = []
    for inside in re.findall(r"\(([^()]*)\)", note):
        for first, open_end, last in _CODES.findall(inside):
            found.append((first, last if last and not open_end else first))
    return found


def _within(code: str, first: str, last: str) -> bool:
    """Whether a code lies at or below ``first``, at or below ``last``, or between them."""
    plain = code.replace(".", "")
    low, high = first.replace(".", ""), last.replace(".", "")
    return plain.startswith((low, high)) or (low < plain[: len(low)] and plain[: len(high)] < high)


def exclusions(code: str, metadata: Mapping[str, Any]) -> list[Exclusion]:
    """The exclusion notes of a code, its own and those it inherits from its section on."""
    found = []
    for kind in (1, 2):
        for text in metadata.get(f"excludes{kind}", ()):
            node, _, note = str(text).partition(": ")
            found.append(Exclusion(code, kind, node, note))
    return found


def conflicts(code: str, metadata: Mapping[str, Any], others: Iterable[str]) -> list[tuple[Exclusion, str]]:
    """The notes of a code that name one of the other codes, with that code; Excludes1 first."""
    wanted = [o for o in dict.fromkeys(others) if o != code]
    return [(e, other) for e in exclusions(code, metadata) for other in wanted if e.covers(other)]


def billable_children(code: str, taxonomy: Taxonomy) -> list[str]:
    """The billable codes below a category or subcategory, ascending; none where it is not one."""
    prefix = code.upper().rstrip("-.")
    return [c for c in taxonomy.ids if c != prefix and c.startswith(prefix)] if len(prefix) >= 3 else []


def evidence(mention_tokens: frozenset[str], parts: Sequence[str], tokens: Any) -> str:
    """The part of a code's text (label, inclusion term, index path ...) that shares most with a mention.

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
