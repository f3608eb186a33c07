"""What ``abduce eval`` does: data, rows, the runner, the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ...cli.progress import progress_bars
from ...data.example import Example
from ...data.folder import DataFolder, domain_named, file_fingerprint
from ...data.parts import make_parts
from ...lm.profiles import FACT_STAGES
from ...lm.use import meter_line, models_for
from ...retrievers.errors import InputError
from ...retrievers.registry import named
from ...retrievers.taxonomy import Taxonomy
from ...signatures.tokenize import tok_set
from ...tagging.precedents import domain_precedents
from ..report.breakdown import failure_table, label_length
from ..report.parts import parts_apart
from ..runs.run import Run
from ..runs.runner import run
from ..runs.taxonomy_codec import TaxonomyCodec
from .experiment import load_experiment, resolved_toml
from .subset import restricted
from .taxonomy import make_rows


def run_experiment(
    name: str,
    *,
    data: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    rows: Sequence[str] = (),
    out: Path | None = None,
    concurrency: int = 32,
    skip_bad: bool = False,
    retry_failed: bool = False,
    intervals: bool = False,
    lm: Mapping[str, Any] | None = None,
    cache: bool = True,
    retriever: str | None = None,
    console: Console | None = None,
) -> Run:
    """Run an experiment by name or path, print its table and return the run.

    ``cache`` False asks the model every time: no reply is read from or written to the cache. ``retriever``
    is a kind of retriever or an index folder in place of the experiment's ``[retriever]``
    (:func:`abduce.retrievers.registry.named`).

    Raises:
        InputError: whatever is wrong with the experiment, the data or the run folder.
    """
    console = console or Console()
    notes = Console(stderr=True)
    experiment = load_experiment(name)
    if rows:
        experiment = experiment.only(rows)
    if retriever is not None:
        experiment = replace(experiment, retriever=named(retriever))
    folder = DataFolder.find(data)
    domain = domain_named(experiment.domain)
    split = split or (next(iter(domain.splits)) if folder.bundled else experiment.split)
    bad: list[InputError] | None = [] if skip_bad else None
    examples = restricted(folder.facts(domain, split, bad), experiment.where)[:limit]
    alone = "".join(f", {field} {value} alone" for field, value in experiment.where.items())
    said = f"{domain.name} {split}{alone}, {len(examples):,} facts, from {folder}"
    console.print(f"Data: {said}", markup=False, highlight=False)
    for problem in bad or ():
        notes.print(f"skipped: {problem}", markup=False, highlight=False, soft_wrap=True)
    if bad:
        notes.print(f"{len(bad)} bad facts were skipped", markup=False)
    taxonomy = folder.taxonomy(domain)
    unknown = [e for e in examples if e.gold not in taxonomy]
    if unknown:
        raise InputError(
            f"the gold concept {unknown[0].gold!r} of fact {unknown[0].id!r} is not in {taxonomy.name}",
            file=folder.file(domain.name, domain.splits[split]),
            field="gold",
        )
    examples = [with_label_length(e, taxonomy) for e in examples]
    source = domain_precedents(folder, domain)
    source = source.for_facts([e.inputs["fact"] for e in examples]) if source is not None else None
    parts = make_parts(taxonomy, domain, experiment.retriever, precedents=source)
    printed = file_fingerprint(folder.file(domain.name, domain.inventory))
    needing = next((f"the row {row.name!r}" for row in experiment.rows if row.spec.needs_model), None)
    table = experiment.lm if lm is None else lm
    with models_for(table, needing, cache=cache, probe=()) as models, progress_bars(notes) as on_progress:
        identity, ready = None, None
        if models is not None:
            identity = models.identity()
            ready = partial(models.refuse_if_away, FACT_STAGES, str(needing))
            experiment = replace(experiment, lm=models.resolved())
        result = run(
            make_rows(experiment, parts, printed, identity, out, ready),
            examples,
            codec=TaxonomyCodec(),
            out=out,
            concurrency=concurrency if models is not None else 1,
            retry_failed=retry_failed,
            experiment=experiment.name,
            data=said,
            fingerprint=printed,
            resolved=resolved_toml(experiment, said, len(examples)),
            baseline=experiment.baseline,
            on_progress=on_progress,
            on_note=lambda line: notes.print(line, markup=False, highlight=False),
        )
    console.print(result.table(intervals=intervals).rich())
    for part in parts_apart(result):
        console.print(part.table(intervals=intervals).rich())
    _report_counts(result, console)
    if models is not None:
        console.print(meter_line(models.meter), markup=False, highlight=False)
    if out is not None:
        console.print(f"Results, traces and summary: {out}", markup=False, highlight=False)
    return result


def with_label_length(example: Example, taxonomy: Taxonomy) -> Example:
    """The example with the length of its gold label among its groups, for breakdowns."""
    tokens = len(tok_set(taxonomy[example.gold].label))
    return replace(example, groups={**example.groups, "gold label length": label_length(tokens)})


def _report_counts(result: Run, console: Console) -> None:
    """What a reader of the table must know beside it: failures with their reasons, and fall-backs."""
    failures = failure_table(result)
    if failures is not None:
        console.print(failures.rich())
    for row in result.rows:
        fallbacks = row.costs.get("datatype_fallback")
        count = 0 if fallbacks is None else int(np.nansum(fallbacks))
        if count:
            console.print(
                f"{row.name}: {count} queries had no datatype, or one that the taxonomy does not declare, "
                "and searched the full index",
                markup=False,
            )
