"""Field-by-field agreement of two inventories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...icd10cm_fields import documentation


@dataclass(frozen=True)
class Agreement:
    """The agreement of one field of two inventories over their common codes.

    ``equal`` counts equal values. For lists, ``shared`` and ``union`` count entries as sets, so ``shared /
    union`` is the agreement of entries.
    """

    field: str
    codes: int
    equal: int
    shared: int
    union: int
    first: str = ""

    @property
    def line(self) -> str:
        """One line of a report."""
        text = f"{self.field:<32} {self.equal:>6}/{self.codes} equal ({self.equal / max(self.codes, 1):.4%})"
        if self.union:
            text += f", entries {self.shared}/{self.union} ({self.shared / self.union:.4%})"
        return text + (f", first difference: {self.first}" if self.first else "")


def compare(
    ours: Iterable[Mapping[str, Any]], theirs: Iterable[Mapping[str, Any]]
) -> tuple[list[Agreement], list[str], list[str]]:
    """Compare two inventories code by code.

    ``documentation`` is rebuilt on both sides from the alphabetic index only, so that the choice of further
    indexes makes no difference.

    Returns:
        The agreement of each field that both have, the codes only we have, and those only they have.
    """
    mine = {r["code"]: r for r in ours}
    other = {r["code"]: r for r in theirs}
    common = [c for c in mine if c in other]
    fields = [f for f in next(iter(other.values())) if f in next(iter(mine.values()))] if common else []
    found: list[Agreement] = []
    for field in fields:
        equal = shared = union = 0
        first = ""
        for code in common:
            a, b = mine[code][field], other[code][field]
            if field == "documentation":
                a, b = documentation(mine[code], ("alphabetic",)), documentation(other[code], ("alphabetic",))
            if isinstance(a, list) and field != "path_codes":
                left, right = {str(x) for x in a}, {str(x) for x in b}
                shared, union = shared + len(left & right), union + len(left | right)
                same = left == right
            else:
                same = a == b
            equal += same
            first = first or ("" if same else code)
        found.append(Agreement(field, len(common), equal, shared, union, first))
    return found, sorted(set(mine) - set(other)), sorted(set(other) - set(mine))
