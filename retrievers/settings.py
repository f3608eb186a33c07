"""The ``[retriever]`` table of an experiment file: short names, defaults, and checks without building."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .base import Retriever
from .collection import Collection
from .encoders import PRESETS
from .errors import InputError, MissingExtra
from .registry import BUILDERS, build_retriever, builder_named, only_known, other_collection, parameters
from .store import read_manifest


def in_full(settings: Mapping[str, Any], collection: Collection[Any]) -> dict[str, Any]:
    """Settings with the defaults that depend on the collection: the kind, and for passages no label coverage
    (a stored index has its own weight). An encoder's short name is written out.
    """
    found = {"kind": "bm25", **settings}
    if found["kind"] in PRESETS:
        found |= named(found["kind"])
    if collection.kind == "corpus" and found["kind"] in ("bm25", "dense") and not found.get("index"):
        found.setdefault("w_cov", 0.0)
    for part in ("parts", "first"):
        if isinstance(found.get(part), list):
            found[part] = [in_full(p, collection) for p in found[part]]
        elif isinstance(found.get(part), Mapping):
            found[part] = in_full(found[part], collection)
    return found


def named(name: str) -> dict[str, Any]:
    """The ``[retriever]`` table of a short name.

    Args:
        name: a kind; the preset of an encoder (``minilm``), which is a dense retriever; or the path of an
            index folder, which is opened.

    Raises:
        InputError: a folder that is not a valid index.
    """
    if name in PRESETS:
        return {"kind": "dense", "preset": name}
    if ":" not in name and name not in BUILDERS and os.path.isdir(name):
        return {"kind": read_manifest(name)["kind"], "index": str(Path(name).resolve())}
    return {"kind": name}


class BuiltRetrievers:
    """Retrievers over one collection; each is built once, on first use.

    Args:
        collection: a taxonomy or a corpus.
        settings: the shared ``[retriever]`` table.
    """

    def __init__(self, collection: Collection[Any], settings: Mapping[str, Any]) -> None:
        self.collection = collection
        self.settings = {"kind": "bm25", **settings}
        self._built: dict[str, Retriever] = {}
        self._lock = threading.Lock()

    def resolved(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The full settings. Another ``kind`` of retriever inherits none of the shared settings."""
        if changes.get("kind", self.settings["kind"]) != self.settings["kind"]:
            return in_full(changes, self.collection)
        return in_full({**self.settings, **changes}, self.collection)

    def __call__(self, changes: Mapping[str, Any]) -> Retriever:
        """The retriever with the shared settings and some changes.

        Raises:
            InputError: an unknown kind or setting, or a stored index that does not fit.
        """
        settings = self.resolved(changes)
        key = json.dumps(settings, sort_keys=True)
        with self._lock:
            if key not in self._built:
                self._built[key] = build_retriever(settings.pop("kind"), self.collection, **settings)
            return self._built[key]


def sealed(settings: Mapping[str, Any], collection: Collection[Any]) -> dict[str, Any]:
    """Settings, each index folder with its manifest's seal, which changes when an index is rebuilt.

    Raises:
        InputError: a folder that is not an index, or an index of another kind or collection.
    """
    found = dict(settings)
    kind, index = settings.get("kind", "bm25"), settings.get("index")
    if index and kind in ("bm25", "dense"):
        manifest = read_manifest(index)
        if manifest["kind"] != kind:
            raise InputError(f"is an index of kind {manifest['kind']!r}, not {kind!r}", file=Path(index))
        about = manifest["collection"]
        if about["hash"] != collection.content_hash:
            raise other_collection(about["name"], about["count"], collection, index)
        found["seal"] = manifest["seal"]
    if kind == "towers" and settings.get("model"):
        found["seal"] = read_manifest(settings["model"])["seal"]
    for name, value in settings.items():
        if name == "first" and isinstance(value, Mapping):
            found[name] = sealed(value, collection)
        elif name == "parts" and isinstance(value, list):
            found[name] = [sealed(part, collection) if isinstance(part, Mapping) else part for part in value]
    return found


def outside_modules(settings: Mapping[str, Any]) -> list[str]:
    """The modules of retrievers outside abduce, in settings and their parts."""
    own = [str(settings["kind"]).partition(":")[0]] if ":" in str(settings.get("kind", "")) else []
    inner = [*(settings.get("parts") or ()), settings.get("first")]
    return own + [name for part in inner if isinstance(part, Mapping) for name in outside_modules(part)]


def check_settings(kind: str, settings: Mapping[str, Any]) -> None:
    """Refuse what :func:`build_retriever` would refuse, without building: names, settings, missing extras.

    Raises:
        InputError: an unknown name or setting.
        MissingExtra: an optional dependency is not installed.
    """
    builder_named(kind)
    if ":" in kind:
        return
    for package in NEEDED.get(kind, ()):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(package, "scale" if kind == "milvus" else "dense")
    only_known(settings, _names(kind), kind, encoder_too=False)
    for name in ("model", "query_model", "index"):
        given = settings.get(name)
        if isinstance(given, str) and Path(given).is_absolute() and not Path(given).exists():
            raise InputError(f"there is no {given}", field=f"retriever.{name}")
    parts = settings.get("parts") if kind == "hybrid" else [settings["first"]] if "first" in settings else []
    required = {"hybrid": "parts", "rerank": "first", "towers": "model"}.get(kind)
    if required is not None and not settings.get(required):
        raise InputError("is needed", field=f"retriever.{required}")
    for part in parts or []:
        if not isinstance(part, Mapping) or not isinstance(part.get("kind"), str):
            raise InputError(
                'must be a table with a kind, such as {kind = "bm25"}', field=f"retriever.{required}"
            )
        check_settings(part["kind"], {k: v for k, v in part.items() if k != "kind"})


NEEDED: Mapping[str, tuple[str, ...]] = {
    "dense": ("sentence_transformers", "faiss"),
    "rerank": ("sentence_transformers",),
    "milvus": ("pymilvus",),
}
"""Packages of the extras, by retriever."""


def _names(kind: str) -> set[str]:
    """Every setting of a retriever."""
    own = set(inspect.signature(BUILDERS[kind]).parameters) - {"collection", "settings"}
    if kind == "dense":
        from .dense import DenseRetriever
        from .encoders import SentenceEncoder
        from .vectors import VectorIndex

        own |= parameters(DenseRetriever) | parameters(VectorIndex) | parameters(SentenceEncoder)
        return own - {"encoder", "vectors", "tokenizer", "engine_settings"}
    if kind == "milvus":
        from .encoders import SentenceEncoder
        from .milvus import MilvusRetriever

        return (own | parameters(MilvusRetriever) | parameters(SentenceEncoder)) - {"encoder", "client"}
    return own
