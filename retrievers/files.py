"""Read JSONL, CSV and TOML files of users, and write files.

An error names the file, and line and field if known. A written file is replaced as a whole: a reader sees the
old text or the new one.
"""

from __future__ import annotations

import csv
import errno
import io
import itertools
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO

import orjson

from ..signatures.toml import parse_toml
from .errors import InputError
from .outside import MAX_LINE, MAX_SETTINGS, open_outside, read_bytes

Row = dict[str, Any]

MAX_COLUMNS = 16_384
"""Columns of a CSV file: as many as a spreadsheet has."""

MAX_NAME = 255
"""Bytes of a file's name."""


@contextmanager
def open_text(path: Path, encoding: str = "utf-8-sig") -> Iterator[TextIO]:
    """Open a text file through the checks of :mod:`.outside`, gzip-compressed if its name ends in ``.gz``, as
    UTF-8 with or without a BOM, or in another ``encoding``.

    Raises:
        InputError: the checks refuse it, or it is in another encoding.
    """
    with open_outside(path, packed=path.suffix == ".gz", line=MAX_LINE) as raw:
        buffered = io.BufferedReader(raw, 1 << 18)
        try:
            with io.TextIOWrapper(buffered, encoding=encoding, newline="") as stream:
                yield stream
        except UnicodeDecodeError as e:
            name = encoding.removesuffix("-sig").upper()
            raise InputError(f"is not {name} ({e.reason} at byte {e.start})", file=path) from e


def read_jsonl(path: str | Path, bad: list[InputError] | None = None) -> Iterator[tuple[int, Row]]:
    """Yield (line number, object) of a JSONL file, one JSON object per line; blank lines are skipped.

    ``NaN`` and infinities are not JSON. orjson is twice as fast as ``json`` and limits nesting.

    Args:
        path: the file; ``.gz`` is decompressed.
        bad: if given, lines that are not JSON objects are appended here and skipped.

    Raises:
        InputError: the file is missing, truncated, not UTF-8, or a line is not a JSON object.
    """
    path = Path(path)
    with open_text(path) as stream:
        for number, text in enumerate(stream, 1):
            if not text.strip():
                continue
            try:
                row = orjson.loads(text)
            except orjson.JSONDecodeError as e:
                problem = InputError(f"is not JSON: {e.msg}", file=path, line=number)
            else:
                if isinstance(row, dict):
                    yield number, row
                    continue
                problem = InputError("is not a JSON object", file=path, line=number)
            if bad is None:
                raise problem
            bad.append(problem)


def read_csv(path: str | Path, encoding: str = "utf-8-sig") -> Iterator[tuple[int, Row]]:
    """Yield (line number, row) of a CSV or TSV file with a header line.

    Cells are separated by commas (tabs in a .tsv), or by semicolons or tabs if the header line has those and
    no comma, as spreadsheets in many languages write them.

    Args:
        path: the file; ``.gz`` is decompressed.
        encoding: the text encoding; UTF-8 with or without a BOM.

    Raises:
        InputError: the file is missing, in another encoding, has no header, or a row has more cells than it.
    """
    path = Path(path)
    csv.field_size_limit(MAX_LINE)
    with open_text(path, encoding) as stream:
        header = stream.readline()
        if max(map(header.count, ",;\t")) >= MAX_COLUMNS:
            raise InputError(f"has more than {MAX_COLUMNS:,} columns", file=path, line=1)
        delimiter = "\t" if ".tsv" in path.suffixes else _delimiter(header)
        reader = csv.DictReader(
            itertools.chain([header] if header else [], stream), delimiter=delimiter, strict=True
        )
        try:
            if not reader.fieldnames:
                raise InputError("has no header line", file=path, line=1)
            for row in reader:
                if None in row:
                    raise InputError("has more cells than the header", file=path, line=reader.line_num)
                yield reader.line_num, {k: v for k, v in row.items() if v is not None}
        except csv.Error as e:
            raise InputError(f"is not CSV: {e}", file=path, line=reader.line_num) from e


