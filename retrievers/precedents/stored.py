"""A stored index of precedents, which opens at once because its arrays are memory-mapped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..columns import TextColumn
from ..errors import InputError
from ..lazy import Lazy
from ..store import Stored, Writer, open_index, trusting, writing
from .columns import KEPT, CodeBook, SameValues, Shown
from .companies import Companies
from .index import Precedents
from .shelf import Shelf
from .tokensets import TokenSets
from .weights import MENTION, TABLE, TEXT, Weights

KIND = "precedents"

WEIGHTS = {"table": TABLE, "text": TEXT, "mention": MENTION}
"""The weights that a stored shelf may have."""

_OF_PAGES = ("context", "content")
"""Columns that say something of the page alone: they are stored once per page."""


@dataclass(frozen=True, eq=False)
class Filing:
    """A filing of an index: what tells its facts apart from those of others, ascending, and whose it is."""

    name: str
    company: str
    keys: npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class StoredPrecedents:
    """An opened folder: the index, its filings, what it is made from, in one line, and a hash of the files of
    that."""

    index: Precedents
    filings: Sequence[Filing]
    about: str
    source: str


class _Shown(Lazy[Shown]):
    """The display form of a shelf's precedents, built on access."""

    def __init__(
        self,
        ids: TextColumn,
        where: tuple[npt.NDArray[Any], TextColumn],
        above: tuple[npt.NDArray[Any], TextColumn],
        filings: tuple[npt.NDArray[Any], Sequence[str]],
        companies: tuple[npt.NDArray[Any], Sequence[str]],
    ) -> None:
        self.ids, self.parts = ids, (filings, companies, where, above)

    def __len__(self) -> int:
        return len(self.ids)

    def made(self, place: int) -> Shown:
        return Shown(self.ids[place], *(texts[int(codes[place])] for codes, texts in self.parts))


def write_precedents(
    index: Precedents,
    filings: Sequence[Filing],
    folder: str | Path,
    taxonomy: tuple[str, str],
    about: str,
    source: str,
    overwrite: bool = False,
) -> None:
    """Write an index as a folder, as a whole or not at all.

    Args:
        index: of one source: a shelf per modality.
        filings: those of the index.
        folder: the target folder.
        taxonomy: name and content hash of the taxonomy that its concepts are of.
        about, source: what it is made from, in one line, and a hash of the files of these.
        overwrite: replace an existing index.

    Raises:
        InputError: the folder exists or cannot be written.
    """
    with writing(folder, overwrite) as writer:
        writer.manifest["collection"] = {
            "kind": "taxonomy", "name": taxonomy[0], "indexed": [], "count": len(index), "datatypes": {},
            "hash": taxonomy[1],
        }  # fmt: skip
        for modality, shelf, weights in index.shelves:
            _write_shelf(writer, modality, shelf, weights)
        _write_texts(writer, "filings", [f.name for f in filings])
        _write_texts(writer, "filing_companies", [f.company for f in filings])
        writer.array("filing_keys", np.concatenate([f.keys for f in filings] or [np.zeros(0, np.uint32)]))
        writer.array("filing_ends", np.cumsum([0, *(len(f.keys) for f in filings)]))
        companies = index.companies.entered()
        _write_texts(writer, "companies", list(companies))
        writer.array("company_numbers", _small(np.array(list(companies.values()), dtype=np.int64)))
        named = {id(w): name for name, w in WEIGHTS.items()}
        writer.finish(
            KIND,
            {
                "size": index.size,
                "nameless": index.nameless,
                "neighbours": index.neighbours,
                "about": about,
                "source": source,
                "weights": {modality: named[id(weights)] for modality, _, weights in index.shelves},
                "latest": {modality: shelf.latest for modality, shelf, _ in index.shelves},
            },
        )


def _write_texts(writer: Writer, name: str, texts: Sequence[str]) -> None:
    column = TextColumn.of(texts)
    writer.array(f"{name}.data", column.data)
    writer.array(f"{name}.lengths", _small(np.diff(column.offsets)))


