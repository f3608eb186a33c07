"""A part of a finished run, for a separate table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...data.domains import DOMAINS
from ..runs.run import Run


def parts_apart(run: Run) -> Iterator[Run]:
    """The parts of a run with separate tables in their domain, unless they are the whole run.

    (Clinical facts of tier A, whose relocation is strict.)
    """
    for field, value in dict.fromkeys(pair for d in DOMAINS.values() for pair in d.apart.items()):
        inside = sum(e.groups.get(field) == value for e in run.examples)
        if 0 < inside < len(run.examples):
            yield subset(run, field, value)


def subset(run: Run, field: str, value: str) -> Run:
    """The run on the examples with this value of the group ``field``; its title says so.

    A part has no records and no reference numbers, because these are for the whole run.
    """
    mask = np.array([e.groups.get(field) == value for e in run.examples], dtype=bool)
    rows = [
        replace(
            row,
            values={m: v[:, mask] for m, v in row.values.items()},
            costs={c: v[:, mask] for c, v in row.costs.items()},
            seconds=row.seconds[:, mask],
            failed=row.failed[:, mask],
            done=row.done[:, mask],
            began=None if row.began is None else row.began[:, mask],
            reference={},
            lines=(),
        )
        for row in run.rows
    ]
    examples = [e for e, kept in zip(run.examples, mask, strict=True) if kept]
    return Run(run.experiment, f"{run.data}, {field} {value} alone", rows, examples, run.baseline)
