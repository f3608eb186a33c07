"""The items that retrievers search, in id order, held as objects or read from columns."""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from ..signatures.html import html_table
from .columns import TextColumn
from .errors import InputError
from .lazy import Lazy

COLUMNS = ("ids", "headings", "bodies", "datatypes", "metadata")
"""The columns of :class:`RecordColumns`."""

KEPT = 20_000
"""Items of a stored collection that are kept once they were made."""


class Identified(Protocol):
    """Anything with an id."""

    @property
    def id(self) -> str: ...


Item = TypeVar("Item", bound=Identified)


@dataclass(frozen=True)
class Record:
    """One item as stored: ``heading`` is a label or title, ``body`` the longer text."""

    id: str
    heading: str
    body: str
    datatype: str | None
    metadata: Mapping[str, Any]


@dataclass(frozen=True)
class RecordColumns:
    """N records as columns; ``metadata`` holds JSON objects, ``datatypes`` is empty if there are none."""

    ids: TextColumn
    headings: TextColumn
    bodies: TextColumn
    datatypes: TextColumn
    metadata: TextColumn

    @classmethod
    def of(cls, records: Sequence[Record]) -> RecordColumns:
        return cls(
            TextColumn.of(r.id for r in records),
            TextColumn.of(r.heading for r in records),
            TextColumn.of(r.body for r in records),
            TextColumn.of(r.datatype or "" for r in records),
            TextColumn.of(_json(r.metadata) for r in records),
        )

    def record(self, place: int) -> Record:
        return Record(
            self.ids[place],
            self.headings[place],
            self.bodies[place],
            self.datatypes[place] or None,
            _metadata(self.metadata[place]),
        )


