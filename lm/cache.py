"""DSPy's response cache, in a separate folder and without unusable replies."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dspy
import orjson
from diskcache import Disk, FanoutCache
from diskcache.core import MODE_BINARY, MODE_RAW
from dspy.clients.cache import Cache

from ..retrievers.errors import InputError
from ..retrievers.files import make_folder

_DISK_BYTES = 20 * 1024**3
_MEMORY_ENTRIES = 20_000


class _PlainDisk(Disk):
    """Stores only bytes: no entry of a cache folder is ever unpickled."""

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> bytes:
        found = super().fetch(mode, filename, value, read) if mode in _BYTES else b""
        return found if isinstance(found, bytes) else b""


_BYTES = (MODE_RAW, MODE_BINARY)
_HASH = hashlib.sha256


class KeptReplies(Cache):
    """A DSPy cache that stores a reply only after it has parsed.

    While a program's ``ask`` waits (``dspy.settings.receipt``), its receipt gets the reply and stores it
    after parsing. A reply that did not parse or was cut off is never reused. An entry is JSON with its
    SHA-256; a damaged entry is ignored.

    Args:
        folder: the folder of the entries.
        every: store every reply at once, usable or not, as a journal from which a stopped run resumes.
    """

    def __init__(self, folder: Path, every: bool = False) -> None:
        self.every = every
        super().__init__(
            enable_disk_cache=False,
            enable_memory_cache=True,
            disk_cache_dir=str(folder),
            memory_max_entries=_MEMORY_ENTRIES,
        )
        self.enable_disk_cache = True
        self.disk_cache = FanoutCache(
            directory=str(folder), shards=16, timeout=10, size_limit=_DISK_BYTES, disk=_PlainDisk
        )

    def get(self, request: dict[str, Any], ignored_args_for_cache_key: list[str] | None = None) -> Any:
        try:
            kept = super().get(request, ignored_args_for_cache_key)
        except (sqlite3.Error, OSError):
            return None  # a damaged entry costs a request, not a fact
        if not isinstance(kept, bytes) or _HASH(kept[32:]).digest() != kept[:32]:
            return None
        found = orjson.loads(kept[32:])
        receipt = dspy.settings.get("receipt")
        if receipt is not None and found.get("responses"):
            reply = found["responses"][0]
            parts = reply["message"]["parts"]
            text = "".join(part.get("text", "") for part in parts if part.get("type") == "text")
            receipt.replied(text, reply.get("finish_reason", ""), cached=True)
        return found

    def put(
        self,
        request: dict[str, Any],
        value: Any,
        ignored_args_for_cache_key: list[str] | None = None,
        enable_memory_cache: bool = True,
    ) -> None:
        try:
            body = orjson.dumps(value)
        except TypeError:
            return  # of a model that is not of abduce.lm: its replies are objects, not plain data
        kept = _HASH(body).digest() + body
        store = super().put
        receipt = dspy.settings.get("receipt")
        if receipt is None or self.every:
            store(request, kept, ignored_args_for_cache_key, enable_memory_cache)
        else:
            receipt.keep_later(lambda: store(request, kept, ignored_args_for_cache_key, enable_memory_cache))


def cache_folder(given: str | Path | None = None, environ: Mapping[str, str] | None = None) -> Path:
    """The folder of stored replies: ``given``, else ``$ABDUCE_CACHE``, else ``~/.cache/abduce/lm``."""
    environ = os.environ if environ is None else environ
    if given is not None:
        return Path(given)
    if environ.get("ABDUCE_CACHE"):
        return Path(environ["ABDUCE_CACHE"])
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "abduce" / "lm"


def use_cache(folder: str | Path | None = None, every: bool = False) -> None:
    """Make DSPy use this cache (process-wide, as DSPy's own ``configure_cache`` does).

    Args:
        folder: see :func:`cache_folder`.
        every: see :class:`KeptReplies`.

    Raises:
        InputError: the folder cannot be made or written to, or its content is damaged.
    """
    place = cache_folder(folder)
    current = dspy.cache
    if isinstance(current, KeptReplies) and current.disk_cache_dir == str(place) and current.every == every:
        return
    make_folder(place)
    try:
        dspy.cache = KeptReplies(place, every)
    except (sqlite3.Error, OSError) as error:
        raise InputError(
            f"cannot be used as the cache of replies ({error}): delete it, name another in ABDUCE_CACHE, "
            "or run with --no-cache",
            file=place,
        ) from None
