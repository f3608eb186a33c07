"""Names of the columns in the user's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..retrievers.errors import InputError

TAXONOMY = ("id", "label", "definition", "datatype")
"""Names of a taxonomy's columns."""

ROWS = ("fact_id", "gold", "company")
"""Names of the columns of a table whose rows are tagged."""


@dataclass(frozen=True)
class Columns:
    """The headings of the user's tables.

    Args:
        names: maps a name of :data:`TAXONOMY` or :data:`ROWS` to the table's heading.
        text: the columns with the text to tag, in order.

    Raises:
        InputError: an unknown name, or an empty heading.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    text: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name, heading in self.names.items():
            if name not in TAXONOMY + ROWS:
                known = f"{', '.join(TAXONOMY)} (taxonomy), {', '.join(ROWS)} (rows)"
                raise InputError(f"no column is called {name!r} here; there are {known}", field="column")
            if not heading.strip():
                raise InputError(f"the heading of {name!r} is empty", field="column")
        if any(not heading.strip() for heading in self.text):
            raise InputError("the heading is empty", field="text_column")

    @classmethod
    def parse(cls, pairs: Sequence[str], text: Sequence[str] = ()) -> Columns:
        """Parse texts such as ``id=code``.

        Raises:
            InputError: a text without ``=``, a duplicate name, or an error as above.
        """
        names: dict[str, str] = {}
        for pair in pairs:
            name, sign, heading = pair.partition("=")
            if not sign:
                raise InputError(f"{pair!r} is not NAME=HEADING, such as id=code", field="column")
            if name.strip() in names:
                raise InputError(f"duplicate column name {name.strip()!r}", field="column")
            names[name.strip()] = heading
        return cls(names, tuple(text))
