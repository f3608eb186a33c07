"""Phrase books: how documents write what a taxonomy calls otherwise (abduce's own; no model).

A book is a data file beside the vocabularies (``vocabularies/us-gaap-phrases.toml`` says what each key of
a phrase means), or a TOML file of the user's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .tokenize import tok_set
from .toml import named_text, one_line, parse_toml

_DATES = re.compile(
    r"\b(?:(?:19|20)\d\d|\d+|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:three|six|nine|twelve)(?=\s+months?)|(?:months?|years?|quarters?)\s+ended|as\s+of"
    r"|in\s+(?:thousands|millions|billions))\b|\$",
    re.IGNORECASE,
)


def undated(text: str) -> str:
    """A header without what only dates it or gives its unit: years, months, numbers, ``in millions``."""
    return " ".join(_DATES.sub(" ", text).split())


class _PhraseTable(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    when: tuple[str, ...] = Field(min_length=1)
    near: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    datatype: str | None = None
    say: str = Field(min_length=1)


@dataclass(frozen=True)
class Phrase:
    """One entry: token sets of its conditions, and the taxonomy's words."""

    when: Sequence[frozenset[str]]
    near: Sequence[frozenset[str]]
    unless: Sequence[frozenset[str]]
    datatype: str | None
    say: str


class PhraseBook:
    """The phrases of one taxonomy, in order."""

    def __init__(self, phrases: Sequence[Phrase], name: str = "") -> None:
        self.phrases = tuple(phrases)
        self.name = name

    def __deepcopy__(self, memo: dict[int, Any]) -> PhraseBook:
        return self

    def say(self, header: str, near: str, datatype: str | None = None) -> list[str]:
        """The taxonomy's words for a place in a document.

        Args:
            header: the innermost row header, or the words around a mention.
            near: what stands about it: parents of the row, the column header, the text above.
            datatype: of the fact.
        """
        head = tok_set(header)
        around = head | tok_set(near)
        said = []
        for phrase in self.phrases:
            if phrase.datatype is not None and phrase.datatype != datatype:
                continue
            if not any(tokens <= head for tokens in phrase.when):
                continue
            if phrase.near and not any(tokens <= around for tokens in phrase.near):
                continue
            if any(tokens <= around for tokens in phrase.unless):
                continue
            said.append(phrase.say)
        return said

    @classmethod
    def from_toml(cls, text: str) -> PhraseBook:
        """Read a book from TOML text.

        Raises:
            ValueError: not TOML, an unknown key, or a phrase without a content word.
        """
        try:
            raw = parse_toml(text)
            tables = [_PhraseTable.model_validate(t) for t in raw.get("phrase", [])]
        except ValidationError as e:
            raise ValueError(f"phrase: {one_line(e)}") from e
        return cls([_phrase(t) for t in tables], str(raw.get("name", "")))


def _phrase(table: _PhraseTable) -> Phrase:
    def sets(texts: Sequence[str]) -> list[frozenset[str]]:
        found = [tok_set(text) for text in texts]
        if not all(found):
            raise ValueError(f"phrase {table.say!r}: {texts[found.index(frozenset())]!r} has no content word")
        return found

    return Phrase(sets(table.when), sets(table.near), sets(table.unless), table.datatype, table.say)


@lru_cache(maxsize=8)
def load_phrases(name: str) -> PhraseBook:
    """The bundled book of a schema's name (an empty one where there is none), or a TOML file's.

    Raises:
        ValueError: the file is missing or not a phrase book.
    """
    folder = resources.files(__package__) / "vocabularies"
    if not name.endswith(".toml"):
        if not (folder / f"{name}-phrases.toml").is_file():
            return PhraseBook([], name)
        name = f"{name}-phrases"
    return PhraseBook.from_toml(named_text(name, folder, "phrase"))
