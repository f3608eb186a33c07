"""Opening what comes from outside: a regular file and nothing else, without waiting for anybody."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
from pathlib import Path

_REASONS = {
    errno.ENOENT: "no such file",
    errno.ENOTDIR: "no such file (a part of the path is a file, not a folder)",
    errno.EACCES: "may not be read (permission denied)",
    errno.EPERM: "may not be read (permission denied)",
    errno.ENAMETOOLONG: "no such file (the name is too long)",
    errno.ELOOP: "no such file (links that lead in a circle)",
    errno.ENXIO: "is not a regular file",
    errno.ENODEV: "is not a regular file",
    errno.EISDIR: "is a folder, not a file",
}
_WAITS = getattr(os, "O_NONBLOCK", 0)  # a pipe without a writer is then opened at once, and told from a file


_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """A text for a terminal or a log: control characters, escape sequences, marks that turn the direction of
    writing and halves of surrogates become U+FFFD; line feeds stay, tabs become blanks."""
    return _CONTROL.sub("\ufffd", text.replace("\t", " ")) if _CONTROL.search(text) else text


class Unreadable(ValueError):
    """A path that is no readable regular file; the text says why, without the path."""


def open_regular(path: str | Path) -> io.BufferedReader:
    """The bytes of a regular file, or of one that a link leads to.

    Raises:
        Unreadable: no such file, a folder, a pipe, a socket, a device, or not permitted.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _WAITS | getattr(os, "O_CLOEXEC", 0))
    except OSError as e:
        raise Unreadable(_REASONS.get(e.errno or 0, f"may not be read ({e.strerror})")) from None
    except ValueError:
        raise Unreadable("no such file (the name holds a character that no name may)") from None
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe, socket or device"
        raise Unreadable(f"is {kind}, not a file")
    return os.fdopen(descriptor, "rb")


def regular_text(path: str | Path, limit: int = 16 * 2**20) -> str:
    """The text of a settings file in UTF-8 (TOML, JSON), with or without a byte order mark.

    Raises:
        Unreadable: as :func:`open_regular`, more than ``limit`` bytes, or not UTF-8.
    """
    with open_regular(path) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise Unreadable(f"is larger than {limit // 2**20} MB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise Unreadable(f"is not UTF-8 ({e.reason} at byte {e.start})") from None
