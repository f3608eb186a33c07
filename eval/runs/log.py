"""One row's results as an append-only file that survives a kill at any point.

The first line is a header; each further line is one finished example::

    HEAD as JSON <tab> checksum <tab> the rest of the record, packed

The head has id, seed, status, measures and costs, so that ``cut -f1 FILE`` is JSON lines that other tools
read. The rest (ranking, trace) is :func:`abduce.eval.runs.packing.pack` of the shortened record; its
newlines are escaped. A line is written by one unbuffered write, so a killed process leaves at most its last
line half-written, and the next one to open the file cuts that line off. The checksum tells any changed bit.
Nothing is ever rewritten.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from ...retrievers.errors import InputError
from ...retrievers.files import writing
from ...signatures.outside import Unreadable, open_regular
from .names import names_of
from .packing import Names, pack, unpack
from .short import shortened, whole

FORMAT = 2
"""The version of the run folder's files. It changes when old files can no longer be read."""

HEAD = ("id", "seed", "x", "began", "status", "metrics", "seconds", "error", "incomplete", "lost", "cost")
"""What stands in the head of a line; a record's other keys are packed."""

_ESCAPED = ((b"\x1b", b"\x1b\x01"), (b"\n", b"\x1b\x02"), (b"\r", b"\x1b\x03"))
"""Bytes that a line may not hold, and what stands for them."""

_NO_NAMES = Names()
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS

_USUAL = (
    b'"version":1,"settings":{"K":200,"kappa":60.0,"fusion":"sum","normalise":true,"J":2,"temperature":0.8,"keep":[],'
    b'"Kv":10,"scan":60,"beta":0.6,"forms":["label","definition"],"abstain":"exclude","weights":[],"companions":{}},'
    b'"queries":[{"text":"","form":"definition","hypothesis":0,"round":0},{"text":"","form":"label","hypothesis":1,'
    b'"round":0}],"rankings":[{"ids":{"\\u0000":["i",200,2,0]},"scores":{"\\u0000":["d",200,2,0,7]},"candidates":7650,'
    b'"fell_back":false}],"hypotheses":[{"values":{"Family":"","Role":"","Event":"","Qualifier":"","Scope":"",'
    b'"Temporal":""},"retrieval_query":"","categories":{}}],"pool":"fused","judged":[{"hypothesis":0,"round":0,"window":'
    b'{"\\u0000":["i",10,1,0]},"verdicts":[],"dimensions":["Family","Role","Event","Qualifier","Scope","Temporal"],'
    b'"probabilities":null}],"final":null,"selected":null,"calls":[{"stage":"verifier","ok":true,"raw":"","error":"",'
    b'"seconds":0.0,"index":0,"prompt_tokens":0,"completion_tokens":0,"cached_tokens":0,"requests":1,"retries":0,'
    b'"cache_hit":false,"retry":false,"dropped":false,"failed":false,"faults":[]}],"counters":{"retrievals":2,'
    b'"llm_calls":4,"pool":200},"seconds":{"generate":0.0,"retrieve":0.0,"fuse":0.0,"verify":0.0},"notes":{},"ids":'
    b'{"\\u0000":["n",200,2,0]}},"top":[],"ranking":{"values":["1.0"],"support":{"\\u0000":["i",200,1,0]}}'
)
"""What most records have in common: the compression starts from it. To change it is a new :data:`FORMAT`."""


def dumps(record: Mapping[str, Any]) -> bytes:
    """One line of JSON with its newline; numpy arrays become lists. Half surrogate pairs, which UTF-8 cannot
    represent and some models write, become ``?``.
    """
    return _clean_json(record) + b"\n"


def _clean_json(record: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(record, option=_OPTIONS)
    except TypeError as e:
        if "surrogates" not in str(e):
            raise
        return orjson.dumps(_clean(record), option=_OPTIONS)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_clean(k): _clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(v) for v in value]
    return value


def write_line(record: Mapping[str, Any], names: Names = _NO_NAMES) -> bytes:
    """One line of a row file, with its newline."""
    head = _clean_json({k: v for k, v in record.items() if k in HEAD})
    rest = {k: v for k, v in record.items() if k not in HEAD}
    packed = b""
    if rest:
        short = shortened(rest)
        try:
            packed = pack(short, names, _USUAL)
        except TypeError as e:
            if "surrogates" not in str(e):
                raise
            packed = pack(_clean(short), names, _USUAL)
        for byte, escaped in _ESCAPED:
            packed = packed.replace(byte, escaped)
    return b"%b\t%08x\t%b\n" % (head, zlib.crc32(packed, zlib.crc32(head)), packed)


def read_line(line: bytes, names: Names = _NO_NAMES, *, head_only: bool = False) -> dict[str, Any] | None:
    """The record of a line; None if it is incomplete or its checksum does not match.

    Args:
        line: the line with its newline.
        names: the table of names it was written with.
        head_only: check the packed part, but do not unpack it.
    """
    head, tab, after = line.partition(b"\t")
    check, second, packed = after.partition(b"\t")
    if not (line.endswith(b"\n") and tab and second):
        return None
    packed = packed[:-1]
    try:
        if int(check, 16) != zlib.crc32(packed, zlib.crc32(head)) or len(check) != 8:
            return None
        record: dict[str, Any] = orjson.loads(head)
        if packed and not head_only:
            for byte, escaped in reversed(_ESCAPED):
                packed = packed.replace(escaped, byte)
            record |= whole(unpack(packed, names, _USUAL))
    except ValueError:
        return None
    return record


