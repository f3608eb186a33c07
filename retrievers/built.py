"""Retrievers over one taxonomy, each built once."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

from . import registry
from .base import Retriever
from .taxonomy import Taxonomy


class Retrievers:
    """Retrievers over one taxonomy by their settings; each is built once, when first asked for."""

    def __init__(self, taxonomy: Taxonomy, settings: Mapping[str, Any]) -> None:
        self.taxonomy = taxonomy
        self.settings = dict(settings)
        self._built: dict[str, Retriever] = {}
        self._lock = threading.Lock()

    def resolved(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """A row's own settings; another kind of retriever takes over none of the experiment's."""
        if "kind" in changes and changes["kind"] != self.settings.get("kind", "bm25"):
            return dict(changes)
        return {"kind": "bm25", **self.settings, **changes}

    def __call__(self, changes: Mapping[str, Any]) -> Retriever:
        settings = self.resolved(changes)
        key = json.dumps(settings, sort_keys=True)
        with self._lock:
            if key not in self._built:
                self._built[key] = _build_retriever(self.taxonomy, settings)
            return self._built[key]


def _build_retriever(taxonomy: Taxonomy, settings: Mapping[str, Any]) -> Retriever:
    rest = dict(settings)
    return registry.build(rest.pop("kind"), taxonomy, **rest)
