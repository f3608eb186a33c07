"""A note, five codes and what codes its mentions, for tests of ``abduce tag NOTE --mentions``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from abduce.programs.methods import Parts, build_program
from abduce.programs.presets import spec_named
from abduce.programs.serialize import Serializer
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.precedents.index import Precedents, Tagged
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.dimensions import load_schema
from abduce.signatures.types import Concept
from abduce.tagging.notes.coder import Coder, build_within

TEXT = "A man with classical cholera and fever. He was a carrier of cholera. Fever again, fevers never.\n"


def concept(code: str, label: str, definition: str = "", **metadata: object) -> Concept:
    return Concept(id=code, label=label, definition=definition, datatype="diagnosis", metadata=metadata)


TAXONOMY = Taxonomy(
    [
        concept(
            "A00.0",
            "Cholera due to Vibrio cholerae 01, biovar cholerae",
            "Classical cholera ; Intestinal infectious diseases > Cholera ; Cholera (epidemic), classical",
            excludes1=["A00: carrier of cholera (Z22.1)"],
            excludes2=["A00-A09: fever of another kind (R51-R52)"],
            chapter="1",
            chapter_excludes1=["localized infections - see body system-related chapters"],
            chapter_excludes2=["symptoms and signs (R00-R94)", "influenza (J00-J22)"],
        ),
        concept("A00.9", "Cholera, unspecified", excludes1=["A00: carrier of cholera (Z22.1)"]),
        concept(
            "R50.9",
            "Fever, unspecified",
            chapter="18",
            chapter_excludes1=["conditions of the newborn (P04-P96)"],
        ),
        concept("P81.9", "Disturbance of temperature of newborn, unspecified"),
        concept("Z22.1", "Carrier of other intestinal infectious diseases", "Carrier of cholera"),
    ],
    "icd-test",
    ("id", "label", "definition"),
)


def coder(name: str, taxonomy: Taxonomy = TAXONOMY, tagged: Sequence[Tagged] = ()) -> Coder:
    index = BM25Retriever(taxonomy)
    precedents = Precedents(tagged) if tagged else None
    parts = Parts(
        lambda _: index,
        taxonomy,
        load_schema("icd10cm"),
        Serializer(before=0, after=0),
        precedents=lambda: precedents,
    )
    spec = spec_named(name)
    constants = {"datatype": "diagnosis"}
    return Coder(taxonomy, build_program(spec, parts), partial(build_within, spec, parts), constants)


def write(folder: Path, mentions: str, text: str = TEXT, name: str = "m.csv") -> tuple[Path, Path]:
    note = folder / "note.txt"
    note.write_text(text, encoding="utf-8")
    (folder / name).write_text(mentions, encoding="utf-8")
    return note, folder / name