def read_lines(path: Path, *, head_only: bool = False) -> Iterator[dict[str, Any]]:
    """Every complete line of a row file, header first, as an object. A half-written last line is skipped.

    Raises:
        InputError: the file cannot be read, has another format, or a line before the last is damaged.
    """
    for record in _read(path, lambda _: True, head_only):
        if record is not None:
            yield record


def read_latest(path: Path, current: Callable[[Mapping[str, Any]], bool]) -> Iterator[dict[str, Any]]:
    """The latest record of each seed and example, in the order written, one at a time.

    Args:
        path: a row's file.
        current: gets a record's head; records that it refuses are skipped.

    Raises:
        InputError: as :func:`read_lines`.
    """
    last: dict[tuple[int, str], int] = {}
    for number, head in enumerate(read_lines(path, head_only=True)):
        if number and current(head):
            last[head["seed"], head["id"]] = number
    wanted = set(last.values())
    return (record for record in _read(path, lambda number: number in wanted) if record is not None)


def _read(
    path: Path, wanted: Callable[[int], bool], head_only: bool = False
) -> Iterator[dict[str, Any] | None]:
    """The records of the requested lines, by position from 0; None for the others."""
    names = _NO_NAMES
    try:
        with open_regular(path) as stream:
            bad = 0
            for place, line in enumerate(stream):
                if bad:
                    raise _corrupt(path, bad)
                if not place:
                    header = read_header(line, path)
                    names = _NO_NAMES if head_only or header is None else names_of(path.parent.parent, header)
                    if header is None:
                        bad = 1
                    else:
                        yield header if wanted(0) else None
                    continue
                if not wanted(place):
                    yield None
                    continue
                record = read_line(line, names, head_only=head_only)
                if record is None:
                    bad = place + 1
                else:
                    yield record
    except (OSError, Unreadable) as e:
        raise InputError(f"cannot be read: {getattr(e, 'strerror', None) or e}", file=path) from e


def _corrupt(path: Path, line: int) -> InputError:
    return InputError(
        "is damaged: the line is not whole or its checksum does not match; delete it and start again, its "
        "example is then done again",
        file=path,
        line=line,
    )


def read_header(line: bytes, path: Path) -> dict[str, Any] | None:
    """The header of a row file; None if the line is half-written.

    Raises:
        InputError: the file has another format, or is not a row file.
    """
    if not line.endswith(b"\n"):
        return None
    header = read_line(line)
    if header is None:
        try:
            found = orjson.loads(line.partition(b"\t")[0])
        except orjson.JSONDecodeError:
            found = None
        version = found.get("format") if isinstance(found, dict) else None
        if version is None or version == FORMAT:
            raise InputError(
                "does not start with the header of an abduce run, or is damaged", file=path, line=1
            )
        raise InputError(
            f"is of format {version} (abduce {found.get('abduce', '?')}); this version reads format "
            f"{FORMAT}: choose another folder",
            file=path,
            line=1,
        )
    return header


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn a missing field of a record into one line.

    Raises:
        InputError: a field is missing or has another type.
    """
    try:
        yield
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, IndexError) as e:
        raise InputError(f"holds a record this version cannot read ({e!r})", file=path) from e


class RunLog:
    """An open row file. Only one process may hold it (ensured by the run folder's lock).

    Args:
        path: the file; it is created with ``header`` if it is missing or empty.
        header: the first line of a new file.

    Attributes:
        repaired: bytes of a half-written last line that were removed.
        names: the ids that its records refer to by number.

    Raises:
        InputError: it cannot be read or written, has another format, or is damaged before its last line.
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path = path
        first = next(read_lines(path, head_only=True), None) if path.exists() else None
        self.repaired = self._repair()
        self.names = names_of(path.parent.parent, first or header)
        with writing(path):
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        if first is None:
            self.append(header_line(header))

    def records(self) -> Iterator[dict[str, Any]]:
        """The content of the file, in the order written, without the header.

        Raises:
            InputError: a line is damaged.
        """
        lines = read_lines(self.path)
        next(lines)
        return lines

    def _repair(self) -> int:
        """Remove an incomplete last line; returns its number of bytes."""
        if not self.path.exists() or not (size := self.path.stat().st_size):
            return 0
        with writing(self.path), self.path.open("rb+") as stream:
            keep = _last_line_start(stream, size)
            stream.seek(keep)
            last = stream.read()
            if read_line(last, head_only=True) is not None:
                return 0
            stream.truncate(keep)
        return size - keep

    def append(self, line: bytes) -> None:
        """Add one line, which ends with a newline.

        Raises:
            InputError: it cannot be written (such as a full disk); the file is unchanged.
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


def header_line(header: Mapping[str, Any]) -> bytes:
    """The first line of a row file; the whole header is its head."""
    head = _clean_json(header)
    return b"%b\t%08x\t\n" % (head, zlib.crc32(head))


def _last_line_start(stream: Any, size: int) -> int:
    """The offset of the last line."""
    block, end = 1 << 16, size - 1
    while end > 0:
        start = max(0, end - block)
        stream.seek(start)
        found: int = stream.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
