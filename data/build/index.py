"""The work of ``abduce index``: build an index folder from a source and settings."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...retrievers.collection import Collection
from ...retrievers.corpus import Corpus
from ...retrievers.errors import InputError
from ...retrievers.files import check_out
from ...retrievers.registry import build_retriever
from ...retrievers.taxonomy import Taxonomy
from ..corpora import CORPORA, load_corpus
from ..domains import DOMAINS
from ..folder import DataFolder, domain_named

KINDS = ("bm25", "dense", "milvus")
"""The kinds of retriever that have something to store."""


def load_source(
    source: str,
    passages: bool = False,
    data: Path | None = None,
    columns: Mapping[str, str] | None = None,
) -> Collection[Any]:
    """The source of an index: a domain's inventory, a release by name, a corpus, or a file of concepts or
    passages.

    A domain's name (``clinical``) is what its evaluation ranks; a taxonomy's name (``icd10cm-2018``) is the
    whole release. ``columns`` names the headings of a file of concepts.

    Raises:
        InputError: it does not exist or cannot be read.
    """
    if source in DOMAINS:
        return DataFolder.find(data).taxonomy(domain_named(source))
    for domain in DOMAINS.values():
        if source == domain.taxonomy:
            return DataFolder.find(data).taxonomy(domain, whole=True)
    if source in CORPORA or source.startswith("hf:"):
        return load_corpus(source, DataFolder.find(data) if source in CORPORA else None)
    path = Path(source)
    if not os.path.exists(path) and not path.suffix:
        known = ", ".join([*DOMAINS, *(d.taxonomy for d in DOMAINS.values()), *CORPORA])
        raise InputError(f"no source {source!r}; there are {known}, or give a file")
    if passages:
        return load_corpus(source) if os.path.isdir(path) or path.suffix == ".parquet" else Corpus.load(path)
    return Taxonomy.load(path, columns=columns)


def parse_settings(pairs: Sequence[str], option: str = "--set") -> dict[str, Any]:
    """``["k1=0.9", "model=some/folder"]`` as settings; a value that is not TOML is a text. Errors name the
    command line's ``option``.

    Raises:
        InputError: a pair without ``=``.
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        if not sign or not name.strip():
            raise InputError(f"{pair!r} is not KEY=VALUE", field=option)
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text
        settings[name.strip()] = value
    return settings


def build_index(
    source: str,
    out: Path,
    kind: str,
    passages: bool,
    data: Path | None,
    pairs: Sequence[str],
    overwrite: bool,
    columns: Mapping[str, str] | None = None,
) -> list[str]:
    """Build an index; returns lines about it.

    Raises:
        InputError: a bad source, kind, setting or place.
    """
    if kind not in KINDS:
        raise InputError(f"nothing to store for {kind!r}; there are {', '.join(KINDS)}", field="--kind")
    settings = parse_settings(pairs)
    if kind != "milvus" or "://" not in str(out):
        check_out(out, folder=kind != "milvus")
    if kind != "milvus" and out.exists() and not overwrite:
        raise InputError("exists already; give another folder, or --overwrite", file=out)
    collection = load_source(source, passages, data, columns)
    if kind == "milvus":
        retriever: Any = build_retriever(kind, collection, uri=str(out), progress=True, **settings)
        retriever.close()
        return [f"{len(collection):,} {collection.noun}s in {retriever.name!r} at {out}", *retriever.notes]
    if collection.kind == Corpus.kind:
        settings.setdefault("w_cov", 0.0)  # as everywhere for passages
    shown = {"progress": True} if kind == "dense" else {}
    retriever = build_retriever(kind, collection, **{**shown, **settings})
    retriever.save(out, overwrite)
    return [f"{len(collection):,} {collection.noun}s of {collection.name!r} in {out}"]


def summary(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values that describe an index."""
    about = manifest["collection"]
    yield "kind", str(manifest["kind"])
    yield about["kind"], f"{about['name']}, {about['count']:,} documents of {' + '.join(about['indexed'])}"
    if about["datatypes"]:
        yield "datatypes", str(len(about["datatypes"]))
    yield "parameters", ", ".join(f"{k} = {v}" for k, v in manifest["parameters"].items())
    if "tokenizer" in manifest:
        yield "tokenizer", f"{manifest['tokenizer']['name'] or 'own'} {manifest['tokenizer']['hash'][:12]}"
    yield "corpus", about["hash"][:12]
    yield "size", f"{sum(f['bytes'] for f in manifest['files'].values()) / 1e6:,.1f} MB"
    yield "format", str(manifest["version"])
