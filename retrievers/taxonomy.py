"""Taxonomies: concepts, their datatypes and their document text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..signatures.types import Concept
from .collection import Collection, Record
from .concept_ids import strip_namespace
from .errors import InputError
from .files import Row, first_of, read_rows, refuse_duplicate, require
from .profiles import ProfileFile

ID_FIELDS = ("id", "code", "name", "concept")
LABEL_FIELDS = ("label", "name", "title", "heading", "term")
DEFINITION_FIELDS = ("definition", "documentation", "description")


class Taxonomy(Collection[Concept]):
    """An inventory of concepts, ordered by id.

    Args:
        concepts: at least one, ids distinct, labels not empty.
        name: the name in tables and traces.
        indexed: the parts of a concept in its document text, in order: ``id``, ``label``, ``definition``
            (finance label + definition; clinical id + label + documentation).

    Raises:
        InputError: no concepts, a duplicate id, or a concept without a label.
    """

    kind = "taxonomy"
    noun = "concept"
    parts = ("id", "label", "definition")
    profiles: ProfileFile | None = None
    """The category profiles that are stored with the inventory, where there are any."""

    def __init__(
        self,
        concepts: Iterable[Concept],
        name: str = "taxonomy",
        indexed: Sequence[str] = ("label", "definition"),
    ) -> None:
        super().__init__(concepts, name, indexed)
        for concept in self:
            if not concept.label.strip():
                raise InputError(f"the concept {concept.id!r} of {name!r} has no label", field="label")

    def __reduce__(self) -> tuple[Any, ...]:
        return *super().__reduce__(), {"profiles": self.profiles}

    @classmethod
    def datatype(cls, item: Concept) -> str | None:
        return item.datatype

    @classmethod
    def heading(cls, item: Concept) -> str:
        return item.label

    def document(self, item: Concept, with_datatype: bool = False) -> str:
        """The indexed text; ``with_datatype`` adds the datatype in front (full index)."""
        parts = [str(getattr(item, field)) for field in self.indexed]
        if with_datatype and item.datatype:
            parts.insert(0, item.datatype)
        return " ".join(p for p in parts if p)

    @classmethod
    def record(cls, item: Concept) -> Record:
        return Record(item.id, item.label, item.definition, item.datatype, item.metadata)

    @classmethod
    def item(cls, record: Record) -> Concept:
        return Concept(
            id=record.id,
            label=record.heading,
            definition=record.body,
            datatype=record.datatype,
            metadata=record.metadata,
        )

    @classmethod
    def load(
        cls,
        path: str | Path,
        name: str | None = None,
        indexed: Sequence[str] = ("label", "definition"),
        columns: Mapping[str, str] | None = None,
    ) -> Taxonomy:
        """Read a taxonomy from JSONL, CSV or TSV (``.gz`` allowed).

        Required: an id (``id``, ``code``, ``name`` or ``concept``) and a label (``label``, ``name``,
        ``title``, ``heading`` or ``term``). ``definition`` (or ``documentation``, ``description``) and
        ``datatype`` are optional. All other fields go to the concept's metadata.

        Args:
            path: the file.
            name: the taxonomy's name; None: the file's.
            indexed: the parts of a concept in its document text.
            columns: maps ``id``, ``label``, ``definition`` or ``datatype`` to the file's heading, if it
                differs.

        Raises:
            InputError: names the file, line and field of the error.
        """
        path = Path(path)
        concepts: list[Concept] = []
        lines: dict[str, int] = {}
        given = {n: h for n, h in (columns or {}).items() if n in ("id", "label", "definition", "datatype")}
        for line, row in read_rows(path):
            if not concepts:
                _check_headings(row, given, path)
            id_field = given.get("id") or first_of(row, ID_FIELDS) or "id"
            id_ = strip_namespace(require(row, id_field, path, line).strip())
            refuse_duplicate(lines, id_, path, line, id_field)
            label_field = given.get("label") or _label_field(row, id_field)
            label = require(row, label_field, path, line)
            text_field = given.get("definition") or first_of(row, DEFINITION_FIELDS) or "definition"
            definition = row.get(text_field) or ""
            type_field = given.get("datatype", "datatype")
            datatype = row.get(type_field) or None
            for field, value in ((text_field, definition), (type_field, datatype)):
                if value is not None and not isinstance(value, str):
                    raise InputError("must be a text", file=path, line=line, field=field)
            used = {id_field, label_field, type_field, text_field}
            metadata = {k: v for k, v in row.items() if k not in used and v not in (None, "", [])}
            concepts.append(
                Concept(id=id_, label=label, definition=definition, datatype=datatype, metadata=metadata)
            )
        if not concepts:
            raise InputError("has no concepts", file=path)
        return cls(concepts, name or path.name.split(".")[0], indexed)


def _label_field(row: Row, id_field: str) -> str:
    """The heading of the label: different from that of the id, unless the id is a name."""
    if "label" in row:
        return "label"
    others = {name: value for name, value in row.items() if name != id_field}
    return first_of(others, LABEL_FIELDS) or ("name" if id_field == "name" else "label")


def _check_headings(row: Row, given: Mapping[str, str], path: Path) -> None:
    """Refuse headings that the first row lacks, and a row without a recognisable id or label."""
    there = ", ".join(row)
    for name, heading in given.items():
        if heading not in row:
            raise InputError(f"no column {heading!r} for {name}; there are {there}", file=path)
    for name, fields in (("id", ID_FIELDS), ("label", LABEL_FIELDS)):
        if name not in given and not any(field in row for field in fields):
            hint = f"which column is the {name}? give --column {name}=HEADING; there are {there}"
            raise InputError(f"is missing: {hint}", file=path, line=1, field=name)
