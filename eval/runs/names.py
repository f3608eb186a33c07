"""The table of ids of a run folder, which its records refer to by number: ``ids-HASH.json.gz``."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from ...retrievers.errors import InputError
from ...retrievers.files import write_bytes
from ...retrievers.outside import read_bytes
from .packing import Names


def write_names(folder: Path, ids: Sequence[str]) -> str:
    """Write a table if the folder lacks it; returns its key."""
    text = orjson.dumps(list(ids))
    key = _hash(text) if len(ids) else ""
    if key and not _path(folder, key).exists():
        write_bytes(_path(folder, key), gzip.compress(text, mtime=0))
    return key


def names_of(folder: Path, header: Mapping[str, Any]) -> Names:
    """The table named in the header of a row file.

    Raises:
        InputError: it is missing or damaged.
    """
    key = header.get("ids", "")
    return _read(_path(folder, str(key))) if key else _NONE


_NONE = Names()

MAX_NAMES = 1 << 30
"""Bytes of a table."""


@lru_cache(maxsize=4)
def _read(path: Path) -> Names:
    try:
        text = read_bytes(path, MAX_NAMES)
    except InputError as e:
        raise InputError(f"{e}; records name ids by their place in it") from e
    if path.name != _path(path.parent, _hash(text)).name:
        raise InputError("is damaged: it does not match its name", file=path)
    return Names(orjson.loads(text))


def _path(folder: Path, key: str) -> Path:
    return folder / f"ids-{key}.json.gz"


def _hash(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=8).hexdigest()
