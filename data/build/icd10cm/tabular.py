"""The codes of a release year and the tabular list: every chapter, section and code with its notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ....retrievers.errors import InputError
from .release import ReleaseFile, notes_of, text_of

NOTE_KINDS = (
    "inclusionTerm", "includes", "excludes1", "excludes2",
    "useAdditionalCode", "codeFirst", "codeAlso", "notes",
)  # fmt: skip
"""The note blocks of the tabular list, by their XML names."""

_CODE = re.compile(r"[A-TV-Z]\d[0-9A-Z][0-9A-Z]{0,4}")
_RANGE = re.compile(r"\s*\([A-Z]\d[0-9A-Z](?:-[A-Z]\d[0-9A-Z])?\)\s*$")


def dotted(code: str) -> str:
    """``A000`` to ``A00.0``."""
    return code if len(code) <= 3 else f"{code[:3]}.{code[3:]}"


@dataclass
class Node:
    """A chapter, section or code of the tabular list.

    The ``id`` of a chapter is ``chapter 1``, of a section ``section A00-A09``, of a code the code. (A section
    of one category has that category's code.) ``shown`` is the id as our files print it. ``notes`` holds the
    node's own notes by kind (:data:`NOTE_KINDS`), ``seventh`` the meanings of its 7th characters, ``label``
    its title without a code range.
    """

    id: str
    kind: str
    parent: str | None
    label: str
    notes: dict[str, list[str]] = field(default_factory=dict)
    seventh: dict[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """``chapter 1``, ``A00-A09``, ``A00.0``."""
        return self.id.removeprefix("section ")


@dataclass(frozen=True)
class OrderedCode:
    """One line of the order file. ``code`` has its dot; a header is not billable."""

    code: str
    billable: bool
    short: str
    label: str


def _checked(code: str, file: ReleaseFile, line: int) -> str:
    if not _CODE.fullmatch(code):
        raise InputError(f"{code!r} is not an ICD-10-CM code", file=str(file), line=line)
    return dotted(code)


def read_codes(file: ReleaseFile) -> dict[str, str]:
    """The billable codes and official labels of the code file: 7 columns, a blank, the label.

    Raises:
        InputError: a line in another format, or a duplicate code.
    """
    labels: dict[str, str] = {}
    for number, line in file.lines():
        code, label = _checked(line[:7].strip(), file, number), line[7:].strip()
        if not label:
            raise InputError(f"{code} has no label", file=str(file), line=number)
        if code in labels:
            raise InputError(f"duplicate code {code}", file=str(file), line=number)
        labels[code] = label
    if not labels:
        raise InputError("holds no code", file=str(file))
    return labels


def read_order(file: ReleaseFile) -> list[OrderedCode]:
    """The lines of the order file: number (1-5), code (7-13), 0 or 1 (15), short (17-76), long title (78-).

    Raises:
        InputError: a line in another format.
    """
    found: list[OrderedCode] = []
    for number, line in file.lines():
        flag = line[14:15]
        if flag not in ("0", "1"):
            raise InputError("column 15 must be 0 or 1", file=str(file), line=number)
        code = _checked(line[6:13].strip(), file, number)
        found.append(OrderedCode(code, flag == "1", line[16:76].strip(), line[77:].strip()))
    return found


def read_added(file: ReleaseFile) -> set[str]:
    """The codes that the year added, from the code addenda (``Add:  A0471  ...``)."""
    added: set[str] = set()
    for number, line in file.lines():
        if line.startswith("Add:"):
            added.add(_checked(line[4:].split()[0] if line[4:].split() else "", file, number))
    return added


def read_tabular(file: ReleaseFile) -> dict[str, Node]:
    """Every node of the tabular list by id (``chapter 1``, ``section A00-A09``, ``A00.0``), in its order.

    Raises:
        InputError: not a tabular list.
    """
    root = file.xml()
    if root.tag != "ICD10CM.tabular" or root.find("chapter") is None:
        raise InputError("is not an ICD-10-CM tabular list (ICD10CM.tabular with chapters)", file=str(file))
    nodes: dict[str, Node] = {}
    for node in _walk(root):
        nodes.setdefault(node.id, node)  # B10 is printed in two sections of the official list
    return nodes


def _walk(root: Any) -> Iterator[Node]:
    for chapter in root.findall("chapter"):
        chapter_id = f"chapter {(chapter.findtext('name') or '').strip()}"
        yield _node(chapter, chapter_id, "chapter", None)
        for section in chapter.findall("section"):
            section_id = f"section {section.get('id') or ''}"
            yield _node(section, section_id, "section", chapter_id)
            waiting = [(diag, section_id) for diag in reversed(section.findall("diag"))]
            while waiting:
                diag, parent = waiting.pop()
                code = (diag.findtext("name") or "").strip()
                yield _node(diag, code, "code", parent)
                waiting += [(child, code) for child in reversed(diag.findall("diag"))]


def _node(element: Any, id_: str, kind: str, parent: str | None) -> Node:
    notes = {tag: found for tag in NOTE_KINDS if (found := notes_of(element, tag))}
    seventh = {
        x.get("char", ""): text_of(x)
        for block in element.findall("sevenChrDef")
        for x in block.findall("extension")
    }
    title = text_of(element.find("desc"))
    label = title if kind == "code" else _RANGE.sub("", title)
    return Node(id_, kind, parent, label, notes, seventh)
