"""What is asked and answered, in JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Top = Annotated[int, Field(ge=1, le=200, description="Concepts per fact, the first included.")]
Words = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Request(_Message):
    @model_validator(mode="before")
    @classmethod
    def _can_be_written(cls, given: Any) -> Any:
        """JSON may escape half a character, and numbers of any length; files and answers hold neither."""
        try:
            orjson.dumps(given, default=str)
        except orjson.JSONEncodeError as e:
            raise ValueError(f"cannot be read: {e}") from None
        return given


class DocumentIn(_Message):
    """A document, as a file would hold it."""

    name: Annotated[
        str,
        StringConstraints(pattern=r"^[^/\\\x00-\x1f]{1,200}$"),
        Field(description="A file name; its ending says what it is: .csv, .htm, .md, .txt, .xlsx, .pdf"),
    ]
    content: str = Field(min_length=1, description="Its text, or its bytes in base64.")
    encoding: Literal["utf-8", "base64"] = "utf-8"


class TextIn(_Message):
    """A text, which is one fact; other fields are not read."""

    model_config = ConfigDict(extra="ignore")

    text: str
    id: str | int | None = None
    company: Annotated[str, StringConstraints(max_length=500)] | None = None


class TagRequest(_Request):
    """What to tag: ``document``, ``facts`` or ``texts``, one of them.

    ``facts`` and ``contexts`` are the lines of a facts file and of its contexts; ``texts`` have
    ``text`` and may have ``id`` and ``company``.
    """

    document: DocumentIn | None = None
    facts: Annotated[list[dict[str, Any]], Field(min_length=1)] | None = None
    contexts: list[dict[str, Any]] = Field(default_factory=list)
    texts: Annotated[list[TextIn], Field(min_length=1)] | None = None
    company: Annotated[str, StringConstraints(max_length=500)] | None = Field(
        default=None, description="Whose facts they are, where they do not say so themselves."
    )
    top: Top = 10

    @model_validator(mode="after")
    def _one_of_them(self) -> TagRequest:
        given = [n for n in ("document", "facts", "texts") if getattr(self, n) is not None]
        if len(given) != 1:
            raise ValueError("give one of document, facts and texts")
        if self.contexts and self.facts is None:
            raise ValueError("contexts stand beside facts")
        return self


class SearchRequest(_Request):
    """Words to find concepts by."""

    query: Words
    top: Top = 10
    datatype: Annotated[str, StringConstraints(max_length=200)] | None = Field(
        default=None, description="Only concepts of this datatype."
    )


class AskRequest(_Request):
    """A question; ``options`` in order (keys A, B, C ...) or by key, or none."""

    question: Words
    options: list[str] | dict[str, str] = Field(default_factory=list)


class TagOut(_Message):
    """A fact with its concept: what a line of the command line's CSV says, and ``error`` where the program
    failed on it."""

    model_config = ConfigDict(extra="allow")

    fact_id: str
    value: str
    concept: str
    label: str
    score: float | None
    margin: float | None
    confidence: float | None
    evidence: str
    runner_up_concepts: str
    error: str


class TagReply(_Message):
    """The tags, in the facts' order, and what the user should know."""

    taxonomy: str
    program: str
    tags: Sequence[TagOut]
    notes: Sequence[str]


class Hit(_Message):
    """A concept that was found."""

    concept: str
    label: str
    definition: str
    datatype: str | None
    score: float


class SearchReply(_Message):
    """The concepts that share words with a query, best first; none where none does."""

    taxonomy: str
    hits: Sequence[Hit]


class Health(_Message):
    """What runs here."""

    status: Literal["ok"]
    version: str
    taxonomy: str
    program: str
    corpus: str | None
    requests: Mapping[str, int]


class ErrorReply(_Message):
    """Why there is no answer, in one line."""

    error: str
