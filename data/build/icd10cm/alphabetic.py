"""The indexes of a release as paths to codes: alphabetic, external causes, neoplasms, drugs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ....retrievers.errors import InputError
from .release import ReleaseFile, text_of

SOURCES = {
    "index": "alphabetic",
    "eindex": "external_cause",
    "neoplasm": "neoplasm_table",
    "drug": "drug_table",
}
"""The name of each index in our files, by the kind of its release file."""


@dataclass(frozen=True)
class IndexPath:
    """One printed code with the lead term and sub-terms above it.

    ``terms`` are the words without brackets, ``nonessential`` those in brackets, both one per level; ``path``
    shows them together. ``code`` is as printed and may end in ``-``. ``manifestation``: the code is the
    second one of its line, in brackets.
    """

    source: str
    terms: tuple[str, ...]
    nonessential: tuple[str, ...]
    code: str
    manifestation: bool = False

    @property
    def path(self) -> str:
        """``Aberrant (congenital), artery (peripheral), renal``."""
        return ", ".join(f"{t} {n}".strip() for t, n in zip(self.terms, self.nonessential, strict=True))


Level = tuple[str, str]


def _title(element: Any) -> Level:
    """The words of a title without brackets, and those in brackets."""
    title = element.find("title")
    if title is None:
        return "", ""
    modifiers = " ".join(text_of(m) for m in title.findall("nemod"))
    words = [title.text or "", *(m.tail or "" for m in title)]
    return " ".join(" ".join(words).split()), " ".join(modifiers.split())


def _entries(element: Any, above: tuple[Level, ...]) -> Iterator[tuple[Any, tuple[Level, ...]]]:
    levels = (*above, _title(element))
    yield element, levels
    for child in element.findall("term"):
        yield from _entries(child, levels)


def read_index(file: ReleaseFile) -> list[IndexPath]:
    """Every path of an index file in document order, without see-references.

    Raises:
        InputError: not an index file.
    """
    root = file.xml()
    if root.tag != "ICD10CM.index" or root.find("letter") is None:
        raise InputError("is not an ICD-10-CM index (ICD10CM.index with letters)", file=str(file))
    source = SOURCES[file.kind]
    columns = {h.get("col"): text_of(h).lower() for h in root.findall("indexHeading/head")}
    found: list[IndexPath] = []
    for main in root.findall("letter/mainTerm"):
        for element, levels in _entries(main, ()):
            terms, modifiers = tuple(t for t, _ in levels), tuple(n for _, n in levels)
            for tag, manifestation in (("code", False), ("manif", True)):
                found += [
                    IndexPath(source, terms, modifiers, printed, manifestation)
                    for code in element.findall(tag)
                    if (printed := text_of(code))
                ]
            for cell in element.findall("cell"):
                printed = text_of(cell)
                if printed.strip("-"):
                    column = columns.get(cell.get("col"), "")
                    found.append(IndexPath(source, (*terms, column), (*modifiers, ""), printed))
    return found
