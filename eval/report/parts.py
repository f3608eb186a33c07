"""A part of a finished run, for a table of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...data.domains import DOMAINS
from ..runs.run import Run


def parts_apart(run: Run) -> Iterator[Run]:
    """The parts of a run that a domain shows in a table of their own, where they are not the whole.

    (Clinical facts of tier A, whose relocation is strict.)
    """
    for field, value in dict.fromkeys(pair for d in DOMAINS.values() for pair in d.apart.items()):
        inside = sum(e.groups.get(field) == value for e in run.examples)
        if 0 < inside < len(run.examples):
            yield subset(run, field, value)


def subset(run: Run, field: str, value: str) -> Run:
    """The run on the examples whose group ``field`` has this value; its title says so.

    A part keeps no records of its own and no reference numbers, which are the whole's.
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
