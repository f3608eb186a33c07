"""Taxonomies: concepts, their datatypes and their document text (SPEC sections 1 and 2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..signatures.types import Concept
from .errors import InputError
from .files import first_of, read_rows, require

ID_FIELDS = ("id", "code", "name", "concept")
DEFINITION_FIELDS = ("definition", "documentation", "description")
_NAMESPACE = re.compile(r"^[A-Za-z][\w.-]*:(?=[A-Za-z])")


def strip_namespace(id_: str) -> str:
    """``us-gaap:Assets`` to ``Assets``; an id without a prefix stays."""
    return _NAMESPACE.sub("", id_)


class Taxonomy:
    """An inventory of concepts, ordered by id.

    Args:
        concepts: at least one, ids distinct, labels not empty.
        name: shown in tables and traces.
        indexed: which parts of a concept make its document text, in order: ``id``, ``label``,
            ``definition`` (SPEC section 2: finance label + definition; clinical id + label +
            documentation).

    Raises:
        InputError: no concepts, a duplicate id, or a concept without a label.
    """

    def __init__(
        self,
        concepts: Iterable[Concept],
        name: str = "taxonomy",
        indexed: Sequence[str] = ("label", "definition"),
    ) -> None:
        ordered = sorted(concepts, key=lambda c: c.id)
        if not ordered:
            raise InputError(f"the taxonomy {name!r} has no concepts")
        for previous, concept in pairwise(ordered):
            if previous.id == concept.id:
                raise InputError(f"the taxonomy {name!r} has the id {concept.id!r} twice", field="id")
        for concept in ordered:
            if not concept.label.strip():
                raise InputError(f"the concept {concept.id!r} of {name!r} has no label", field="label")
        unknown = set(indexed) - {"id", "label", "definition"}
        if unknown or not indexed:
            raise InputError(f"a document is made of id, label and definition, not {sorted(unknown)}")
        self.name = name
        self.indexed = tuple(indexed)
        self._concepts = ordered
        self._positions = {c.id: i for i, c in enumerate(ordered)}
        self.datatypes: Counter[str] = Counter(c.datatype for c in ordered if c.datatype)

    @property
    def ids(self) -> list[str]:
        """All ids, ascending; a concept's place here is its position."""
        return list(self._positions)

    def __len__(self) -> int:
        return len(self._concepts)

    def __iter__(self) -> Iterator[Concept]:
        return iter(self._concepts)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._positions

    def __getitem__(self, id_: str) -> Concept:
        return self._concepts[self._positions[id_]]

    def __deepcopy__(self, memo: dict[int, Any]) -> Taxonomy:
        return self  # DSPy's optimizers copy programs; an inventory never changes

    def document(self, concept: Concept, with_datatype: bool = False) -> str:
        """The text that is indexed; ``with_datatype`` puts the datatype in front (full index)."""
        parts = [str(getattr(concept, field)) for field in self.indexed]
        if with_datatype and concept.datatype:
            parts.insert(0, concept.datatype)
        return " ".join(p for p in parts if p)

    @classmethod
    def load(
        cls,
        path: str | Path,
        name: str | None = None,
        indexed: Sequence[str] = ("label", "definition"),
        definition_field: str | None = None,
    ) -> Taxonomy:
        """Read a taxonomy from JSONL, CSV or TSV (``.gz`` allowed).

        Needed are an id (``id``, ``code``, ``name`` or ``concept``) and a ``label``. ``definition``
        (or ``documentation``, ``description``, or the field that ``definition_field`` names) and
        ``datatype`` are read where they are; every other field goes to the concept's metadata.

        Raises:
            InputError: names the file, line and field of what is wrong.
        """
        path = Path(path)
        concepts: list[Concept] = []
        lines: dict[str, int] = {}
        for line, row in read_rows(path):
            id_field = first_of(row, ID_FIELDS) or "id"
            id_ = strip_namespace(require(row, id_field, path, line).strip())
            if id_ in lines:
                raise InputError(
                    f"the id {id_!r} stands already in line {lines[id_]}",
                    file=path,
                    line=line,
                    field=id_field,
                )
            lines[id_] = line
            label = require(row, "label", path, line)
            text_field = definition_field or first_of(row, DEFINITION_FIELDS) or "definition"
            definition = row.get(text_field) or ""
            datatype = row.get("datatype") or None
            for field, value in ((text_field, definition), ("datatype", datatype)):
                if value is not None and not isinstance(value, str):
                    raise InputError("must be a text", file=path, line=line, field=field)
            used = {id_field, "label", "datatype", text_field}
            metadata = {k: v for k, v in row.items() if k not in used and v not in (None, "", [])}
            concepts.append(
                Concept(id=id_, label=label, definition=definition, datatype=datatype, metadata=metadata)
            )
        if not concepts:
            raise InputError("has no concepts", file=path)
        return cls(concepts, name or path.name.split(".")[0], indexed)