def _delimiter(header: str) -> str:
    """The separator of a header line."""
    return next((d for d in (",", ";", "\t") if d in header), ",")


def read_toml(path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises:
        InputError: the file is missing, not UTF-8, or not TOML.
    """
    try:
        return parse_toml(read_bytes(path, MAX_SETTINGS).decode("utf-8-sig"))
    except InputError:
        raise
    except UnicodeDecodeError as e:
        raise InputError(f"is not UTF-8 ({e.reason} at byte {e.start})", file=path) from None
    except ValueError as e:
        raise InputError(str(e), file=path) from e


def read_rows(path: str | Path, bad: list[InputError] | None = None) -> Iterator[tuple[int, Row]]:
    """Rows of a JSONL, CSV or TSV file, by its name (``.gz`` allowed)."""
    path = Path(path)
    kinds = [s for s in path.suffixes if s != ".gz"]
    kind = kinds[-1] if kinds else ""
    if kind in {".jsonl", ".ndjson"}:
        return read_jsonl(path, bad)
    if kind in {".csv", ".tsv"}:
        return read_csv(path)
    raise InputError("is none of .jsonl, .csv, .tsv (or those with .gz)", file=path)


def require(row: Mapping[str, Any], field: str, path: Path, line: int) -> str:
    """The text of a required field.

    Raises:
        InputError: the field is missing, empty or not a text.
    """
    value = row.get(field)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if value is None:
        raise InputError("is missing", file=path, line=line, field=field)
    if not isinstance(value, str):
        raise InputError(f"must be a text, not {type(value).__name__}", file=path, line=line, field=field)
    if not value.strip():
        raise InputError("is empty", file=path, line=line, field=field)
    return value


def refuse_duplicate(seen: dict[str, int], id_: str, path: Path, line: int, field: str = "id") -> None:
    """Add an id and its line to the known ids.

    Raises:
        InputError: duplicate id.
    """
    first = seen.setdefault(id_, line)
    if first != line:
        raise InputError(f"duplicate id {id_!r}, first in line {first}", file=path, line=line, field=field)


def first_of(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The first of several field names that the row has."""
    return next((name for name in names if row.get(name) not in (None, "")), None)


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
    errno.ENAMETOOLONG: "the name is too long",
    errno.ELOOP: "links that lead in a circle",
    errno.ENXIO: "nobody reads the pipe",
    errno.EPIPE: "nobody reads the pipe",
    errno.ENOENT: "there is no such folder to write to",
}


@contextmanager
def writing(path: Path, kept: str = "") -> Iterator[None]:
    """Turn a failed write into one line: the file, the reason, and what was ``kept``.

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


def check_out(path: Path | None, endings: Sequence[str] = (), *, folder: bool = False) -> None:
    """Refuse an unwritable output early, before anything is computed. Nothing is created.

    A file may exist (it is replaced at the end), be a link (which stays), or a device or pipe (which is
    written to). A folder may exist or not.

    Args:
        path: the path of ``--out`` and similar options; None: nothing is written.
        endings: allowed name endings, except for a device or pipe.
        folder: whether it is an output folder.

    Raises:
        InputError: another ending, a folder instead of a file or the reverse, a missing folder, no
            permission, a read-only file system, a circular link, a pipe without a reader.
    """
    if path is None:
        return
    with writing(path):
        mode = _mode(path)
        if mode is not None and stat.S_ISDIR(mode) != folder:
            raise InputError("is a folder, not a file" if not folder else "is no folder", file=path)
        through = mode is not None and not folder and (not stat.S_ISREG(mode) or _is_descriptor(path))
        if endings and not through and not path.name.lower().endswith(tuple(endings)):
            raise InputError(f"must end in {' or '.join(endings)}", file=path)
        if through:
            os.close(os.open(path, os.O_WRONLY | _NO_WAIT))
            return
        real = Path(os.path.realpath(path))
        if os.path.islink(real) or len(os.fsencode(real.name)) > MAX_NAME:
            raise OSError(errno.ELOOP if os.path.islink(real) else errno.ENAMETOOLONG, "")
        place = real if folder else real.parent
        while folder and not place.exists():
            place = place.parent
        if not place.is_dir():
            raise InputError("there is no such folder to write to", file=path)
        if not os.access(place, os.W_OK | os.X_OK):
            read_only = os.statvfs(place).f_flag & os.ST_RDONLY
            raise OSError(errno.EROFS if read_only else errno.EACCES, "")


class Part(NamedTuple):
    """A stream, and the temporary file that gets its bytes; None: they go directly to the target."""

    stream: BinaryIO
    file: Path | None


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A stream whose bytes replace a file in one step at the end of the block; its folder must exist.

    A link is followed and stays. A device or pipe (``/dev/stdout``) is written to, never replaced.

    Raises:
        InputError: it cannot be written; the old file is then unchanged.
    """
    with replacing_part(path) as part:
        yield part.stream


