"""What ``abduce eval`` does: data, rows, the runner, the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from ..retrievers.errors import InputError
from ..retrievers.taxonomy import Taxonomy
from ..signatures.tokenize import tok_set
from .analyses import label_length
from .breakdown import failure_table
from .codec import TaxonomyCodec
from .data import DataFolder, domain_named, file_fingerprint
from .experiment import Experiment, load_experiment, resolved_toml
from .progress import progress_bars
from .results import Run
from .rows import Example
from .runner import run
from .session import make_parts, make_rows
from .subset import subset

if TYPE_CHECKING:
    from .lm.models import Models


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
    console: Console | None = None,
) -> Run:
    """Run an experiment by name or path, print its table and return the run.

    Raises:
        InputError: whatever is wrong with the experiment, the data or the run folder.
    """
    console = console or Console()
    notes = Console(stderr=True)
    experiment = load_experiment(name)
    if rows:
        experiment = experiment.only(rows)
    folder = DataFolder.find(data)
    domain = domain_named(experiment.domain)
    split = split or (next(iter(domain.splits)) if folder.bundled else experiment.split)
    bad: list[InputError] | None = [] if skip_bad else None
    examples = folder.facts(domain, split, bad)[:limit]
    said = f"{domain.name} {split}, {len(examples):,} facts, from {folder}"
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
    parts = make_parts(taxonomy, domain, experiment.retriever)
    printed = file_fingerprint(folder.file(domain.name, domain.inventory))
    with models_for(experiment, lm, cache) as models, progress_bars(notes) as on_progress:
        resolved = None if models is None else models.resolved()
        result = run(
            make_rows(experiment, parts, printed, without_addresses(resolved), out),
            examples,
            codec=TaxonomyCodec(),
            out=out,
            concurrency=1 if models is None else concurrency,
            retry_failed=retry_failed,
            experiment=experiment.name,
            data=said,
            fingerprint=printed,
            resolved=resolved_toml(experiment, said, len(examples), resolved),
            baseline=experiment.baseline,
            on_progress=on_progress,
            on_note=lambda line: notes.print(line, markup=False, highlight=False),
        )
    console.print(result.table(intervals=intervals).rich())
    for field, value in domain.apart.items():
        part = subset(result, field, value)
        if 0 < len(part.examples) < len(examples):
            console.print(part.table(intervals=intervals).rich())
    _report_counts(result, console)
    if out is not None:
        console.print(f"Results, traces and summary: {out}", markup=False, highlight=False)
    return result


def with_label_length(example: Example, taxonomy: Taxonomy) -> Example:
    """The example with the length of its gold label among its groups, for breakdowns."""
    tokens = len(tok_set(taxonomy[example.gold].label))
    return replace(example, groups={**example.groups, "gold label length": label_length(tokens)})


def without_addresses(resolved: Any) -> Any:
    """A resolved ``[lm]`` table without servers' addresses: where a model runs decides no result."""
    if isinstance(resolved, Mapping):
        return {k: without_addresses(v) for k, v in resolved.items() if k not in ("base_url", "serve")}
    return resolved


@contextmanager
def models_for(experiment: Experiment, lm: Mapping[str, Any] | None, cache: bool) -> Iterator[Models | None]:
    """The language models that the experiment's rows call, active inside the block; None where none does.

    ``lm`` stands in for the experiment's ``[lm]`` table.

    Raises:
        InputError: a row needs a model and there is none, or the table is wrong.
    """
    needing = [row.name for row in experiment.rows if row.spec.needs_model]
    if not needing:
        yield None
        return
    from .lm import load

    with load(lm if lm is not None else experiment.lm, cache=cache) as models:
        if models.default is None and not models.stages:
            raise InputError(
                f"the row {needing[0]!r} calls a language model and the experiment has none: give it an [lm] "
                "table (kind vllm, openai or llama-cpp), or leave such rows out with --row"
            )
        with models.context():
            yield models


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
