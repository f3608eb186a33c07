"""Yearly changes to the tabular list and the indexes, from the publisher's PDF addenda.

The full XML of a year is not always available. The addenda list the changes to the year before, one action
per line: ``Add``, ``Delete``, ``Revise from`` with ``Revise to``, and ``No Change`` for lines that only give
the position of a change.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ....retrievers.errors import InputError, MissingExtra
from .alphabetic import SOURCES, IndexPath
from .release import ReleaseFile
from .tabular import Node

_ACTION = re.compile(r"^(Add|Delete|Revise from|Revise to|No Change):?(?:\s+|$)(.*)$")
_CODE_LINE = re.compile(r"^([A-Z]\d[0-9A-Z](?:\.[0-9A-Z]{1,4})?)\s+(\S.*)$")
_SECTION_LINE = re.compile(r"\(([A-Z]\d[0-9A-Z](?:-[A-Z]\d[0-9A-Z])?)\)$")
_NOTE_LINE = re.compile(
    r"^(includes|excludes\s?1|excludes\s?2|use additional|code first|code also|note)s?\b\s*:?\s*(.*)$",
    re.IGNORECASE,
)
_KIND = {
    "includes": "includes",
    "include": "includes",
    "excludes1": "excludes1",
    "excludes2": "excludes2",
    "use additional": "useAdditionalCode",
    "code first": "codeFirst",
    "code also": "codeAlso",
    "note": "notes",
}
_SEVENTH = re.compile(r"^([A-Z0-9])\s+(\S.*)$")
_PRINTED = re.compile(
    r"\s((?:[A-Z]\d[0-9A-Z])(?:\.[0-9A-Z]{1,4})?\.?-?)(?:\s+\[([A-Z]\d[0-9A-Z](?:\.[0-9A-Z]{1,4})?-?)\])?$"
)
_SEE = re.compile(
    r"\s*-\s*see\b.*$|\s*\(see (?:also|condition|category|categories)\b[^()]*(?:\([^()]*\)[^()]*)*\)"
)


@dataclass(frozen=True)
class Change:
    """One line of an addendum: the action and its text, with continuation lines joined."""

    action: str
    text: str


def read_changes(file: ReleaseFile) -> list[Change]:
    """The change lines of a PDF addendum.

    Raises:
        MissingExtra: reading PDF needs ``pypdf``.
        InputError: not a readable PDF, or no change line in it.
    """
    try:
        import pypdf
        from pypdf.errors import PyPdfError
    except ImportError:
        raise MissingExtra("pypdf", "icd10cm") from None
    try:
        pages = [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(file.read())).pages]
    except (PyPdfError, ValueError, KeyError, TypeError) as e:
        raise InputError(f"is not a readable PDF ({e})", file=str(file)) from e
    return list(parse_changes("\n".join(pages)))


def parse_changes(text: str) -> Iterator[Change]:
    """The change lines of an addendum's text; text before the first action is its title."""
    action, words = "", ""
    for raw in text.splitlines():
        line = " ".join(raw.split())
        match = _ACTION.match(line)
        if match is None:
            joint = "" if re.search(r"\w-$", words) else " "  # a word that was broken at its hyphen
            words = f"{words}{joint}{line}".strip() if action else ""
            continue
        if action and words:
            yield Change(action, words)
        action, words = match[1], match[2]
    if action and words:
        yield Change(action, words)


