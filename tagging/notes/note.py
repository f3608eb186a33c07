"""A free-text note and the mentions in it, as facts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...retrievers.errors import InputError
from ...retrievers.files import Row, read_rows, refuse_duplicate
from ...retrievers.outside import open_outside
from ...retrievers.precedents.columns import content_key
from ...signatures.letters import fold, folded_with_places
from ...signatures.types import Fact, SourceContext

MAX_NOTE = 1_000_000
"""Bytes of a note: a discharge letter has some thousand; what is larger is no single note."""

_CODE = re.compile(r"[A-Z]\d[0-9A-Z](?:\.?[0-9A-Z]{1,4})?\.?-?", re.IGNORECASE)


@dataclass(frozen=True)
class NoteMention:
    """One requested mention: its fact, how often its words occur in the note, and the user's code.

    ``file`` and ``line`` give the request's position.
    """

    fact: Fact
    occurrences: int
    code: str | None = None
    file: Path | None = None
    line: int | None = None


def read_note(path: str | Path) -> SourceContext:
    """Read a note as a source context. Its id is made from its letters and digits. The same note under
    another file name, with other line ends or in another Unicode form is the same context, so it is never its
    own precedent.

    Raises:
        InputError: missing, not UTF-8, empty, or larger than :data:`MAX_NOTE`.
    """
    path = Path(path)
    with open_outside(path, packed=False) as stream:
        size = path.stat().st_size
        if size > MAX_NOTE:
            raise InputError(
                f"has {size:,} bytes; a note has at most {MAX_NOTE:,}: give one note a file", file=path
            )
        data = b"".join(iter(stream.read, b""))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise InputError(f"is not UTF-8 ({e.reason} at byte {e.start})", file=path) from e
    if not text.strip():
        raise InputError("is empty", file=path)
    return SourceContext(context_id=f"note-{content_key(text).hex()}", text=text, modality="text")


def read_mentions(path: str | Path, note: SourceContext, constants: Mapping[str, str]) -> list[NoteMention]:
    """The mentions of a CSV, TSV or JSONL file.

    A row has ``mention``, or ``start`` and ``end`` (character offsets, end exclusive), or both, which must
    agree. ``mention`` must occur in the note, with any white space between its words; the first occurrence
    counts. ``id`` and ``code`` (a code to check, or a category to choose from) are optional.

    Args:
        path: the mentions file.
        note: the note that contains the mentions.
        constants: fields that every fact of the domain has (its datatype).

    Raises:
        InputError: names the line and field of the error.
    """
    path = Path(path)
    found: list[NoteMention] = []
    seen: dict[str, int] = {}
    for line, row in read_rows(path):
        start, end, occurrences = _place(row, note.text, path, line)
        id_ = str(row.get("id") or row.get("fact_id") or f"m{len(found) + 1}")
        refuse_duplicate(seen, id_, path, line)
        code = str(row.get("code") or "").strip().upper() or None
        if code is not None and not _CODE.fullmatch(code):
            raise InputError(f"{code!r} is not a code", file=path, line=line, field="code")
        fact = Fact(
            fact_id=id_,
            value=note.text[start:end],
            context=note,
            modality="text",
            datatype=constants.get("datatype"),
            mention_start=start,
            mention_end=end,
        )
        found.append(NoteMention(fact, occurrences, code, path, line))
    if not found:
        raise InputError("has no mentions", file=path)
    return found


def _place(row: Row, text: str, path: Path, line: int) -> tuple[int, int, int]:
    """Start and end of a row's mention, and how often its words occur in the text."""
    given = row.get("mention") or ""
    if isinstance(given, list | dict):
        raise InputError("must be a text", file=path, line=line, field="mention")
    words = str(given).strip()
    spans = [row.get("start", row.get("mention_start")), row.get("end", row.get("mention_end"))]
    if all(s in (None, "") for s in spans):
        if "mention" not in row:
            named = ", ".join(map(repr, row))
            raise InputError(f"needs mention, or start and end; it has {named}", file=path, line=line)
        if not words:
            raise InputError("is empty", file=path, line=line, field="mention")
        places = _occurrences(text, words)
        if not places:
            raise InputError(f"{words!r} does not stand in the note", file=path, line=line, field="mention")
        return *places[0], len(places)
    for field, value in zip(("start", "end"), spans, strict=True):
        if value in (None, ""):
            raise InputError("is missing", file=path, line=line, field=field)
    try:
        start, end = (int(str(s)) for s in spans)
    except ValueError:
        raise InputError("start and end must be whole numbers", file=path, line=line, field="start") from None
    if not 0 <= start < end <= len(text):
        message = f"span [{start}, {end}) is outside the note (0..{len(text)} characters)"
        raise InputError(message, file=path, line=line, field="start")
    inside = text[start:end]
    if "\r\n" in text and not words and _cuts_a_word(text, start, end):
        message = (
            f"span [{start}, {end}) begins or ends inside a word ({inside!r}): the note has CR LF line ends"
        )
        raise InputError(f"{message}, each counts as two characters", file=path, line=line, field="start")
    if not inside.strip():
        raise InputError("the span holds white space only", file=path, line=line, field="start")
    if words and fold(inside).split() != fold(words).split():
        raise InputError(f"the span holds {inside!r}, not {words!r}", file=path, line=line, field="mention")
    return start, end, max(len(_occurrences(text, inside)), 1)


def _cuts_a_word(text: str, start: int, end: int) -> bool:
    """Whether a span begins or ends between two letters or digits."""
    edges = [(start - 1, start), (end - 1, end)]
    return any(a >= 0 and b < len(text) and text[a].isalnum() and text[b].isalnum() for a, b in edges)


def _occurrences(text: str, words: str) -> list[tuple[int, int]]:
    """Start and end of each occurrence of some words in a text, as whole words: with the same case, or else
    in any case. Any white space may be between them, because notes wrap lines anywhere. Unicode forms,
    invisible characters, and kinds of apostrophes and dashes are ignored.
    """
    plain, places = folded_with_places(text)
    pattern = r"\s+".join(map(re.escape, fold(words).split()))
    for flags in (0, re.IGNORECASE):
        found = [m.span() for m in re.finditer(rf"(?<!\w){pattern}(?!\w)", plain, flags)]
        if found:
            return [(places[start], places[end]) for start, end in found]
    return []
