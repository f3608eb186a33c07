"""Retrievers over one collection by their settings, each built once."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

from . import registry
from .base import Retriever
from .collection import Collection


class BuiltRetrievers:
    """Retrievers over one collection; each is built once, when it is first asked for.

    Args:
        collection: a taxonomy or a corpus.
        settings: the ``[retriever]`` table that callers change.
    """

    def __init__(self, collection: Collection[Any], settings: Mapping[str, Any]) -> None:
        self.collection = collection
        self.settings = {"kind": "bm25", **settings}
        self._built: dict[str, Retriever] = {}
        self._lock = threading.Lock()

    def resolved(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The settings in full. Another ``kind`` of retriever takes over none of the shared settings."""
        if changes.get("kind", self.settings["kind"]) != self.settings["kind"]:
            return registry.in_full(changes, self.collection)
        return registry.in_full({**self.settings, **changes}, self.collection)

    def __call__(self, changes: Mapping[str, Any]) -> Retriever:
        """The retriever of the shared settings with some changed.

        Raises:
            InputError: no such kind or setting, or a stored index that does not fit.
        """
        settings = self.resolved(changes)
        key = json.dumps(settings, sort_keys=True)
        with self._lock:
            if key not in self._built:
                self._built[key] = registry.build(settings.pop("kind"), self.collection, **settings)
            return self._built[key]
