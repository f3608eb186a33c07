"""Written tags, reopened for a review."""

from __future__ import annotations

from pathlib import Path

from ...documents.read import kind_of
from ...programs.serialize import Serializer
from ...retrievers.errors import InputError
from ...retrievers.taxonomy import Taxonomy
from ..inputs import is_document
from ..tags import Tags
from .again import read_tags_again


def is_tags_file(path: Path) -> bool:
    """Whether a file is a tags file (with columns ``fact_id`` and ``concept``) rather than a document or
    facts.

    Raises:
        InputError: a workbook that cannot be read.
    """
    from ..tags_file import read_rows_of

    if kind_of(path) == ".xlsx":
        try:
            first = next(read_rows_of(path), None)
        except InputError:
            return False
        return first is not None and "fact_id" in first[1]
    if kind_of(path) not in (".csv", ".tsv") or not path.is_file() or is_document(path):
        return False
    with path.open("rb") as stream:
        return b"concept" in stream.readline(65_536)


def tags_of_file(path: Path, taxonomy: Taxonomy) -> Tags:
    """The tags of a file, for a page. What the file does not store (source contexts, scores, reasons) is not
    shown.

    Raises:
        InputError: see :func:`~.again.read_tags_again`.
    """
    tags = tuple(read_tags_again(path, taxonomy))
    return Tags(tags, taxonomy, "written tags", Serializer(), path.name.partition(".")[0], of_document=True)
