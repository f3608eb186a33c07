"""A part of a run: the same rows on some of its examples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .results import Run


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
            reference={},
            lines=(),
        )
        for row in run.rows
    ]
    examples = [e for e, kept in zip(run.examples, mask, strict=True) if kept]
    return Run(run.experiment, f"{run.data}, {field} {value} alone", rows, examples, run.baseline)
