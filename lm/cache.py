"""DSPy's response cache, in a folder of the project's own, without replies that were no use."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dspy
from dspy.clients.cache import Cache

from ..retrievers.errors import InputError
from ..retrievers.files import make_folder

_DISK_BYTES = 20 * 1024**3
_MEMORY_ENTRIES = 20_000


class KeptReplies(Cache):
    """A DSPy cache that keeps a reply only once it is known to be an answer.

    While a program's ``ask`` waits (``dspy.settings.receipt``), a reply is handed to its receipt, which
    keeps it after the reply has parsed; one that did not parse or was cut off is never served again.
    Entries are plain data and are read back as such.
    """

    def get(self, request: dict[str, Any], ignored_args_for_cache_key: list[str] | None = None) -> Any:
        try:
            found = super().get(request, ignored_args_for_cache_key)
        except (sqlite3.Error, OSError):
            return None  # a damaged entry costs a request, not a fact
        receipt = dspy.settings.get("receipt")
        if receipt is not None and isinstance(found, dict) and found.get("responses"):
            kept = found["responses"][0]
            parts = kept["message"]["parts"]
            text = "".join(part.get("text", "") for part in parts if part.get("type") == "text")
            receipt.replied(text, kept.get("finish_reason", ""), cached=True)
        return found

    def put(
        self,
        request: dict[str, Any],
        value: Any,
        ignored_args_for_cache_key: list[str] | None = None,
        enable_memory_cache: bool = True,
    ) -> None:
        store = super().put
        receipt = dspy.settings.get("receipt")
        if receipt is None:
            store(request, value, ignored_args_for_cache_key, enable_memory_cache)
        else:
            receipt.keep_later(lambda: store(request, value, ignored_args_for_cache_key, enable_memory_cache))


def cache_folder(given: str | Path | None = None, environ: Mapping[str, str] | None = None) -> Path:
    """Where replies are kept: ``given``, else ``$ABDUCE_CACHE``, else ``~/.cache/abduce/lm``."""
    environ = os.environ if environ is None else environ
    if given is not None:
        return Path(given)
    if environ.get("ABDUCE_CACHE"):
        return Path(environ["ABDUCE_CACHE"])
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "abduce" / "lm"


def use_cache(folder: str | Path | None = None) -> None:
    """Make DSPy use this cache (process-wide, as DSPy's own ``configure_cache`` does).

    Raises:
        InputError: the folder cannot be made or written to, or what is in it is damaged.
    """
    place = cache_folder(folder)
    current = dspy.cache
    if isinstance(current, KeptReplies) and current.disk_cache_dir == str(place):
        return
    make_folder(place)
    try:
        dspy.cache = KeptReplies(
            enable_disk_cache=True,
            enable_memory_cache=True,
            disk_cache_dir=str(place),
            disk_size_limit_bytes=_DISK_BYTES,
            memory_max_entries=_MEMORY_ENTRIES,
            restrict_pickle=True,
        )
    except (sqlite3.Error, OSError) as error:
        raise InputError(
            f"cannot be used as the cache of replies ({error}): delete it, name another in ABDUCE_CACHE, "
            "or run with --no-cache",
            file=place,
        ) from None
