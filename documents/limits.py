"""Limits on a page or a Markdown text, checked in one pass before parsing.

Parsing time grows with the square of a tag's attributes, and is long for every tag and for every bracket that
may begin a link.
"""

from __future__ import annotations

import re
from pathlib import Path

from ..retrievers.errors import InputError
from .source import Utf8, open_bytes

MAX_TAGS = 1_500_000
"""Opening and closing tags of a page; the largest annual reports have a few hundred thousand."""

MAX_ATTRIBUTES = 10_000
"""Attributes of one tag."""

MAX_BRACKETS = 10_000
"""Opening square brackets in one line of Markdown."""

_QUOTED = re.compile(rb"\"[^\"]*\"|'[^']*'")
_ATTRIBUTE = re.compile(rb"[\s/]+[^\s/=]")
_TAG = re.compile(rb"<[A-Za-z]")


def check_page(path: Path, encoding: str) -> None:
    """Refuse a page with too many tags, or a tag with too many attributes.

    Raises:
        InputError: as :func:`~.source.open_bytes`, or there are too many.
    """
    tags, attributes, inside = 0, 0, False
    with open_bytes(path) as stream:
        source = Utf8(stream, encoding)
        for chunk in iter(source.read, b""):
            tags += chunk.count(b"<")
            if tags > MAX_TAGS:
                raise InputError(f"has more than {MAX_TAGS:,} tags", file=path)
            pieces = chunk.split(b">")
            for number, piece in enumerate(pieces):
                if number:
                    inside, attributes = False, 0
                if inside or len(piece) >= 2 * MAX_ATTRIBUTES or number == len(pieces) - 1:
                    if not inside and (begin := _TAG.search(piece)) is not None:
                        inside, piece = True, piece[begin.start() :]
                    if inside:
                        attributes += len(_ATTRIBUTE.findall(_QUOTED.sub(b"", piece)))
                if attributes > MAX_ATTRIBUTES:
                    raise InputError(f"has a tag of more than {MAX_ATTRIBUTES:,} attributes", file=path)


def check_markdown(text: str, path: Path) -> str:
    """Check a text and return it unchanged.

    Raises:
        InputError: a line has too many opening brackets.
    """
    for number, line in enumerate(text.splitlines(), 1):
        if line.count("[") > MAX_BRACKETS:
            raise InputError(f"has more than {MAX_BRACKETS:,} opening brackets", file=path, line=number)
    return text
