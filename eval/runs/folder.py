"""A run folder: its lock, its manifest, and the files of each row's results.

=====================  ==================================================================================
``run.json``           the manifest: format, experiment, data, rows with their files, keys and references
``resolved.toml``      the experiment as it was run, enough to run it again
``examples.jsonl``     id, gold, cluster and groups of every example of the latest run
``ids-HASH.json.gz``   the ids of the inventory or corpus, which records name by their place in it
``rows/NAME.log``      a header, then one line per finished example (append-only, :mod:`.log`)
``rows/NAME.KEY.log``  the same, of settings that the row had before
``failures.jsonl``     row, seed, id and reason of every example that failed
``summary.json``       the table: ``{"experiment", "data", "rows": [{"row", "n", "R@1", ...}]}``
=====================  ==================================================================================

A changed bit is found wherever it would change a number: lines of rows have checksums, ``run.json`` a seal
that covers itself and ``examples.jsonl``, and the table of ids its hash in its name.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, ValidationError

from ...data.example import fingerprint
from ...retrievers import outside
from ...retrievers.errors import InputError
from ...retrievers.files import make_folder, write_bytes, writing
from ...version import __version__
from .log import FORMAT, RunLog, dumps, read_lines


def file_name(row: str) -> str:
    """A row's name as a file name: it depends only on the name, and differs for different names."""
    if re.fullmatch(r"[A-Za-z0-9-]{1,80}", row):
        return row
    safe = re.sub(r"[^A-Za-z0-9+-]+", "_", row).strip("_")[:80]
    return f"{safe}-{hashlib.blake2b(row.encode(), digest_size=3).hexdigest()}"


class ContentsRow(BaseModel):
    """A row in ``run.json``. The file of its records follows from its name."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False)

    row: str
    key: str
    seeds: list[int]
    reference: dict[str, float]


class Contents(BaseModel):
    """The content of ``run.json``."""

    model_config = ConfigDict(extra="allow")

    experiment: str
    data: str
    baseline: str | None
    codec: str
    measures: list[str]
    rows: list[ContentsRow]


class RunFolder:
    """The files of one run. Writing needs :meth:`locked`; reading does not."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one writing process; it is created if needed.

        The lock is the operating system's, so it ends with the process.

        Raises:
            InputError: another process holds it, it has another version, or it cannot be written.
        """
        make_folder(self.path)
        self.manifest()
        holder = self.path / ".lock.json"
        lock = FileLock(self.path / ".lock")
        with writing(self.path):
            try:
                lock.acquire(timeout=0)
            except Timeout:
                raise InputError(f"another run is writing here{_whom(holder)}", file=self.path) from None
        try:
            write_bytes(holder, orjson.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
            make_folder(self.path / "rows")
            yield
        finally:
            holder.unlink(missing_ok=True)
            lock.release()

    def manifest(self) -> dict[str, Any] | None:
        """The contents of ``run.json``; None if it is missing.

        Raises:
            InputError: it is not JSON, or has another format.
        """
        path = self.path / "run.json"
        found = read_json(path) if os.path.lexists(path) else None
        if found is not None and found.get("format") != FORMAT:
            raise InputError(
                f"is of format {found.get('format')} (abduce {found.get('abduce', '?')}); this is abduce "
                f"{__version__}, which reads format {FORMAT}: choose another folder",
                file=path,
            )
        if found is not None and found.pop("seal", "") != fingerprint(found):
            raise InputError("is damaged or was edited: it does not match its own seal", file=path)
        if found is not None:
            try:
                Contents.model_validate(found)
            except ValidationError as e:
                raise InputError.of_validation(e, file=path) from None
        return found

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Replace one of the folder's JSON files in one step."""
        write_bytes(self.path / name, orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")

    def write_manifest(self, contents: Mapping[str, Any]) -> None:
        whole = {"format": FORMAT, "abduce": __version__, **contents}
        self.write_json("run.json", {**whole, "seal": fingerprint(whole)})

    def write_failures(self, lines: Iterable[bytes]) -> None:
        """Replace ``failures.jsonl``; it is removed if there are no failures."""
        text, path = b"".join(lines), self.path / "failures.jsonl"
        if text:
            write_bytes(path, text)
        else:
            path.unlink(missing_ok=True)

    def note_failure(self, row: str, seed: int, example: str, reason: Mapping[str, str]) -> None:
        """Add one line to ``failures.jsonl`` at once."""
        path = self.path / "failures.jsonl"
        with writing(path), path.open("ab") as stream:
            stream.write(dumps({"row": row, "seed": seed, "id": example, **reason}))

    def row_path(self, row: str) -> Path:
        return self.path / "rows" / f"{file_name(row)}.log"

    def open_log(self, row: str, key: str, identity: Mapping[str, Any], ids: str = "") -> tuple[RunLog, str]:
        """The log of a row with these settings, and a note if the row had other settings before. ``ids`` is
        the key of the table (:func:`.names.write_names`) for a new log's records.

        Results of other settings are moved to another file, kept but not reused. Results of these settings
        that were moved before are moved back.
        """
        path, note = self.row_path(row), ""
        header = {"format": FORMAT, "abduce": __version__, "row": row, "key": key, "ids": ids, **identity}
        old = next(read_lines(path, head_only=True), None) if path.exists() else None
        if old is not None and old["key"] != key:
            aside = path.with_suffix(f".{old['key'][:8]}.log")
            changed = [part for part in identity if old.get(part) != identity[part]]
            note = f"{row}: {', '.join(changed)} changed; its earlier results are kept in rows/{aside.name}"
            with writing(aside):
                path.replace(aside)
        own = path.with_suffix(f".{key[:8]}.log")
        if not path.exists() and own.exists():
            with writing(path):
                own.replace(path)
        return RunLog(path, header), note


MAX_JSON = 256 * 2**20
"""Bytes of a JSON file of a run folder (``summary.json``, ``run.json``)."""


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object.

    Raises:
        InputError: the file is missing, unreadable, or not a JSON object.
    """
    found = outside.read_json(path, MAX_JSON)
    if not isinstance(found, dict):
        raise InputError("is not a JSON object", file=path)
    return found


def _whom(holder: Path) -> str:
    try:
        who = read_json(holder)
    except InputError:
        return ""
    return f" (process {who.get('pid')} on {who.get('host')})"
