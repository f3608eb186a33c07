"""Files that are replaced as a whole (a reader sees the old text or the new one), and plain words for failed
writes."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import InputError

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file has reached the size limit",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EEXIST: "a file of that name is in the way",
    errno.EISDIR: "is a folder, not a file",
}


@contextmanager
def writing(path: Path, kept: str = "") -> Iterator[None]:
    """Turn a failed write into one line: the file, the reason, and what is ``kept``.

    Raises:
        InputError: any OSError of the block.
    """
    try:
        yield
    except OSError as e:
        reason = _REASONS.get(e.errno or 0, e.strerror or str(e))
        raise InputError(f"cannot be written: {reason}{'; ' + kept if kept else ''}", file=path) from e


def make_folder(path: Path) -> None:
    """Create a folder and its parents.

    Raises:
        InputError: it cannot be created or written to.
    """
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError("cannot be written: permission denied", file=path)


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file by ``data`` in one step; its folder must exist.

    Raises:
        InputError: it cannot be written; the old file is then unchanged.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with writing(path):
        try:
            beside.write_bytes(data)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Replace a file by ``text`` (UTF-8) in one step; see :func:`write_bytes`."""
    write_bytes(path, text.encode("utf-8"))
