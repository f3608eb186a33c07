"""Fields derived from a row of the inventory: its documentation text, and the inputs of a category profile.

The derived fields are ``chapter``, ``laterality``, ``encounter`` and ``modifiers``. They are computed once
for a whole inventory and stored with it. The vocabularies are those of the ``icd10cm`` schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..signatures.dimensions import load_schema

FIELDS = ("chapter", "laterality", "encounter", "modifiers")
"""The metadata fields that the ``icd10cm`` schema reads."""

INDEX_FIELDS = {
    "alphabetic": "index_terms",
    "external_cause": "external_cause_index_terms",
    "neoplasm_table": "neoplasm_table_terms",
    "drug_table": "drug_table_terms",
}
"""The row field that holds the paths of each index."""

DOCUMENTED = ("alphabetic", "external_cause", "neoplasm_table")
"""The indexes whose paths belong to a code's documentation.

The paper says "alphabetic-index lead/sub-term paths"; the external-cause index and the neoplasm table are
printed as parts of that index, so they are in. The table of drugs (19 terms a poisoning code) is not.
"""

CHAPTERS = (
    ("A00", "B99", "1"), ("C00", "D49", "2"), ("D50", "D89", "3"), ("E00", "E89", "4"),
    ("F01", "F99", "5"), ("G00", "G99", "6"), ("H00", "H59", "7"), ("H60", "H95", "8"),
    ("I00", "I99", "9"), ("J00", "J99", "10"), ("K00", "K95", "11"), ("L00", "L99", "12"),
    ("M00", "M99", "13"), ("N00", "N99", "14"), ("O00", "O9A", "15"), ("P00", "P96", "16"),
    ("Q00", "Q99", "17"), ("R00", "R99", "18"), ("S00", "T88", "19"), ("V00", "Y99", "20"),
    ("Z00", "Z99", "21"),
)  # fmt: skip
"""First and last category of each chapter of the tabular list."""

_LEFT_BEHIND = re.compile(
    r"\bleft (?=in |at |without |against )"
)  # "foreign body left in body" names no side
_UNSPECIFIED = re.compile(r"\bunspecified\b")
_PLAIN_UNSPECIFIED = re.compile(r"\bunspecified (?:side|eye|ear|limb)\b")
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")


def chapter_of(code: str) -> str:
    """The chapter of a code's category, or an empty text."""
    return next((chapter for first, last, chapter in CHAPTERS if first <= code[:3] <= last), "")


class Laterality:
    """The side in a label, judged among the labels of its inventory.

    ``right``, ``left`` and ``bilateral`` are words of the label. A label has ``unspecified_side`` if
    replacing one of its ``unspecified`` by ``right`` or ``left`` gives another label of the inventory (true
    for ``unspecified upper limb``, false for ``unspecified fracture of skull``).

    Args:
        labels: every label of the inventory.
    """

    def __init__(self, labels: Iterable[str]) -> None:
        self._sided: set[str] = set()
        for label in labels:
            text = label.lower()
            for side in ("right", "left"):
                for match in re.finditer(rf"\b{side}\b", text):
                    self._sided.add(f"{text[: match.start()]}~{text[match.end() :]}")

    def __call__(self, label: str) -> list[str]:
        """The categories of the Scope dimension, at least one."""
        text = _LEFT_BEHIND.sub("", label.lower())
        words = set(_WORD.findall(text))
        found = [side for side in ("right", "left") if side in words]
        if {"bilateral", "bilaterally"} & words or re.search(r"\bboth (?:eyes|ears|sides)\b", text):
            found.append("bilateral")
        if not found and self._unspecified(text):
            found.append("unspecified_side")
        return found or ["no_side"]

    def _unspecified(self, text: str) -> bool:
        if _PLAIN_UNSPECIFIED.search(text):
            return True
        return any(
            f"{text[: m.start()]}~{text[m.end() :]}" in self._sided for m in _UNSPECIFIED.finditer(text)
        )


def derived(row: Mapping[str, Any], laterality: Laterality) -> dict[str, Any]:
    """The derived fields of a row with ``code``, ``label``, and optional ``chapter`` and
    ``seventh_character``.
    """
    schema = load_schema("icd10cm")
    seventh = row.get("seventh_character") or {}
    meaning = str(seventh.get("meaning", "")) if isinstance(seventh, Mapping) else ""
    label = str(row["label"])
    return {
        "chapter": str(row.get("chapter") or chapter_of(str(row["code"]))),
        "laterality": laterality(label),
        "encounter": list(schema["Temporal"].categories_in(meaning)),
        "modifiers": list(schema["Qualifier"].categories_in(label)),
    }


def add_derived(rows: Sequence[dict[str, Any]]) -> None:
    """Add the derived fields to every row of a whole inventory, in place."""
    laterality = Laterality(str(r["label"]) for r in rows)
    for row in rows:
        row |= derived(row, laterality)


def documentation(row: Mapping[str, Any], indexes: Sequence[str] = DOCUMENTED) -> str:
    """The documentation text of a row, its parts joined by `` ; ``, in the paper's order.

    Inclusion terms, include notes, hierarchy path, index paths; never exclusion notes.
    """
    parts = [*row.get("inclusion_terms", ()), *row.get("inclusion_terms_base", ())]
    parts += [n["note"] for n in row.get("include_notes_inherited", ())]
    parts.append(row["path_text"])
    if "alphabetic" in indexes:
        parts += [*row.get("index_terms", ()), *row.get("index_terms_seventh_char_base", ())]
    for source in indexes:
        if source != "alphabetic":
            parts += row.get(INDEX_FIELDS[source], ())
    return " ; ".join(p for p in parts if p)
