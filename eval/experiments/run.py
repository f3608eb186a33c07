"""Run an experiment of any family: data, models, rows, the runner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from ...data.folder import DataFolder
from ...lm import ModelProfiles, load
from ...lm.models import Models
from ...lm.use import meter_line
from ...programs.calls import NoModel
from ...retrievers.errors import InputError
from ...retrievers.settings import named
from ..runs.run import Run
from ..runs.runner import OnProgress, run
from .family import AnyExperiment, Session
from .files import FAMILIES
from .subset import restricted, sampled


class RunOptions(TypedDict, total=False):
    """Options of a run; see :func:`abduce.eval.experiments.evaluate.evaluate`."""

    data: str | Path | None
    split: str | None
    limit: int | None
    rows: Sequence[str]
    out: str | Path | None
    concurrency: int | None
    skip_bad: bool
    retry_failed: bool
    lm: Mapping[str, Any] | None
    model: str | None
    cache: bool
    retriever: str | None
    measures: Sequence[str]
    on_progress: OnProgress | None
    on_note: Callable[[str], None] | None
    on_start: Callable[[str], None] | None


def run_experiment(experiment: AnyExperiment, **options: Unpack[RunOptions]) -> Run:
    """Run an experiment.

    Raises:
        InputError: an error in the experiment, the data, the models or the run folder.
    """
    limit, out = options.get("limit"), options.get("out")
    note = options.get("on_note") or (lambda line: None)
    if rows := options.get("rows"):
        experiment = experiment.only(rows)
    if (lm := options.get("lm")) is not None:
        experiment = experiment.with_models({"": lm})
    if (model := options.get("model")) is not None:
        experiment = _with_one_model(experiment, model)
    if (retriever := options.get("retriever")) is not None:
        experiment = experiment.changed(retriever=named(retriever))
    folder = DataFolder.find(options.get("data"))
    bad: list[InputError] | None = [] if options.get("skip_bad") else None
    bench = FAMILIES[experiment.family].open(experiment, folder, options.get("split"), bad)
    for problem in bad or ():
        note(f"skipped: {problem}")
    if bad:
        note(f"{len(bad)} bad {bench.noun} were skipped")
    examples = restricted(bench.examples, experiment.where, experiment.table.ids)
    every = len(examples)
    examples = examples if limit is None else sampled(examples, limit, bench.stratum)
    alone = "".join(f", {field} {value} alone" for field, value in experiment.where.items())
    said = f"{bench.name}{alone}, {len(examples):,} {bench.noun}{bench.beside}, from {bench.origin or folder}"
    if len(examples) < every:
        said += f" (a sample of {every:,})"
    if (on_start := options.get("on_start")) is not None:
        on_start(said)
    try:
        codec = bench.codec(options.get("measures", ()))
    except ValueError as e:
        raise e if isinstance(e, InputError) else InputError(str(e), field="measure") from e
    cache = options.get("cache", True)
    with ExitStack() as closing:
        models = _models(experiment, cache, closing)
        experiment = experiment.with_models(
            {n: m.resolved() for n, m in models.items()} or experiment.table.models()
        )
        made = bench.rows(
            experiment, Session(examples, models, None if out is None else Path(out), cache, note, closing)
        )
        if not bench.whole or len(examples) < every:
            made = [replace(row, reference={}) for row in made]
        result = run(
            made,
            examples,
            codec=codec,
            out=out,
            concurrency=(options.get("concurrency") or 32) if any(row.ready for row in made) else 1,
            retry_failed=options.get("retry_failed", False),
            experiment=experiment.name,
            data=said,
            fingerprint=bench.fingerprint,
            resolved=experiment.toml(said, len(examples)),
            baseline=experiment.baseline if experiment.baseline in [row.name for row in made] else None,
            keep=out is None and bench.shows_records,
            ids=bench.ids,
            on_progress=options.get("on_progress"),
            on_note=note,
        )
        lines = [*experiment.table.notes, *_counted(result), *(meter_line(m.meter) for m in models.values())]
    return replace(result, notes=[line for line in lines if line], declared=experiment.declared())


def _with_one_model(experiment: AnyExperiment, name: str) -> AnyExperiment:
    known = experiment.table.models()
    if name not in known:
        told = ", ".join(n for n in known if n) or "none that has a name"
        raise InputError(f"the experiment has no model {name!r}; it has {told}", field="model")
    return experiment.with_models({name: known[name]})


def _models(experiment: AnyExperiment, cache: bool, closing: ExitStack) -> dict[str, Models]:
    """The language models of an experiment by name; empty if no row calls one.

    Raises:
        InputError: an invalid ``[lm]`` table, or a row calls a model and none is given.
    """
    profiles = {
        name: ModelProfiles.read(table, file=experiment.file)
        for name, table in experiment.table.models().items()
    }
    needing = next((row.name for row in experiment.rows if row.spec.needs_model), None)
    if needing is None:
        return {}
    if any(p.default.profile.kind == "none" and not p.stages for p in profiles.values()):
        raise NoModel(f"the row {needing!r}")
    return {name: closing.enter_context(load(p, cache=cache)) for name, p in profiles.items()}


def _counted(result: Run) -> list[str]:
    """Notes to the table."""
    lines = []
    for row in result.rows:
        fallbacks = row.costs.get("datatype_fallback")
        count = 0 if fallbacks is None else int(np.nansum(fallbacks))
        if count:
            lines.append(
                f"{row.name}: {count} queries had no datatype, or one that the taxonomy does not declare, "
                "and searched the full index"
            )
    unasked = sum(
        float(np.nansum(row.costs["judge_failed"])) for row in result.rows if "judge_failed" in row.costs
    )
    if unasked:
        lines.append(
            f"{unasked:,.0f} judgements failed (the judge could not be asked) and count as unjudged; "
            "--retry-failed asks again"
        )
    return lines
