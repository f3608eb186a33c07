"""Retrievers by name, as in ``[retriever]`` of an experiment file.

``build("bm25", taxonomy, w_cov=0.0)`` builds one; ``index = "folder"`` opens an index folder instead.
``"package.module:Class"`` names your own class, which is called with the collection and the settings.
"""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from .base import Retriever
from .collection import Collection
from .encoders import PRESETS
from .errors import InputError

Builder = Callable[..., Retriever]


def build_retriever(kind: str, collection: Collection[Any] | None, **settings: Any) -> Retriever:
    """Build the retriever with a name.

    Args:
        kind: a key of :data:`BUILDERS`, or ``package.module:Class``.
        collection: the collection to search; None if ``index`` names a folder that holds it.
        settings: the retriever's own.

    Raises:
        InputError: an unknown name or setting (the message lists the known ones), or a wrong value.
        MissingExtra: an optional dependency is not installed.
    """
    builder = builder_named(kind)
    accepted = inspect.signature(builder).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in accepted.values()):
        names = list(accepted)[1:]
        for name in settings:
            if name not in names:
                raise InputError(f"no such setting; {kind} has {', '.join(names)}", field=f"retriever.{name}")
    _check_types(builder, settings)
    try:
        return builder(collection, **settings)
    except InputError:
        raise
    except (TypeError, ValueError) as e:
        raise InputError(f"{kind}: {e}", field="retriever") from e


def _check_types(builder: Builder, settings: Mapping[str, Any]) -> None:
    """Refuse a setting of another type than the builder's, and numbers that are not finite.

    Raises:
        InputError: names the setting.
    """
    try:
        hints = get_type_hints(builder)
    except (NameError, TypeError):
        hints = {}  # a class of anybody's
    for name, value in settings.items():
        kind = hints.get(name, Any) if isinstance(value, str | int | float) else Any
        try:
            TypeAdapter(kind, config=_SETTING).validate_python(value)
        except ValidationError as e:
            raise InputError.of_validation(e, within=f"retriever.{name}") from None
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError("must be a finite number", field=f"retriever.{name}")


_SETTING = ConfigDict(strict=True, arbitrary_types_allowed=True)


def builder_named(kind: str) -> Builder:
    """The builder of a kind of retriever.

    Raises:
        InputError: no such name, module or class.
    """
    if ":" not in kind:
        if kind not in BUILDERS:
            known = ", ".join(BUILDERS)
            raise InputError(
                f"no retriever {kind!r}; there are {known}, or package.module:Class", field="retriever.kind"
            )
        return BUILDERS[kind]
    builder: Builder = outside_class(kind, "retriever.kind")
    return builder


def outside_class(name: str, field: str) -> Any:
    """The class (or any callable) of ``package.module:Class``; its module is imported.

    Raises:
        InputError: no such module, or nothing callable with that name in it; names ``field``.
    """
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except (ImportError, ValueError) as e:
        raise InputError(f"{module!r} cannot be imported ({e})", field=field) from e
    if not callable(found):
        raise InputError(f"{module!r} has no class {attribute!r}", field=field)
    return found


def _bm25(
    collection: Collection[Any] | None,
    k1: float | None = None,
    b: float | None = None,
    w_cov: float | None = None,
    tokenizer: str | None = None,
    threads: int | None = None,
    repeats: bool | None = None,
    index: str | Path | None = None,
) -> Retriever:
    from .bm25 import BM25Retriever

    given = {"k1": k1, "b": b, "w_cov": w_cov, "tokenizer": tokenizer, "threads": threads, "repeats": repeats}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if index is None:
        return BM25Retriever(_needed(collection), **chosen)
    for fixed in ("k1", "b", "repeats"):
        if fixed in chosen:
            raise InputError("is fixed when an index is built", field=f"retriever.{fixed}")
    opened = BM25Retriever.open(index, **chosen)
    _same(opened.collection, collection, index)
    return opened


def _dense(
    collection: Collection[Any] | None,
    index: str | Path | None = None,
    preset: str | None = None,
    **settings: Any,
) -> Retriever:
    from .dense import DenseRetriever
    from .vectors import VectorIndex

    if index is not None and preset is None and not settings.get("model"):
        preset = _preset_of(index)
    encoder, rest = _encoder(preset, settings)
    own = parameters(DenseRetriever) - {"encoder", "vectors", "tokenizer", "engine_settings"}
    only_known(rest, own | parameters(VectorIndex), "dense", encoder_too=True)
    if index is None:
        return DenseRetriever(_needed(collection), encoder, **rest)
    opened = DenseRetriever.open(index, encoder, **rest)
    _same(opened.collection, collection, index)
    return opened


