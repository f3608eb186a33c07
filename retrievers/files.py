"""Reading JSONL, CSV and TOML files of users, and writing files.

A complaint names the file, and the line and field where they are known. A written file is replaced as a
whole: a reader sees the old text or the new one.
"""

from __future__ import annotations

import csv
import errno
import gzip
import itertools
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import orjson

from ..signatures.toml import parse_toml
from .errors import InputError

Row = dict[str, Any]


@contextmanager
def open_text(path: Path, encoding: str = "utf-8-sig") -> Iterator[TextIO]:
    """Open a text file, gzip-compressed where its name ends in ``.gz``; UTF-8 with or without a BOM, or in
    another ``encoding``."""
    if not path.exists():
        raise InputError("no such file", file=path)
    if path.is_dir():
        raise InputError("is a folder, not a file", file=path)
    try:
        if path.suffix == ".gz":
            stream: TextIO = gzip.open(path, "rt", encoding=encoding, newline="")  # noqa: SIM115
        else:
            stream = path.open("r", encoding=encoding, newline="")
        with stream:
            yield stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as e:
        raise InputError(f"truncated or corrupt ({e})", file=path) from e
    except UnicodeDecodeError as e:
        raise InputError(
            f"is not {encoding.removesuffix('-sig').upper()} ({e.reason} at byte {e.start})", file=path
        ) from e
    except PermissionError as e:
        raise InputError("may not be read (permission denied)", file=path) from e


def read_jsonl(path: str | Path, bad: list[InputError] | None = None) -> Iterator[tuple[int, Row]]:
    """Yield (line number, object) of a JSONL file, one JSON object a line; blank lines are passed over.

    ``NaN`` and infinities are not JSON. orjson reads twice as fast as ``json``, and bounds the nesting.

    Args:
        path: the file; ``.gz`` is decompressed.
        bad: where given, a line that is not a JSON object is appended here and passed over.

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

    Cells stand between commas (tabs in a .tsv); between semicolons or tabs where the header line has those
    and no comma, as spreadsheets of many languages write them.

    Args:
        path: the file; ``.gz`` is decompressed.
        encoding: of its text; UTF-8 with or without a BOM.

    Raises:
        InputError: the file is missing, in another encoding, has no header, or a row has more cells than it.
    """
    path = Path(path)
    csv.field_size_limit(64 * 1024 * 1024)
    with open_text(path, encoding) as stream:
        header = stream.readline()
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
    """What a header line's cells stand between."""
    return next((d for d in (",", ";", "\t") if d in header), ",")


def read_toml(path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises:
        InputError: the file is missing, not UTF-8, or not TOML.
    """
    path = Path(path)
    with open_text(path) as stream:
        try:
            return parse_toml(stream.read())
        except UnicodeDecodeError:
            raise
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
    """The text of a field that must be there.

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
