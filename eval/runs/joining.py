"""Join several runs over the same examples, so that their rows are in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...retrievers.errors import InputError
from .outcome import RowResult
from .run import Run


def joined(runs: Sequence[Run]) -> Run:
    """One run with all rows in order, and the first run's examples, baseline and groups.

    Rows of the same name get the name of their run's folder: ``FHS (qwen3-8b)``.

    Raises:
        InputError: no runs, runs over other examples, or rows that cannot be distinguished.
    """
    if not runs:
        raise InputError("there are no runs to join")
    first = runs[0]
    kinds = sorted({run.codec for run in runs})
    if len(kinds) > 1:
        raise InputError(f"the runs are of different kinds: {', '.join(kinds)}")
    ids = {e.id: e.fingerprint() for e in first.examples}
    for run in runs[1:]:
        other = {e.id: e.fingerprint() for e in run.examples}
        if other != ids:
            differ = sum(other.get(i) != x for i, x in ids.items()) + len(other.keys() - ids.keys())
            raise InputError(
                f"is over other examples than {first.folder or 'the first run'}: {differ} differ",
                file=run.folder,
            )
    names = [row.name for run in runs for row in run.rows]
    rows: list[RowResult] = []
    sources: dict[str, tuple[Path, str]] = {}
    baseline: str | None = None
    for run in runs:
        place = {e.id: i for i, e in enumerate(run.examples)}
        order = [place[e.id] for e in first.examples]
        for row in run.rows:
            name = row.name
            if names.count(name) > 1 and run.folder is not None:
                name = f"{name} ({run.folder.name})"
            if name in {r.name for r in rows}:
                raise InputError(f"two runs have a row {name!r}", file=run.folder)
            rows.append(_reordered(row, name, order))
            if run is first and row.name == first.baseline:
                baseline = name
            if run.folder is not None:
                sources[name] = run.sources.get(row.name, (run.folder, row.name))
    experiment = " + ".join(dict.fromkeys(run.experiment for run in runs if run.experiment))
    return Run(
        experiment,
        first.data,
        rows,
        first.examples,
        baseline,
        None,
        0,
        sources,
        first.codec,
        declared=first.declared,
    )


def _reordered(row: RowResult, name: str, order: Sequence[int]) -> RowResult:
    places = list(order)
    return replace(
        row,
        name=name,
        values={m: v[:, places] for m, v in row.values.items()},
        costs={c: v[:, places] for c, v in row.costs.items()},
        seconds=row.seconds[:, places],
        failed=row.failed[:, places],
        done=row.done[:, places],
        began=None if row.began is None else row.began[:, places],
    )