def _preset_of(index: str | Path) -> str:
    """The preset whose encoder a dense index was made with.

    Raises:
        InputError: not a dense index, or its encoder is of no preset (its settings are not known then).
    """
    from .store import read_manifest

    manifest = read_manifest(index)
    if manifest["kind"] != "dense":
        raise InputError(f"is an index of kind {manifest['kind']!r}, not 'dense'", file=Path(index))
    name = manifest["parameters"]["encoder"]
    for preset, its in PRESETS.items():
        if its["model"] == name:
            return preset
    raise InputError(f"was encoded by {name!r}: give model (and its settings)", file=Path(index))


def _hybrid(
    collection: Collection[Any] | None,
    parts: list[Mapping[str, Any]],
    method: str = "rrf",
    weights: list[float] | None = None,
    kappa: float = 60.0,
    depth: int = 200,
) -> Retriever:
    from .hybrid import HybridRetriever

    return HybridRetriever([_part(collection, p, "parts") for p in parts], method, weights, kappa, depth)  # type: ignore[arg-type]


def _rerank(
    collection: Collection[Any] | None,
    first: Mapping[str, Any],
    model: str | Path | None = None,
    batch: int = 16,
    tokens: int = 512,
    device: str | None = None,
    depth: int = 150,
) -> Retriever:
    from .rerank import DEFAULT_MODEL, CrossEncoderScorer, RerankRetriever

    stage = _part(collection, first, "first")
    searched = collection or getattr(stage, "collection", None)
    return RerankRetriever(
        stage, _needed(searched), CrossEncoderScorer(model or DEFAULT_MODEL, batch, tokens, device), depth
    )


def _milvus(
    collection: Collection[Any] | None, preset: str | None = None, progress: bool = False, **settings: Any
) -> Retriever:
    from .milvus import MilvusRetriever

    encoded = settings.get("field", "dense") == "dense"
    encoder, rest = _encoder(preset, settings) if encoded else (None, settings)
    only_known(rest, parameters(MilvusRetriever) - {"encoder", "client"}, "milvus", encoder_too=encoded)
    retriever = MilvusRetriever(_needed(collection), encoder=encoder, **rest)
    retriever.insert(progress=progress)
    return retriever


def _towers(collection: Collection[Any] | None, model: str | Path) -> Retriever:
    from .taxonomy import Taxonomy
    from .towers.retriever import TowerRetriever

    searched = _needed(collection)
    if not isinstance(searched, Taxonomy):
        raise InputError("search the concepts of a taxonomy, not passages", field="retriever.kind")
    return TowerRetriever(searched, model)


BUILDERS: dict[str, Builder] = {
    "bm25": _bm25,
    "dense": _dense,
    "hybrid": _hybrid,
    "rerank": _rerank,
    "milvus": _milvus,
    "towers": _towers,
}
"""Every retriever of abduce by its name in experiment files."""


def _encoder(preset: str | None, settings: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The encoder of some settings, and the remaining settings."""
    from .encoders import SentenceEncoder

    names = parameters(SentenceEncoder)
    its = {name: value for name, value in settings.items() if name in names}
    encoder = SentenceEncoder.preset(preset, **its) if preset else SentenceEncoder(**its)
    return encoder, {name: value for name, value in settings.items() if name not in names}


def parameters(function: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(function).parameters) - {"collection", "vectors"}


def only_known(settings: Mapping[str, Any], known: set[str], kind: str, encoder_too: bool) -> None:
    for name in settings:
        if name not in known:
            more = ", preset and the encoder's own" if encoder_too else ""
            raise InputError(
                f"no such setting; {kind} has {', '.join(sorted(known))}{more}", field=f"retriever.{name}"
            )


def _part(collection: Collection[Any] | None, settings: Mapping[str, Any], field: str) -> Retriever:
    if not isinstance(settings, Mapping) or not isinstance(settings.get("kind"), str):
        raise InputError('must be a table with a kind, such as {kind = "bm25"}', field=f"retriever.{field}")
    return build_retriever(settings["kind"], collection, **{k: v for k, v in settings.items() if k != "kind"})


def _needed(collection: Collection[Any] | None) -> Collection[Any]:
    if collection is None:
        raise InputError("a taxonomy or corpus is needed, or an index folder", field="retriever.index")
    return collection


def _same(opened: Collection[Any], given: Collection[Any] | None, folder: str | Path) -> None:
    """Refuse an index of another collection than the given one."""
    if given is None or given is opened:
        return
    if len(opened) != len(given) or opened.content_hash != given.content_hash:
        raise other_collection(opened.name, len(opened), given, folder)


def other_collection(name: str, count: int, given: Collection[Any], folder: str | Path) -> InputError:
    return InputError(
        f"was built from another {given.kind}: {name!r} of {count:,} {given.noun}s, where {given.name!r} of "
        f"{len(given):,} is searched",
        file=folder,
    )