def _small(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers of at least 0 in as few bytes as hold them."""
    most = int(values.max(initial=0))
    return values.astype(
        next(t for t in (np.uint8, np.uint16, np.int32, np.int64) if most <= np.iinfo(t).max)
    )


def _write_shelf(writer: Writer, name: str, shelf: Shelf, weights: Weights) -> None:
    pages, first = np.unique(shelf.columns["page"], return_index=True)
    for column in KEPT:
        values = shelf.columns[column][first] if column in _OF_PAGES else shelf.columns[column]
        writer.array(f"{name}.{column}", _small(values))
    assert len(pages) == len(shelf.sets["context"])
    writer.array(f"{name}.kinds", shelf.kinds)
    for of, sets in shelf.sets.items():
        _write_texts(writer, f"{name}.sets.{of}", list(sets.vocabulary))
        writer.array(f"{name}.sets.{of}.owners", _small(sets.owners))
        writer.array(f"{name}.sets.{of}.starts", sets.starts.astype(np.int32))
        writer.array(f"{name}.sets.{of}.norms", sets.norms.astype(np.float32))
        if getattr(weights, f"same_{of}", 0.0):
            writer.array(f"{name}.sets.{of}.keys", sets.keys)
    _write_texts(writer, f"{name}.contexts", list(shelf.codes["context"].numbers))
    _write_texts(writer, f"{name}.contents", [c.hex() for c in shelf.codes["content"].numbers])
    _write_texts(writer, f"{name}.filings", [f or "" for f in shelf.codes["filing"].numbers])
    _write_texts(writer, f"{name}.datatypes", [d or "" for d in shelf.codes["datatype"].numbers])
    _write_texts(writer, f"{name}.concepts", shelf.concepts)
    writer.array(f"{name}.value_keys", shelf.values.keys)
    writer.array(f"{name}.value_groups", _small(shelf.values.groups))
    shown = shelf.shown[:]
    _write_texts(writer, f"{name}.ids", [s.fact_id for s in shown])
    for part in ("filing_id", "company", "where", "column_header"):
        numbers: dict[str, int] = {}
        codes = [numbers.setdefault(getattr(s, part), len(numbers)) for s in shown]
        writer.array(f"{name}.shown.{part}", _small(np.array(codes, dtype=np.int64)))
        _write_texts(writer, f"{name}.shown.{part}.texts", list(numbers))


def open_precedents(folder: str | Path) -> StoredPrecedents:
    """Open a folder written by :func:`write_precedents`.

    Raises:
        InputError: no such index, or a changed one.
    """
    stored = open_index(folder, KIND)
    with trusting(folder):
        given = stored.parameters
        for number in (*(given[n] for n in ("size", "nameless", "neighbours")), *given["latest"].values()):
            if not 0 <= int(number) < 1 << 31:
                raise ValueError(f"{number} is no count or year")
        companies = Companies()
        numbers = stored.take("company_numbers", below=1 << 31).tolist()
        companies.enter_all(dict(zip(stored.measured_texts("companies"), numbers, strict=True)))
        shelves = [
            (modality, _shelf(stored, modality, companies, int(given["latest"][modality])), WEIGHTS[weights])
            for modality, weights in given["weights"].items()
        ]
        if not shelves:
            raise InputError("has no precedents", file=Path(folder))
        keys = stored.take("filing_keys", "uint32")
        ends = stored.take("filing_ends", below=len(keys) + 1, rising=True).tolist()
        filings = [
            Filing(name, company, keys[start:end])
            for name, company, (start, end) in zip(
                stored.measured_texts("filings"),
                stored.measured_texts("filing_companies"),
                pairwise(ends),
                strict=True,
            )
        ]
        index = Precedents.of_shelves(
            shelves, int(given["size"]), int(given["nameless"]), int(given["neighbours"])
        )
        return StoredPrecedents(index, filings, str(given["about"]), str(given["source"]))


def _shelf(stored: Stored, name: str, companies: Companies, latest: int) -> Shelf:
    take, texts = stored.take, stored.measured_texts

    def sets(of: str) -> TokenSets:
        at = f"{name}.sets.{of}"
        vocabulary = list(texts(at))
        norms = take(f"{at}.norms", "float32")
        owners = take(f"{at}.owners", below=len(norms))
        starts = take(f"{at}.starts", "int32", (len(vocabulary) + 1,), below=len(owners) + 1, rising=True)
        none = f"{at}.keys" not in stored.arrays
        keys = np.zeros(0, dtype=np.uint64) if none else take(f"{at}.keys", "uint64", (len(norms),))
        return TokenSets.stored(vocabulary, owners, starts, norms.astype(np.float64), keys)

    def coded(values: Iterable[Any]) -> CodeBook:
        return CodeBook({value: number for number, value in enumerate(values)})

    def part(of: str) -> tuple[npt.NDArray[Any], TextColumn]:
        shown = texts(f"{name}.shown.{of}.texts")
        return take(f"{name}.shown.{of}", shape=(groups,), below=len(shown)), shown

    kinds = take(f"{name}.kinds", "int32 int64", (None, 3))
    found_sets = {of: sets(of) for of in ("header", "chain", "column", "mention", "context", "preceding")}
    codes = {
        "context": coded(texts(f"{name}.contexts")),
        "content": coded([bytes.fromhex(c) for c in texts(f"{name}.contents")]),
        "filing": coded([f or None for f in texts(f"{name}.filings")]),
        "datatype": coded([d or None for d in texts(f"{name}.datatypes")]),
    }
    concepts = list(texts(f"{name}.concepts"))
    ids = texts(f"{name}.ids")
    groups = len(ids)
    pages = len(found_sets["context"])
    most = {of: len(found) for of, found in found_sets.items()}
    most |= {of: len(found.numbers) for of, found in codes.items()}
    most |= {"concept": len(concepts), "kind": len(kinds), "page": pages, "preceding": most["preceding"]}
    columns = {
        column: take(
            f"{name}.{column}",
            shape=(pages if column in _OF_PAGES else groups,),
            below=most.get(column, 1 << 40),
        )
        for column in KEPT
    }
    columns |= {column: columns[column][columns["page"]] for column in _OF_PAGES}
    value_keys = take(f"{name}.value_keys", "uint32", rising=True)
    return Shelf(
        columns,
        kinds,
        found_sets,
        codes,
        concepts,
        SameValues(value_keys, take(f"{name}.value_groups", shape=(len(value_keys),), below=groups)),
        _Shown(
            ids,
            part("where"),
            part("column_header"),
            part("filing_id"),
            part("company"),
        ),
        companies,
        latest,
        decides=False,
    )
