"""The ICD-10-CM inventory file as a taxonomy."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..retrievers.errors import InputError
from ..retrievers.files import read_jsonl, refuse_duplicate, require
from ..retrievers.taxonomy import Taxonomy
from ..signatures.types import Concept
from .icd10cm_fields import FIELDS, add_derived, documentation

DATATYPE = "diagnosis"
"""The code class of every billable code: the datatype of all concepts and facts of the domain."""

NOTES = ("excludes1", "excludes2", "chapter_excludes1", "chapter_excludes2")
"""Exclusion notes: of the section and below, and of the chapter."""

KEPT = ("section", "category", "parent", "seventh_character", *NOTES)
"""Further fields that go to a concept's metadata; the text ones are in its definition."""

COMPACT = (
    "code", "label", "in_codiesp_inventory", "path_text", "inclusion_terms", "inclusion_terms_base",
    "include_notes_inherited", "index_terms", "index_terms_seventh_char_base", "external_cause_index_terms",
    "neoplasm_table_terms", *FIELDS, *KEPT,
)  # fmt: skip
"""Fields of the compact form that is bundled; what is missing can be put together from these."""


def load_inventory(path: str | Path, name: str = "icd10cm-2018", whole: bool = False) -> Taxonomy:
    """Read an ``icd10cm_fy*_taxonomy.jsonl.gz``, whole or compact.

    The definition of a concept is its documentation, rebuilt
    (:func:`~abduce.data.icd10cm_fields.documentation`). Missing fields of the ``icd10cm`` schema are derived.
    Missing notes of the chapters are read from the ``_tabular_nodes`` file in the same folder, if there is
    one.

    Args:
        path: the inventory file.
        name: the taxonomy's name.
        whole: also keep the codes that are not in the paper's CodiEsp inventory.

    Raises:
        InputError: names the file, line and field of the error.
    """
    path = Path(path)
    rows: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    for line, row in read_jsonl(path):
        code = require(row, "code", path, line)
        require(row, "label", path, line)
        require(row, "path_text", path, line)
        refuse_duplicate(seen, code, path, line, "code")
        if whole or row.get("in_codiesp_inventory", True):
            rows.append(row)
    if not rows:
        raise InputError("holds no code", file=path)
    if any("laterality" not in row for row in rows):  # the compact form leaves out empty fields, never this
        add_derived(rows)
    if not any(field in row for row in rows for field in NOTES[2:]):
        _add_chapter_notes(rows, path)
    concepts = (concept_of(row) for row in rows)
    return Taxonomy(concepts, name, ("id", "label", "definition"))


def concept_of(row: Mapping[str, Any]) -> Concept:
    """A row of the inventory, with its derived fields, as a concept."""
    metadata = {field: row[field] for field in (*FIELDS, *KEPT) if row.get(field)}
    for field in NOTES:
        if field in metadata:  # a note stands with hundreds of codes: keep one text of it
            metadata[field] = [sys.intern(note) for note in metadata[field]]
    return Concept(
        id=row["code"],
        label=row["label"],
        definition=documentation(row),
        datatype=DATATYPE,
        metadata=metadata,
    )


def _add_chapter_notes(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Add the chapter's exclusion notes to every row, in place."""
    name = path.name.removesuffix(".gz").replace("_taxonomy", "_tabular_nodes")
    beside = [path.with_name(n) for n in (f"{name}.gz", name)]
    nodes = next((p for p in beside if p != path and os.path.isfile(p)), None)
    if nodes is None:
        return
    chapters: dict[str, dict[str, Any]] = {}
    for _, node in read_jsonl(nodes):
        if node.get("kind") == "chapter":
            notes = {f"chapter_{kind}": node[kind] for kind in NOTES[:2] if node.get(kind)}
            chapters[str(node.get("node", "")).removeprefix("chapter ")] = notes
    for row in rows:
        row |= chapters.get(str(row["chapter"]), {})


def compact_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the inventory with only the fields of :data:`COMPACT`, without empty ones."""
    return {field: row[field] for field in COMPACT if row.get(field) not in (None, [], "")}
