"""From an experiment and a data folder to the runner's rows, and a program for one command."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..programs.presets import PROGRAMS, Parts, Spec, build, check_replay
from ..programs.profiles import Profiles
from ..programs.replay import Replay
from ..retrievers import registry
from ..retrievers.base import Retriever
from ..retrievers.errors import InputError
from ..retrievers.taxonomy import Taxonomy
from ..signatures.dimensions import DimensionSchema, load_schema
from .data import file_fingerprint
from .domains import Domain
from .experiment import Experiment
from .precedents import PrecedentSource
from .replay import Logs, Recorded
from .rows import Row, fingerprint


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


def make_parts(
    taxonomy: Taxonomy,
    domain: Domain,
    retriever: Mapping[str, Any],
    schema: DimensionSchema | None = None,
    precedents: PrecedentSource | None = None,
) -> Parts:
    """What the rows of one experiment share."""
    schema = schema or load_schema(domain.schema)
    return Parts(
        Retrievers(taxonomy, retriever),
        taxonomy,
        schema,
        domain.serializer,
        Profiles(schema, taxonomy),
        precedents=precedents,
    )


class Seeded:
    """A program called under a seed: its samples take the rollouts of that seed."""

    def __init__(self, program: Callable[..., Any], seed: int) -> None:
        self.program, self.seed = program, seed

    def __call__(self, **inputs: Any) -> Any:
        import dspy

        with dspy.context(seed=self.seed):
            return self.program(**inputs)


def _build_seeded(name: str, spec: Spec, parts: Parts, logs: Logs, replayed: bool, seed: int) -> Any:
    parts = replace(parts, replay=lambda of: logs.named(of, seed))
    try:
        program = build(spec, parts)
    except ValueError as e:
        raise InputError(str(e), field=f"row {name!r}") from e
    if spec.state:
        from .optimize import load_state

        load_state(program, Path(spec.state))
    if spec.needs_model:
        program = Seeded(program, seed)
    return Recorded(program, logs.of(name, seed)) if replayed else program


def state_fingerprint(path: Path) -> str:
    """A digest of a compiled state; another state never reuses results.

    Raises:
        InputError: the file is not there.
    """
    if not path.is_file():
        raise InputError("no such program state", file=path)
    return file_fingerprint(path)


COSTLY = frozenset({"dense", "hybrid", "rerank", "milvus"})
"""Retrievers that are not made before they are needed: they load models or talk to a server."""


def _check(spec: Spec, parts: Parts, retriever: Mapping[str, Any]) -> None:
    """Put a row together before anything runs or is written, as far as that costs nothing.

    Raises:
        ValueError: a setting of its retriever, its serializer or its options that there is not, a missing
            extra, or a replay that cannot be.
    """
    rest = dict(retriever)
    kind = str(rest.pop("kind", "bm25"))
    registry.check(kind, rest)
    costly = kind in COSTLY or ":" in kind or "index" in rest
    if spec.replay:
        check_replay(spec)
    elif not (costly or spec.state or spec.uses_precedents):
        build(spec, parts)


def make_rows(
    experiment: Experiment,
    parts: Parts,
    taxonomy_print: str,
    model: Any = None,
    out: Path | None = None,
    ready: Callable[[], None] | None = None,
) -> Sequence[Row]:
    """The runner's rows of an experiment.

    Args:
        experiment: with resolved rows.
        parts: shared by all rows.
        taxonomy_print: fingerprint of the inventory.
        model: identity of the language model, part of the resume key of rows that call one.
        out: the run folder, from which rows that replay others read what earlier sessions did.
        ready: see :class:`Row`; of rows that call a model.
    """
    from ..signatures.prompting import load_prompts
    from .codeversion import Sources

    rows: dict[str, Row] = {}
    logs = Logs(out)
    sources = Sources()
    replayed = {row.spec.replay for row in experiment.rows}
    specs: dict[str, Spec] = {}
    retrievers = Retrievers(parts.taxonomy, experiment.retriever)
    for row in experiment.rows:
        spec = row.spec
        base = rows.get(spec.replay)
        place: Any = {"file": experiment.file, "field": f"row {row.name!r}"}
        if spec.replay and base is None and ":" not in spec.replay and not logs.has(spec.replay):
            raise InputError(f"replays {spec.replay!r}, which is no earlier row", **place)
        retriever = retrievers.resolved(spec.retriever)
        try:
            _check(spec, parts, retriever)
            if base is not None:
                check_replay(spec, specs[spec.replay])
        except ValueError as e:
            raise InputError(str(e), **place) from e
        specs[row.name] = spec
        settings = {
            "spec": spec.model_dump(mode="json"),
            "config": spec.resolve().model_dump(mode="json"),
            "retriever": registry.identity(retriever, parts.taxonomy),
            "taxonomy": {"name": parts.taxonomy.name, "fingerprint": taxonomy_print},
            "schema": parts.schema.fingerprint,
        }
        if spec.state:
            settings["state"] = state_fingerprint(Path(spec.state))
        if isinstance(parts.precedents, PrecedentSource) and spec.uses_precedents:
            settings["precedents"] = parts.precedents.fingerprint
        if base is not None:
            settings["replayed"] = base.identity("")
        prompts = None
        if spec.needs_model:
            try:
                texts = {k: p.model_dump(mode="json") for k, p in load_prompts(spec.prompts).items()}
            except ValueError as e:
                raise InputError(str(e), field="prompts") from e
            prompts = fingerprint(texts)
        seeds: Sequence[int] = (experiment.seeds[0],)
        if spec.needs_model or spec.replay:
            seeds = tuple(experiment.seeds) if base is None else base.seeds
        rows[row.name] = Row(
            name=row.name,
            build=partial(_build_seeded, row.name, spec, parts, logs, row.name in replayed),
            settings=settings,
            prompts=prompts,
            model=model if spec.needs_model else None,
            code=sources.version(PROGRAMS[spec.program].cls, Replay, registry),
            seeds=seeds,
            takes_gold=spec.needs_gold and not spec.replay,
            ready=ready if spec.needs_model else None,
            reference=row.reference,
        )
    return list(rows.values())
