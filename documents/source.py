"""Opening a document's bytes: sizes are bounded, gzip is unpacked, the encoding is found out."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..retrievers.errors import InputError

MAX_BYTES = 512 * 1024 * 1024
"""Bytes of a document after unpacking; a larger one is refused."""

_CHUNK = 1 << 20
_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9._-]+)""")
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class Bounded(io.RawIOBase):
    """A byte stream that complains once more than ``limit`` bytes were read."""

    def __init__(self, stream: IO[bytes], path: Path, limit: int) -> None:
        self._stream, self._path, self._limit, self._read = stream, path, limit, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            data = self._stream.read(_CHUNK if size is None or size < 0 else size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as e:
            raise InputError(f"truncated or corrupt ({e})", file=self._path) from e
        self._read += len(data)
        if self._read > self._limit:
            raise InputError(f"is larger than {self._limit // 2**20} MB after unpacking", file=self._path)
        return data


@contextmanager
def open_bytes(path: Path, limit: int = MAX_BYTES) -> Iterator[Bounded]:
    """The bytes of a file, gzip unpacked where they are gzip.

    Raises:
        InputError: no such file, a folder, not permitted, corrupt gzip, or more than ``limit`` bytes.
    """
    if not path.exists():
        raise InputError("no such file", file=path)
    if path.is_dir():
        raise InputError("is a folder, not a file", file=path)
    try:
        with path.open("rb") as raw:
            magic = raw.read(2)
            raw.seek(0)
            if magic == b"\x1f\x8b":
                with gzip.open(raw) as unpacked:
                    yield Bounded(unpacked, path, limit)  # type: ignore[arg-type]
            else:
                yield Bounded(raw, path, limit)
    except PermissionError as e:
        raise InputError("may not be read (permission denied)", file=path) from e


def find_encoding(path: Path, limit: int = MAX_BYTES) -> str:
    """The encoding of a text file: its byte order mark, UTF-8 where all bytes are, else what it declares
    (where that decodes it), else Windows-1252.

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
    try:
        found = codecs.lookup(name).name
    except LookupError:
        return None
    return {"ascii": None, "iso8859-1": "cp1252"}.get(found, found)


class Utf8(io.RawIOBase):
    """A byte stream re-encoded as UTF-8; bytes that its encoding does not know become U+FFFD."""

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
    """A whole text file, in whatever encoding.

    Raises:
        InputError: as :func:`find_encoding`.
    """
    encoding = find_encoding(path, limit)
    with open_bytes(path, limit) as stream:
        source = Utf8(stream, encoding)
        return b"".join(iter(source.read, b"")).decode("utf-8").removeprefix("\ufeff")
