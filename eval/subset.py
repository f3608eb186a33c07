"""A part of the examples, before a run or of a finished one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..retrievers.errors import InputError
from .domains import DOMAINS
from .results import Run
from .rows import Example


def restricted(examples: Sequence[Example], where: Mapping[str, str]) -> list[Example]:
    """The examples whose groups have all the values of an experiment's ``where``, in their order.

    Raises:
        InputError: no example has such a group or such a value of it, or none has all of them.
    """
    kept = list(examples)
    for field, value in where.items():
        values = sorted({e.groups[field] for e in examples if field in e.groups})
        if not values:
            known = ", ".join(dict.fromkeys(n for e in examples for n in e.groups)) or "none"
            raise InputError(f"the examples have no such group; there are: {known}", field=f"where.{field}")
        kept = [e for e in kept if e.groups.get(field) == value]
        if value not in values:
            some = ", ".join(values[:10]) + (" ..." if len(values) > 10 else "")
            raise InputError(f"no example has the value {value!r}; there are: {some}", field=f"where.{field}")
    if not kept:
        raise InputError("no example has all of these values", field="where")
    return kept


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
            reference={},
            lines=(),
        )
        for row in run.rows
    ]
    examples = [e for e, kept in zip(run.examples, mask, strict=True) if kept]
    return Run(run.experiment, f"{run.data}, {field} {value} alone", rows, examples, run.baseline)
