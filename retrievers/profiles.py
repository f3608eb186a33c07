"""Category profiles of a whole inventory, computed once and stored in a file.

The file is JSON lines: a header (format, version, fingerprints of the schema and of the inventory file,
counts), then one line per distinct profile with the ids of its concepts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..signatures.dimensions import DimensionSchema
from ..signatures.types import Concept
from .errors import InputError
from .files import read_jsonl

FORMAT = "abduce-profiles"
VERSION = 1
"""Goes up whenever the rules change that give a concept its categories: files of another are passed over."""

Profile = tuple[tuple[str, ...], ...]
"""One category tuple a vocabulary-matched dimension, in canonical order."""


def profile_rows(
    schema: DimensionSchema, concepts: Iterable[Concept], inventory: str
) -> Iterator[dict[str, Any]]:
    """The rows of a profiles file.

    Args:
        schema: the schema of the profiles.
        concepts: all concepts of the inventory.
        inventory: fingerprint of the inventory file that has these concepts.
    """
    held: dict[Profile, list[str]] = {}
    for concept in concepts:
        held.setdefault(schema.profile(concept), []).append(concept.id)
    yield {
        "format": FORMAT,
        "version": VERSION,
        "schema": schema.fingerprint,
        "inventory": inventory,
        "dimensions": [d.name for d in schema.dimensions if d.controlled],
        "profiles": len(held),
        "concepts": sum(map(len, held.values())),
    }
    for profile, ids in held.items():
        yield {"profile": profile, "ids": ids}


@dataclass(frozen=True)
class ProfileFile:
    """A profiles file, and the fingerprint of its inventory file."""

    path: Path
    inventory: str

    def read(self, schema: DimensionSchema) -> dict[str, Profile]:
        """Profiles by concept id. Empty if the file is for another schema, inventory or version; the caller
        then computes them.

        Raises:
            InputError: the file is damaged.
        """
        rows = read_jsonl(self.path)
        _, header = next(rows, (0, {}))
        if header.get("format") != FORMAT:
            raise InputError("is not a file of category profiles", file=self.path)
        wanted = {"version": VERSION, "schema": schema.fingerprint, "inventory": self.inventory}
        if any(header.get(name) != value for name, value in wanted.items()):
            return {}
        dimensions = [frozenset(d.categories) for d in schema.dimensions if d.controlled]
        found: dict[str, Profile] = {}
        lines = 0
        for line, row in rows:
            lines += 1
            try:
                profile = tuple(tuple(map(str, part)) for part in row["profile"])
                known = all(d.issuperset(part) for d, part in zip(dimensions, profile, strict=True))
                ids = [id_ + "" for id_ in row["ids"]]
            except (KeyError, TypeError, ValueError):
                known = False
            if not known:
                message = "is no profile of the schema; build the inventory again"
                raise InputError(message, file=self.path, line=line)
            found.update(dict.fromkeys(ids, profile))
        if (lines, len(found)) != (header.get("profiles"), header.get("concepts")):
            raise InputError("lacks profiles; build the inventory again", file=self.path)
        return found


__all__ = ["Profile", "ProfileFile", "profile_rows"]
