"""Towers as arrays of an index folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..columns import TextColumn
from ..store import Stored, Writer, open_index, trusting
from .model import Quantised, Towers

KIND = "learned"
"""The kind of index folder that towers stand in (:mod:`abduce.programs.learned` says what else does)."""


def write_concepts(writer: Writer, towers: Towers) -> None:
    """Write the data that all towers of a folder share: the concepts and their datatypes."""
    names = list(dict.fromkeys(towers.groups))
    place = {name: i for i, name in enumerate(names)}
    writer.texts("ids", TextColumn.of(towers.ids.tolist()))
    writer.texts("groups", TextColumn.of(names))
    writer.array("group", np.array([place[name] for name in towers.groups], dtype=np.int16))


def write_towers(writer: Writer, name: str, towers: Towers) -> None:
    """Write towers under a name."""
    writer.texts(f"{name}.names", TextColumn.of(towers.names))
    writer.array(f"{name}.features", towers.features.values)
    writer.array(f"{name}.feature_scales", towers.features.scales)
    writer.array(f"{name}.concepts", towers.concepts.values)
    writer.array(f"{name}.concept_scales", towers.concepts.scales)
    writer.array(f"{name}.seen", towers.seen.astype(np.uint8))


def read_concepts(stored: Stored) -> tuple[list[str], list[str]]:
    """The concepts and their datatypes."""
    names = list(stored.texts("groups"))
    ids = list(stored.texts("ids", stored.manifest["collection"]["count"]))
    places = stored.take("group", "int16", (len(ids),), below=max(1, len(names)))
    return ids, [names[i] for i in places.tolist()]


def read_towers(stored: Stored, name: str, ids: Sequence[str], groups: Sequence[str]) -> Towers:
    """The towers of a name, memory-mapped; InputError if a part is missing or does not fit."""
    names = stored.texts(f"{name}.names")
    concepts = stored.take(f"{name}.concepts", "int8", (len(ids), None))
    features = stored.take(f"{name}.features", "int8", (len(names), concepts.shape[1]))
    return Towers(
        names,
        Quantised(features, stored.take(f"{name}.feature_scales", "float32", (len(names),))),
        ids,
        Quantised(concepts, stored.take(f"{name}.concept_scales", "float32", (len(ids),))),
        np.asarray(stored.take(f"{name}.seen", "uint8", (len(ids),)), dtype=bool),
        groups,
    )


def open_towers(folder: str | Path) -> tuple[Towers, bool]:
    """The full towers of a model folder, and whether their loci are worded mentions.

    Raises:
        InputError: no such model, or a changed one.
    """
    stored = open_index(folder, KIND)
    with trusting(folder):
        return read_towers(stored, "full", *read_concepts(stored)), bool(stored.parameters["worded"])
