"""Checks for files from outside, used by every reader: regular files, with limits on size, unpacking, line
length and nesting.

Unpacked data may be ``UNPACKED_TIMES`` as large as packed (in this project's data: at most 40), and up to
``UNPACKED_FREE`` in any case.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..signatures.outside import Unreadable, open_regular
from .errors import InputError

UNPACKED_TIMES = 64
UNPACKED_FREE = 64 * 2**20
"""Bytes."""

MAX_LINE = 32 * 2**20
"""Bytes of one line of a text file."""

MAX_SETTINGS = 16 * 2**20
"""Bytes of a file of settings (TOML, JSON)."""

_CHUNK = 1 << 20


class Bounded(io.RawIOBase):
    """A byte stream that raises after more than ``limit`` bytes, or ``line`` bytes without a line break."""

    def __init__(self, stream: IO[bytes], path: Path, limit: int, why: str, line: int | None = None) -> None:
        self._stream, self._path, self._limit, self._why, self._line = stream, path, limit, why, line
        self._read = self._open_line = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        try:
            data = self._stream.read(_CHUNK if size is None or size < 0 else size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as e:
            raise InputError(f"truncated or corrupt ({e})", file=self._path) from e
        except OSError as e:
            raise InputError(f"may not be read ({e.strerror or e})", file=self._path) from e
        self._read += len(data)
        if self._read > self._limit:
            raise InputError(self._why, file=self._path)
        if self._line is not None:
            end = data.rfind(b"\n")
            self._open_line = self._open_line + len(data) if end < 0 else len(data) - end - 1
            if self._open_line > self._line:
                raise InputError(f"has a line of more than {self._line // 2**20} MB", file=self._path)
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def open_outside(
    path: str | Path, limit: int | None = None, *, packed: bool | None = None, line: int | None = None
) -> Iterator[Bounded]:
    """The bytes of a regular file, gzip unpacked.

    Args:
        path: the file.
        limit: the most bytes after unpacking; None: only the ratio is limited.
        packed: whether it is gzip; None: decided by its first bytes.
        line: the most bytes per line.

    Raises:
        InputError: no such file, not a regular file, no permission, corrupt gzip, or over a limit.
    """
    path = Path(path)
    try:
        raw = open_regular(path)
    except Unreadable as e:
        raise InputError(str(e), file=path) from None
    with raw:
        if packed is None:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
        bound, why = limit or (1 << 62), f"is larger than {(limit or 0) // 2**20} MB after unpacking"
        if not packed:
            yield Bounded(raw, path, bound, why, line)
            return
        size = raw.seek(0, io.SEEK_END)
        raw.seek(0)
        most = max(UNPACKED_FREE, UNPACKED_TIMES * size)
        if most < bound:
            bound = most
            why = f"unpacks to more than {UNPACKED_TIMES} times its size, and more than {bound // 2**20} MB"
        with gzip.open(raw) as unpacked:
            yield Bounded(unpacked, path, bound, why, line)  # type: ignore[arg-type]


def check_regular(path: str | Path) -> None:
    """Refuse a path that is not a readable regular file, for libraries that open it themselves.

    Raises:
        InputError: as :func:`open_outside`.
    """
    with open_outside(path, packed=False):
        pass


def read_bytes(path: str | Path, limit: int) -> bytes:
    """A whole file of at most ``limit`` bytes, gzip unpacked.

    Raises:
        InputError: as :func:`open_outside`.
    """
    with open_outside(path, limit) as stream:
        return b"".join(iter(stream.read, b""))


def read_json(path: str | Path, limit: int = MAX_SETTINGS) -> Any:
    """The value of a JSON file in UTF-8; numbers are finite.

    Raises:
        InputError: as :func:`open_outside`, or not JSON, or nested too deeply.
    """
    try:
        text = read_bytes(path, limit).decode("utf-8-sig")
        return json.loads(text, parse_constant=_not_finite, parse_float=_finite)
    except InputError:
        raise
    except UnicodeDecodeError as e:
        raise InputError(f"is not UTF-8 ({e.reason} at byte {e.start})", file=path) from None
    except RecursionError:
        raise InputError("is not read: its JSON is nested too deeply", file=path) from None
    except json.JSONDecodeError as e:
        raise InputError(f"is not JSON: {e.msg}", file=path, line=e.lineno) from None
    except ValueError as e:
        raise InputError(f"is not JSON: {e}", file=path) from None


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _not_finite(text[:40])


def _not_finite(name: str) -> float:
    raise ValueError(f"{name} is not a number")
