"""From an experiment and a data folder to the runner's rows, and a program for one command."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ...data.example import Example, fingerprint
from ...programs.methods import PROGRAMS, Parts, build, check_replay
from ...programs.presets import scopes
from ...programs.replay import Replay
from ...programs.spec import Spec
from ...retrievers import registry
from ...retrievers.base import Where
from ...retrievers.built import Retrievers
from ...retrievers.errors import InputError
from ...tagging.precedents import PrecedentSource
from ..runs.replay import Logs, Recorded
from ..runs.row import Row
from ..runs.seeded import Seeded
from ..runs.state import state_fingerprint
from .experiment import Experiment

log = logging.getLogger(__name__)


def _build_seeded(name: str, spec: Spec, parts: Parts, logs: Logs, replayed: bool, seed: int) -> Any:
    parts = replace(parts, replay=lambda of: logs.named(of, seed))
    try:
        program = build(spec, parts)
    except ValueError as e:
        raise InputError(str(e), field=f"row {name!r}") from e
    if spec.state:
        from ..runs.state import load_state

        load_state(program, Path(spec.state))
    if spec.needs_model or spec.replay:
        program = Seeded(program, seed)
    return Recorded(program, logs.of(name, seed)) if replayed else program


def _warm(parts: Parts, settings: Mapping[str, Any], examples: Sequence[Example]) -> None:
    """Ask a row's retriever once for each datatype of the examples: it builds what it builds on first use."""
    kinds = sorted({str(e.inputs["fact"].datatype or "") for e in examples})
    try:
        parts.retriever(settings).search(
            ["value"] * len(kinds), 1, [Where(datatype=k or None) for k in kinds]
        )
    except Exception as e:  # noqa: BLE001 - what is wrong is told by the examples, each in its own record
        log.info("the retriever could not be warmed up: %s", e)


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
    elif not (costly or spec.state or scopes(spec)):
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
    from ...signatures.prompting import load_prompts
    from ..runs.code_version import Sources

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
            "schema": parts.under(spec.vocabulary).schema.fingerprint,
        }
        if spec.state:
            settings["state"] = state_fingerprint(Path(spec.state))
        if isinstance(parts.precedents, PrecedentSource) and scopes(spec):
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
            warm=partial(_warm, parts, spec.retriever),
        )
    return list(rows.values())
