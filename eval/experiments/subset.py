"""A part of the examples, before a run or of a finished one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...data.example import Example
from ...retrievers.errors import InputError


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
