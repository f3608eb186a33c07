"""Passages for decision-useful RAG: id, title and content behind the same retrievers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .collection import Collection, Record
from .errors import InputError
from .files import Row, first_of, read_rows, refuse_duplicate, require

ID_FIELDS = ("id", "_id", "doc_id", "docid")
CONTENT_FIELDS = ("content", "text", "contents", "definition")
TITLE_FIELDS = ("title", "label", "name")


@dataclass(frozen=True)
class Passage:
    """One document of a corpus; ``title`` may be empty; ``metadata`` holds source, section, url ..."""

    id: str
    title: str
    content: str
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Title and content, as an encoder, a reranker or a prompt reads them."""
        return f"{self.title} {self.content}".strip()


class Corpus(Collection[Passage]):
    """Passages ordered by id. They have no datatype, so a datatype filter searches all of them.

    Args:
        passages: at least one, ids distinct.
        name: the name in tables and traces.
        indexed: the parts (``id``, ``title``, ``content``) in a passage's document text, in order.

    Raises:
        InputError: no passages, or a duplicate id.
    """

    kind = "corpus"
    noun = "passage"
    ranked_whole = False
    parts = ("id", "title", "content")

    def __init__(
        self, passages: Iterable[Passage], name: str = "corpus", indexed: Sequence[str] = ("title", "content")
    ) -> None:
        super().__init__(passages, name, indexed)

    @classmethod
    def datatype(cls, item: Passage) -> str | None:
        return None

    @classmethod
    def heading(cls, item: Passage) -> str:
        return item.title

    def document(self, item: Passage, with_datatype: bool = False) -> str:
        """The text that is indexed; passages have no datatype."""
        return " ".join(p for p in (str(getattr(item, part)) for part in self.indexed) if p)

    @classmethod
    def record(cls, item: Passage) -> Record:
        return Record(item.id, item.title, item.content, None, item.metadata)

    @classmethod
    def item(cls, record: Record) -> Passage:
        return Passage(record.id, record.heading, record.body, record.metadata)

    @classmethod
    def load(
        cls, path: str | Path, name: str | None = None, indexed: Sequence[str] = ("title", "content")
    ) -> Corpus:
        """Read passages from JSONL, CSV or TSV (``.gz`` allowed).

        Required: an id (``id``, ``_id``, ``doc_id``, ``docid``) and a text (``content``, ``text``,
        ``contents``, ``definition``). ``title`` (or ``label``, ``name``) is optional. All other fields go to
        the passage's metadata.

        Raises:
            InputError: names the file, line and field of the error.
        """
        path = Path(path)
        return cls.of_rows(read_rows(path), path, name or path.name.split(".")[0], indexed)

    @classmethod
    def of_rows(
        cls,
        rows: Iterable[tuple[int, Row]],
        path: Path,
        name: str,
        indexed: Sequence[str] = ("title", "content"),
    ) -> Corpus:
        """Passages from numbered rows, with the fields that :meth:`load` reads.

        Raises:
            InputError: names ``path``, the row's number and the field of the error.
        """
        passages: list[Passage] = []
        lines: dict[str, int] = {}
        for line, row in rows:
            id_field = first_of(row, ID_FIELDS) or "id"
            id_ = require(row, id_field, path, line).strip()
            refuse_duplicate(lines, id_, path, line, id_field)
            text_field = first_of(row, CONTENT_FIELDS) or "content"
            content = require(row, text_field, path, line)
            title_field = first_of(row, TITLE_FIELDS) or "title"
            title = row.get(title_field) or ""
            if not isinstance(title, str):
                raise InputError("must be a text", file=path, line=line, field=title_field)
            used = {id_field, text_field, title_field}
            metadata = {k: v for k, v in row.items() if k not in used and v not in (None, "", [])}
            passages.append(Passage(id_, title, content, metadata))
        if not passages:
            raise InputError("has no passages", file=path)
        return cls(passages, name, indexed)
