"""Open a document's bytes: sizes are limited, gzip is unpacked, the encoding is detected."""

from __future__ import annotations

import codecs
import io
import re
from contextlib import AbstractContextManager
from pathlib import Path

from ..retrievers.errors import InputError
from ..retrievers.outside import Bounded, open_outside

MAX_BYTES = 512 * 1024 * 1024
"""Bytes of a document after unpacking; a larger one is refused."""

_CHUNK = 1 << 20
_DECLARED = re.compile(rb"""(?:charset|encoding)\s{0,20}=\s{0,20}["']?\s{0,20}([A-Za-z0-9._-]{1,40})""")
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def open_bytes(path: Path, limit: int = MAX_BYTES) -> AbstractContextManager[Bounded]:
    """The bytes of a file; gzip is unpacked.

    Raises:
        InputError: the checks of :mod:`abduce.retrievers.outside` refuse it, or it is over ``limit`` bytes.
    """
    return open_outside(path, limit)


def find_encoding(path: Path, limit: int = MAX_BYTES) -> str:
    """The encoding of a text file: its byte order mark, else UTF-8 if all bytes are valid, else what it
    declares (if that decodes it), else Windows-1252.

    Raises:
        InputError: as :func:`open_bytes`, or the file is empty or binary.
    """
    with open_bytes(path, limit) as stream:
        head = stream.read(4096)
        if not head:
            raise InputError("is empty", file=path)
        for bom, name in _BOMS:
            if head.startswith(bom):
                return name
        if b"\0" in head:
            raise InputError("is binary, not a text document", file=path)
        match = _DECLARED.search(head)
        declared = _known(match[1].decode("ascii")) if match else None
        candidates = [c for c in dict.fromkeys(("utf-8", declared)) if c]
        decoders = {c: codecs.getincrementaldecoder(c)() for c in candidates}
        chunk = head
        while decoders:
            final = not chunk
            for name in list(decoders):
                try:
                    decoders[name].decode(chunk, final)
                except UnicodeDecodeError:
                    del decoders[name]
            if final:
                break
            chunk = stream.read(_CHUNK)
    return next((c for c in candidates if c in decoders), "cp1252")


def _known(name: str) -> str | None:
    """The codec of a declared charset; None for one that a page in ASCII letters cannot be in, that decodes
    to something other than text, or that is unknown."""
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    if not getattr(found, "_is_text_encoding", True) or found.name in _NOT_DECLARED:
        return None
    if found.name.startswith(("utf-16", "utf-32", "utf-7")):
        return None
    return {"ascii": None, "iso8859-1": "cp1252"}.get(found.name, found.name)


_NOT_DECLARED = ("undefined", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "mbcs", "oem")


class Utf8(io.RawIOBase):
    """A byte stream re-encoded as UTF-8; invalid bytes become U+FFFD."""

    def __init__(self, stream: Bounded, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._done = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while not self._done:
            chunk = self._stream.read(size if size and size > 0 else _CHUNK)
            self._done = not chunk
            text = self._decoder.decode(chunk, self._done).replace("\0", " ")
            if text:
                return text.encode("utf-8")
        return b""


def read_text(path: Path, limit: int = MAX_BYTES) -> str:
    """A whole text file, in any encoding.

    Raises:
        InputError: as :func:`find_encoding`.
    """
    encoding = find_encoding(path, limit)
    with open_bytes(path, limit) as stream:
        source = Utf8(stream, encoding)
        return b"".join(iter(source.read, b"")).decode("utf-8").removeprefix("\ufeff")
