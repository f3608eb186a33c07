"""What a service does, whatever the protocol: tag, search, ask; the same answers as the command line."""

from __future__ import annotations

import base64
import binascii
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from ..asking.asker import Asker
from ..retrievers.errors import InputError
from ..tagging.tagger import Tagger
from ..version import __version__
from .limits import Limits
from .messages import AskRequest, DocumentIn, SearchRequest, TagRequest
from .refusal import Refusal
from .turns import Turn, Turns

Found = dict[str, Any]
"""A reply as JSON has it; :mod:`.messages` says what is in it."""


class Service:
    """Tags, searches and answers for several askers at once.

    Args:
        tagger: with its taxonomy and program.
        asker: with its corpus; None: questions are refused.
        limits: what one request may cost.
    """

    def __init__(self, tagger: Tagger, asker: Asker | None = None, limits: Limits | None = None) -> None:
        self.tagger, self.asker, self.limits = tagger, asker, limits or Limits()
        self._turns = Turns(self.limits.running)
        self._row = tagger.program or ""

    def turn(self) -> Turn:
        """The time of one request."""
        return Turn(self._turns, self.limits.seconds, self.limits.facts)

    def warm(self) -> None:
        """Tag one made-up value, so that the first request does not wait for what is built on first use."""
        with tempfile.TemporaryDirectory(prefix="abduce-") as folder:
            path = Path(folder) / "first.csv"
            path.write_text("item,amount\nfirst,100\n", encoding="utf-8")
            if not self.tagger.calls_a_model:
                self._row = self.tagger.tag(path).program

    def close(self) -> None:
        """Close connections to models; stop servers that were started."""
        self.tagger.close()
        if self.asker is not None:
            self.asker.close()

    def health(self) -> Found:
        """What runs here, and how many requests wait."""
        return {
            "status": "ok",
            "version": __version__,
            "taxonomy": self.tagger.taxonomy.name,
            "program": self._row,
            "corpus": None if self.asker is None else self.asker.corpus.name,
            "requests": {"waiting": self._turns.waiting},
        }

    def tag(self, asked: TagRequest, turn: Turn) -> Found:
        """Tag a document, facts or texts.

        Raises:
            InputError: what is wrong with them.
            Refusal: they are too many, or take too long.
        """
        with tempfile.TemporaryDirectory(prefix="abduce-") as name, turn:
            folder = Path(name)
            path = _written(asked, folder)
            try:
                tags = self.tagger.tag(path, turn.go_on, company=asked.company)
            except InputError as e:
                raise InputError(str(e).replace(f"{folder}/", "")) from None
        rows = [row | {"error": tag.error} for row, tag in zip(tags.rows(asked.top), tags, strict=True)]
        notes = [note.replace(f"{folder}/", "") for note in tags.notes]
        return {"taxonomy": tags.taxonomy.name, "program": tags.program, "tags": rows, "notes": notes}

    def search(self, asked: SearchRequest, turn: Turn) -> Found:
        """The concepts that words find.

        Raises:
            InputError: no words, or no such datatype.
        """
        with turn:
            found = self.tagger.search(asked.query, asked.top, asked.datatype)
        taxonomy = self.tagger.taxonomy
        hits = []
        for id_, score in zip(found.ids, found.scores, strict=True):
            concept = taxonomy[id_]
            about = {"label": concept.label, "definition": concept.definition, "datatype": concept.datatype}
            hits.append({"concept": id_, **about, "score": float(score)})
        return {"taxonomy": taxonomy.name, "hits": hits}

    def ask(self, asked: AskRequest, turn: Turn) -> Found:
        """Answer a question.

        Raises:
            InputError: what is wrong with it.
            Refusal: there is no corpus here.
        """
        if self.asker is None:
            raise Refusal(404, "no questions are answered here: start it with a corpus (--corpus NAME)")
        with turn:
            return self.asker.ask(asked.question, asked.options).model_dump(mode="json")


def _written(asked: TagRequest, folder: Path) -> Path:
    """The file that the command line would be given."""
    if asked.document is not None:
        path = folder / asked.document.name
        path.write_bytes(_bytes(asked.document))
        return path
    if asked.texts is not None:
        return _lines(folder / "texts.jsonl", [text.model_dump(exclude_none=True) for text in asked.texts])
    if asked.contexts:
        _lines(folder / "contexts.jsonl", asked.contexts)
    return _lines(folder / "facts.jsonl", asked.facts or ())


def _bytes(document: DocumentIn) -> bytes:
    if document.name in (".", ".."):
        raise InputError("is no file name", field="document.name")
    if document.encoding == "utf-8":
        return document.content.encode("utf-8", "replace")
    try:
        return base64.b64decode(document.content, validate=True)
    except (binascii.Error, ValueError) as e:
        raise InputError(f"is not base64: {e}", field="document.content") from None


def _lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path