def _metadata(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError("the index holds metadata that are no JSON object; build it again", field="metadata")
    return found


def _json(metadata: Mapping[str, Any]) -> str:
    return json.dumps(dict(metadata), ensure_ascii=False, separators=(",", ":")) if metadata else "{}"


class Collection(ABC, Generic[Item]):
    """Items with distinct ids, in ascending id order; immutable, safe to share between threads.

    A subclass defines how an item becomes a :class:`Record` and back, and which parts are indexed.

    Args:
        items: at least one, in any order.
        name: the name in tables and traces.
        indexed: the parts of an item in its document text, in order.

    Raises:
        InputError: no items, or a duplicate id.
    """

    kind: ClassVar[str]
    """What the whole is called, in manifests and complaints."""
    noun: ClassVar[str]
    """What an item is called in complaints."""
    parts: ClassVar[tuple[str, str, str]]
    """The names of a record's id, heading and body in ``indexed``."""
    ranked_whole: ClassVar[bool] = True
    """Whether items without a word of the query are ranked too, behind those that have one."""

    datatypes: Counter[str]
    """How many items each declared datatype has."""
    _positions: dict[str, int] | None
    _columns: RecordColumns | None

    def __init__(self, items: Iterable[Item], name: str, indexed: Sequence[str]) -> None:
        ordered = sorted(items, key=lambda item: item.id)
        if not ordered:
            raise InputError(f"the {self.kind} {name!r} has no {self.noun}s")
        ids = [item.id for item in ordered]
        for previous, id_ in pairwise(ids):
            if previous == id_:
                raise InputError(f"duplicate id {id_!r} in the {self.kind} {name!r}", field="id")
        self._set(name, indexed, ordered, ids)
        self._positions = dict(zip(ids, range(len(ids)), strict=True))
        self.datatypes = Counter(d for d in map(self.datatype, ordered) if d)

    @classmethod
    def from_columns(
        cls, columns: RecordColumns, name: str, indexed: Sequence[str], datatypes: Mapping[str, int]
    ) -> Self:
        """A collection over stored columns with distinct, ascending ids; nothing is read yet."""
        made = cls.__new__(cls)
        made._set(name, indexed, StoredItems(columns, cls.item), columns.ids)
        made._columns = columns
        made.datatypes = Counter(datatypes)
        return made

    def _set(self, name: str, indexed: Sequence[str], items: Sequence[Item], ids: Sequence[str]) -> None:
        unknown = set(indexed) - set(self.parts)
        if unknown or not indexed:
            first, second, third = self.parts
            raise InputError(f"a document is made of {first}, {second} and {third}, not {sorted(unknown)}")
        self.name = name
        self.indexed = tuple(indexed)
        self._items = items
        self._ids = ids
        self._positions = None
        self._columns = None
        self._fields: dict[str, tuple[dict[str, int], npt.NDArray[np.int32]]] = {}
        self._made: dict[str, Item] = {}
        self._found: dict[str, int | None] = {}
        self._lock = threading.Lock()

    @classmethod
    @abstractmethod
    def datatype(cls, item: Item) -> str | None:
        """The datatype of an item, or None."""

    @classmethod
    @abstractmethod
    def heading(cls, item: Item) -> str:
        """The label or title of an item, which label coverage compares with the query."""

    @abstractmethod
    def document(self, item: Item, with_datatype: bool = False) -> str:
        """The indexed text of an item; ``with_datatype`` adds its datatype in front."""

    @classmethod
    @abstractmethod
    def record(cls, item: Item) -> Record:
        """The stored form of an item."""

    @classmethod
    @abstractmethod
    def item(cls, record: Record) -> Item:
        """The item of a stored record."""

    @property
    def ids(self) -> list[str]:
        """All ids, ascending; an item's index here is its position."""
        return list(self._ids)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __contains__(self, id_: object) -> bool:
        return isinstance(id_, str) and self._find(id_) is not None

    def __getitem__(self, id_: str) -> Item:
        if self._columns is None:
            return self._items[self._place(id_)]
        found = self._made.get(id_)
        if found is None:
            found = self._items[self._place(id_)]
            if len(self._made) >= KEPT:
                self._made.clear()
            self._made[id_] = found
        return found

    def _place(self, id_: str) -> int:
        place = self._find(id_)
        if place is None:
            raise KeyError(id_)
        return place

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # DSPy's optimizers copy programs; an inventory never changes

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {len(self):,} {self.noun}s>"

    def _repr_html_(self) -> str:
        first = (self.record(item) for item in self)
        rows = ([r.id, r.heading, r.datatype, r.body] for r in first)
        columns = ["id", self.parts[1], "datatype", self.parts[2]]
        return html_table(columns, rows, f"{self.name}: {len(self):,} {self.noun}s", len(self))

    def to_json(self) -> str:
        """One JSON object: its name and every item, in the form of taxonomy and corpus files."""
        _, heading, body = self.parts
        items = [
            {
                "id": r.id,
                heading: r.heading,
                body: r.body,
                **({"datatype": r.datatype} if r.datatype else {}),
                **r.metadata,
            }
            for r in map(self.record, self)
        ]
        return json.dumps({"name": self.name, f"{self.noun}s": items}, ensure_ascii=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (list(self), self.name, self.indexed)

    def _find(self, id_: str) -> int | None:
        if self._positions is not None:
            return self._positions.get(id_)
        assert self._columns is not None
        place = self._found.get(id_, -1)
        if place == -1:
            place = self._columns.ids.find(id_)
            if len(self._found) >= KEPT:
                self._found.clear()
            self._found[id_] = place
        return place

    @cached_property
    def content_hash(self) -> str:
        """A hash of every field of every item."""
        return columns_hash(self.columns())

    def columns(self) -> RecordColumns:
        """The items as columns, as an index folder stores them."""
        return self._columns or RecordColumns.of([self.record(item) for item in self])

    def field_codes(self, field: str) -> tuple[dict[str, int], npt.NDArray[np.int32]]:
        """Every item's value of a field, as numbers: ({value: number}, numbers (N,)).

        A field is ``id``, ``datatype`` or a metadata field; values are compared as text. Read once and
        cached.
        """
        with self._lock:
            if field not in self._fields:
                numbers: dict[str, int] = {}
                codes = np.empty(len(self), dtype=np.int32)
                for i, value in enumerate(self._values(field)):
                    codes[i] = numbers.setdefault(str(value), len(numbers))
                self._fields[field] = numbers, codes
            return self._fields[field]

    def _values(self, field: str) -> Iterator[object]:
        """Every item's value of a field; from stored items, only this field is read."""
        if self._columns is None:
            for record in map(self.record, self):
                yield {"id": record.id, "datatype": record.datatype, **record.metadata}.get(field)
            return
        columns = {"id": self._columns.ids, "datatype": self._columns.datatypes}
        texts: Iterable[str] = columns.get(field, itertools.repeat(""))
        key = json.dumps(field, ensure_ascii=False)
        for text, metadata in zip(texts, self._columns.metadata, strict=False):
            if key in metadata and field in (found := json.loads(metadata)):
                yield found[field]
            else:
                yield text or None


class StoredItems(Lazy[Item]):
    """Items that are built from columns on access."""

    def __init__(self, columns: RecordColumns, make: Any) -> None:
        self._columns = columns
        self._make = make

    def __len__(self) -> int:
        return len(self._columns.ids)

    def made(self, place: int) -> Item:
        return self._make(self._columns.record(place))  # type: ignore[no-any-return]


def columns_hash(columns: RecordColumns) -> str:
    """A hash of every field of every item."""
    total = hashlib.sha256()
    for name in COLUMNS:
        column: TextColumn = getattr(columns, name)
        total.update(np.ascontiguousarray(column.offsets).tobytes())
        total.update(np.ascontiguousarray(column.data).data)
    return total.hexdigest()
