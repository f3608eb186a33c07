"""A journal of decisions, one JSON object per line, that survives a kill at any point.

Each line is written in one call and synced to disk before the page learns that it is saved. A killed process
leaves at most a half-written last line, which the next open removes. Nothing is rewritten.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType

import orjson
from filelock import FileLock, Timeout

from ...retrievers.errors import InputError
from ...retrievers.files import check_out, writing
from ...retrievers.outside import read_bytes
from ..decisions import Decision

MAX_JOURNAL = 1 << 30
"""Bytes of a journal."""


def read_journal(path: Path) -> Iterator[Decision]:
    """The decisions of a journal in order; a half-written last line is skipped.

    Raises:
        InputError: the file cannot be read, or names the bad line.
    """
    lines = read_bytes(path, MAX_JOURNAL).split(b"\n")
    for number, line in enumerate(lines[:-1], 1):  # the last part is empty, or half a line
        if not line.strip():
            continue
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as e:
            raise InputError(f"is not JSON: {e.msg}", file=path, line=number) from e
        yield Decision.of(record, path, number)


class Journal:
    """An open journal; only one process may write it at a time.

    Args:
        path: the file; created if missing.

    Raises:
        InputError: another process writes it, it cannot be written, or a line is bad.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        check_out(path)
        self._lock = FileLock(path.with_name(f".{path.name}.lock"))
        with writing(path):
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                raise InputError("another review is writing here", file=path) from None
        try:
            self.decisions = list(read_journal(path)) if path.exists() else []
            with writing(path):
                self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
                self._cut_half_line()
        except BaseException:
            self._lock.release()
            raise

    def _cut_half_line(self) -> None:
        data = self.path.read_bytes()
        os.ftruncate(self._file, data.rfind(b"\n") + 1)

    def append(self, decisions: Iterable[Decision]) -> None:
        """Add decisions; they are on disk when this returns.

        Raises:
            InputError: they cannot be written (the disk is full); the file is unchanged.
        """
        new = list(decisions)
        text = b"".join(orjson.dumps(d.record(), option=orjson.OPT_APPEND_NEWLINE) for d in new)
        start = os.fstat(self._file).st_size
        with writing(self.path):
            try:
                view = memoryview(text)
                while view:
                    view = view[os.write(self._file, view) :]
                os.fsync(self._file)
            except OSError:
                os.ftruncate(self._file, start)
                raise
        self.decisions += new

    def close(self) -> None:
        os.close(self._file)
        self._lock.release()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