def apply_to_tabular(nodes: dict[str, Node], changes: Sequence[Change]) -> int:
    """Apply an addendum to the nodes of the year before, in place.

    Returns:
        How many removals named a note that is not there (they are passed over).
    """
    at: Node | None = None
    kind, missed = "inclusionTerm", 0
    for change in changes:
        header = _header(change, nodes)
        if header is not None:
            at, kind = header, "inclusionTerm"
            continue
        if at is None:
            continue
        text = change.text
        if text.lower().startswith("the appropriate 7th character"):
            kind = "seventh"
            continue
        note = _NOTE_LINE.match(text)
        if note is not None:
            kind = _KIND[note[1].lower().replace("s 1", "s1").replace("s 2", "s2")]
            text = note[2].lstrip(" :")
        if not text or change.action == "No Change":
            continue
        if kind == "seventh":
            match = _SEVENTH.match(text)
            if match is not None and change.action in ("Add", "Revise to"):
                at.seventh[match[1]] = match[2]
                continue
            kind = "inclusionTerm"
        own = at.notes.setdefault(kind, [])
        if change.action in ("Add", "Revise to"):
            if text not in own:
                own.append(text)
        else:
            found = [t for t in own if _same(t, text)]
            missed += not found
            at.notes[kind] = [t for t in own if t not in found]
    return missed


def _same(a: str, b: str) -> bool:
    return "".join(a.casefold().split()) == "".join(b.casefold().split())


def _header(change: Change, nodes: dict[str, Node]) -> Node | None:
    """The node of a line, or None for a note. A new code becomes a node."""
    text = change.text
    if text.startswith("Chapter "):
        return nodes.get("chapter " + text.split()[1])
    code = _CODE_LINE.match(text)
    if code is not None:
        found = nodes.get(code[1])
        if found is None and change.action in ("Add", "Revise to"):
            parent = next(
                (code[1][:n] for n in range(len(code[1]) - 1, 2, -1) if n != 4 and code[1][:n] in nodes), None
            )
            if parent is not None:
                found = nodes[code[1]] = Node(code[1], "code", parent, code[2])
        return found
    section = _SECTION_LINE.search(text)
    if section is not None:
        found = nodes.get(f"section {section[1]}")
        if found is not None and _same(found.label, text[: section.start()]):
            return found
        chapter = [
            n for n in nodes.values() if n.kind == "chapter" and _same(n.label, text[: section.start()])
        ]
        return chapter[0] if chapter else None
    return None


def _title(text: str) -> tuple[str, str]:
    """Split ``Abscess (pyogenic) NEC`` into its words and its modifiers in brackets."""
    modifiers: list[str] = []
    words: list[str] = []
    depth, start = 0, 0
    for i, char in enumerate(text):
        if char == "(":
            if depth == 0:
                words.append(text[start:i])
                start = i
            depth += 1
        elif char == ")" and depth > 0:
            depth -= 1
            if depth == 0:
                modifiers.append(text[start : i + 1])
                start = i + 1
    words.append(text[start:])
    return " ".join(" ".join(words).split()), " ".join(modifiers)


def apply_to_index(paths: Sequence[IndexPath], changes: Sequence[Change], kind: str) -> list[IndexPath]:
    """The paths of an index after an addendum.

    Args:
        paths: the paths of the year before.
        changes: the result of :func:`read_changes`; the dashes of a line are its level.
        kind: ``index`` or ``eindex``.
    """
    table = {_key(p.terms, p.code): p for p in paths}
    levels: list[tuple[str, str]] = []
    for change in changes:
        text = change.text
        depth = 0
        while text.startswith("-"):
            text, depth = text[1:].lstrip(), depth + 1
        if text.startswith("Note:"):
            continue
        printed = _PRINTED.search(" " + text)
        bare = (" " + text)[: printed.start()] if printed else text
        levels = [*levels[:depth], _title(_SEE.sub("", bare).strip())]
        if printed is None or change.action == "No Change":
            continue
        terms, modifiers = tuple(t for t, _ in levels), tuple(m for _, m in levels)
        for code, manifestation in ((printed[1], False), (printed[2], True)):
            if not code:
                continue
            key = _key(terms, code)
            if change.action in ("Delete", "Revise from"):
                table.pop(key, None)
            else:
                table[key] = IndexPath(SOURCES[kind], terms, modifiers, code, manifestation)
    return list(table.values())


def _key(terms: Sequence[str], code: str) -> tuple[str, str]:
    return "|".join("".join(t.casefold().split()) for t in terms), code.rstrip("-").rstrip(".")