@contextmanager
def replacing_part(path: Path, keep: bool = False) -> Iterator[Part]:
    """:func:`replacing`, with the temporary file that has the bytes until the end.

    Args:
        path: the file.
        keep: the temporary file is called ``PATH.HEX.part`` and stays if the block ends with an error, so
            that partial results are available; otherwise it has a hidden name and is removed.
    """
    with writing(path):
        mode = _mode(path)
        if mode is not None and (not stat.S_ISREG(mode) or _is_descriptor(path)):
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, "")
            with os.fdopen(os.open(path, os.O_WRONLY | _NO_WAIT | os.O_TRUNC), "wb") as stream:
                os.set_blocking(stream.fileno(), True)
                yield Part(stream, None)
            return
        real = Path(os.path.realpath(path))
        name = f"{real.name[:200]}.{secrets.token_hex(3)}" if keep else f".abduce-{secrets.token_hex(8)}"
        beside = real.with_name(f"{name}.part")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                yield Part(stream, beside)
            beside.replace(real)
        except BaseException:
            if not keep:
                beside.unlink(missing_ok=True)
            raise


_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_DESCRIPTORS = ("/dev/std", "/dev/fd/", "/proc/")


def _is_descriptor(path: Path) -> bool:
    """Whether a path names an open descriptor, which a rename would cut off."""
    return os.path.abspath(path).startswith(_DESCRIPTORS)


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None
    except ValueError as e:
        raise InputError(f"cannot be written: {e}", file=path) from None


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file by ``data`` in one step; see :func:`replacing`."""
    with replacing(path) as stream:
        stream.write(data)


def write_text(path: Path, text: str) -> None:
    """Replace a file by ``text`` (UTF-8) in one step; see :func:`replacing`."""
    write_bytes(path, text.encode("utf-8", "replace"))


_FORMULA = re.compile(r"[=@\t\n]|[+-](?!\Z|\(?[\d.,\s]*\d\)?%?\Z)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def csv_cell(value: object) -> str:
    """A CSV cell that no spreadsheet takes for a formula or a line end, and no terminal for a command."""
    text = "" if value is None else str(value)
    text = _CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "'" + text if _FORMULA.match(text) else text


def csv_rows(stream: BinaryIO, columns: Sequence[str]) -> Callable[[Sequence[object]], None]:
    """Write a header line to a stream; returns a function that writes one line. Each line is flushed at once;
    every cell is as :func:`csv_cell`.
    """
    held = io.StringIO()
    writer = csv.writer(held, lineterminator="\n")

    def write(cells: Sequence[object]) -> None:
        writer.writerow(map(csv_cell, cells))
        stream.write(held.getvalue().encode("utf-8", "replace"))
        stream.flush()
        held.seek(0)
        held.truncate()

    write(columns)
    return write


def csv_text(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """CSV text with a header; every cell is as :func:`csv_cell`."""
    stream = io.BytesIO()
    write = csv_rows(stream, columns)
    for line in lines:
        write(line)
    return stream.getvalue().decode()
