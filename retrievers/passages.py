"""Retrievers over one corpus of passages, each built once."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

from . import registry
from .base import Retriever
from .corpus import Corpus
from .encoders import PRESETS

ENCODERS = tuple(PRESETS)
"""Kinds that are short for a dense retriever with the encoder of that name."""


class PassageRetrievers:
    """Retrievers over one corpus by their settings; each is built once, when first asked for.

    ``kind`` is one of ``retrievers.registry``, or a preset of ``retrievers.encoders`` such as ``medcpt`` or
    ``minilm`` (a dense retriever with that encoder). Passages are searched without the label-coverage term
    unless ``w_cov`` is set.
    """

    def __init__(self, corpus: Corpus, settings: Mapping[str, Any]) -> None:
        self.corpus = corpus
        self.settings = dict(settings)
        self._built: dict[str, Retriever] = {}
        self._lock = threading.Lock()

    def resolved(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a row: a row that changes ``kind`` starts from that kind's own defaults."""
        if "kind" in changes and changes["kind"] != self.settings.get("kind", "bm25"):
            return dict(changes)
        return {**self.settings, **changes}

    def __call__(self, changes: Mapping[str, Any]) -> Retriever:
        settings = self.resolved(changes)
        key = json.dumps(settings, sort_keys=True)
        with self._lock:
            if key not in self._built:
                self._built[key] = passage_retriever(self.corpus, settings)
            return self._built[key]


def passage_retriever(corpus: Corpus, settings: Mapping[str, Any]) -> Retriever:
    """A retriever from plain settings.

    Raises:
        InputError: no such kind or setting, or a stored index that does not fit.
    """
    rest = passage_settings(settings)
    return registry.build(rest.pop("kind"), corpus, **rest)


def passage_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with the defaults for passages: no label coverage (a stored index has its own weight of it),
    short names of encoders written out."""
    rest = {"kind": "bm25", **settings}
    if rest["kind"] in ENCODERS:
        rest |= registry.named(rest["kind"])
    if rest["kind"] in ("bm25", "dense") and not rest.get("index"):
        rest.setdefault("w_cov", 0.0)
    for part in ("parts", "first"):
        if isinstance(rest.get(part), list):
            rest[part] = [passage_settings(p) for p in rest[part]]
        elif isinstance(rest.get(part), Mapping):
            rest[part] = passage_settings(rest[part])
    return rest
