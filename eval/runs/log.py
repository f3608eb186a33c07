"""One row's results as an append-only JSONL file that survives being killed at any point.

The first line is a header; each further line is one finished example. A line is written by one
unbuffered write, so a killed process leaves at most its last line half-written, and the next one to open
the file cuts that line off. Nothing is ever rewritten.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from ...retrievers.errors import InputError
from ...retrievers.files import writing

FORMAT = 1
"""The version of the run folder's files. It changes when old files can no longer be read."""


def dumps(record: Mapping[str, Any]) -> bytes:
    """One line, with its newline; numpy arrays become lists. Half surrogate pairs, which no UTF-8 file can
    hold and some models write, become ``?``."""
    try:
        return orjson.dumps(record, option=_LINE)
    except TypeError as e:
        if "surrogates" not in str(e):
            raise
        return orjson.dumps(_clean(record), option=_LINE)


_LINE = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_clean(k): _clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(v) for v in value]
    return value


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Every complete line of the file, header first, as an object. A half-written last line is passed over.

    Raises:
        InputError: the file cannot be read, or a line before the last is not a JSON object.
    """
    try:
        with path.open("rb") as stream:
            bad = 0
            for number, line in enumerate(stream, 1):
                if bad:
                    raise _corrupt(path, bad)
                record = _object(line)
                if record is None:
                    bad = number
                else:
                    yield record
    except OSError as e:
        raise InputError(f"cannot be read: {e.strerror}", file=path) from e


def read_latest(path: Path, current: Callable[[Mapping[str, Any]], bool]) -> Iterator[dict[str, Any]]:
    """The latest record of each seed and example, in the order written, one at a time.

    Args:
        path: a row's file.
        current: is given a record's ``id``, ``seed`` and ``x``; a record it refuses is passed over.

    Raises:
        InputError: as :func:`read_lines`.
    """
    last: dict[tuple[int, str], int] = {}
    for number, head in enumerate(_heads(path)):
        if number and current(head):
            last[head["seed"], head["id"]] = number
    wanted = set(last.values())
    return (record for number, record in enumerate(read_lines(path)) if number in wanted)


def _heads(path: Path) -> Iterator[dict[str, Any]]:
    """The first fields of each complete line, without parsing what follows them."""
    try:
        with path.open("rb") as stream:
            for line in stream:
                head = _object(line.partition(b',"status":')[0] + b"}\n") or _object(line)
                if head is not None:
                    yield head
    except OSError as e:
        raise InputError(f"cannot be read: {e.strerror}", file=path) from e


def _object(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"\n"):
        return None
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return record if isinstance(record, dict) else None


def _corrupt(path: Path, line: int) -> InputError:
    return InputError(
        "is damaged: not a JSON object; delete this line and start again, its example is then done again",
        file=path,
        line=line,
    )


def check_header(header: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """The header itself.

    Raises:
        InputError: the file was written in another format, or is no row file.
    """
    if "format" not in header or "key" not in header:
        raise InputError("does not start with the header of an abduce run", file=path, line=1)
    if header["format"] != FORMAT:
        raise InputError(
            f"is of format {header['format']} (abduce {header.get('abduce', '?')}); this version reads "
            f"format {FORMAT}: choose another folder",
            file=path,
            line=1,
        )
    return header


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what a record lacks into one line.

    Raises:
        InputError: the block did not find a field, or found one of another type.
    """
    try:
        yield
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, IndexError) as e:
        raise InputError(f"holds a record this version cannot read ({e!r})", file=path) from e


class RunLog:
    """An open row file. Only one process may hold it (the run folder's lock sees to that).

    Args:
        path: the file; it is created with ``header`` where it does not exist or is empty.
        header: the first line of a new file.

    Attributes:
        repaired: bytes of a half-written last line that were cut off.

    Raises:
        InputError: it cannot be read or written, is of another format, or is damaged before its last line.
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path = path
        self.repaired = self._repair()
        first = next(read_lines(path), None) if path.exists() else None
        if first is not None:
            check_header(first, path)
        with writing(path):
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        if first is None:
            self.append(dumps(header))

    def records(self) -> Iterator[dict[str, Any]]:
        """What the file holds, in the order written, without the header.

        Raises:
            InputError: a line is damaged.
        """
        lines = read_lines(self.path)
        next(lines)
        return lines

    def _repair(self) -> int:
        """Cut off a last line that is not a whole JSON object; how many bytes it had."""
        if not self.path.exists() or not (size := self.path.stat().st_size):
            return 0
        with writing(self.path), self.path.open("rb+") as stream:
            keep = _last_line_start(stream, size)
            stream.seek(keep)
            if _object(stream.read()) is not None:
                return 0
            stream.truncate(keep)
        return size - keep

    def append(self, line: bytes) -> None:
        """Add one line, which ends with a newline.

        Raises:
            InputError: it cannot be written (disk full, say); the file is then as it was before.
        """
        start = os.fstat(self._file).st_size
        with writing(self.path, "what was finished is kept; start again to go on"):
            try:
                view = memoryview(line)
                while view:
                    view = view[os.write(self._file, view) :]
            except OSError:
                os.ftruncate(self._file, start)
                raise

    def close(self) -> None:
        os.close(self._file)


def _last_line_start(stream: Any, size: int) -> int:
    """The offset at which the last line starts (its own newline, if it has one, aside)."""
    block, end = 1 << 16, size - 1
    while end > 0:
        start = max(0, end - block)
        stream.seek(start)
        found: int = stream.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
