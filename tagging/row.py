"""Which row tags: the one that is named, or the best that the input allows."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ..programs.presets import name_of, scoped, scopes, spec_named
from ..programs.spec import Spec
from ..retrievers.errors import InputError

Scope = Literal["others", "own"]

BEST_VOTE = {"others": "precedents (others), locus", "own": "precedents (own)"}
"""The row that votes where only already-tagged facts and their scope are given: the best on the dev split."""


class Row(NamedTuple):
    """A row: its name, and what it is."""

    name: str
    spec: Spec


def choose_row(program: str | None, scope: Scope | None, given: bool = False) -> Row:
    """The row that tags.

    Args:
        program: its name; None: ``locus``, or the vote of the ``given`` precedents (the row of that scope
            that is best on the dev split).
        scope: whose already-tagged facts it may use; None: as the row has it, ``own`` where none is named.
        given: whether the user gives already-tagged facts.

    Raises:
        InputError: no such program, or precedents or a scope for one that uses none.
    """
    try:
        if program is None and given:
            name = BEST_VOTE[scope or "own"]
            return Row(name, spec_named(name))
        name = program or "locus"
        spec = spec_named(name)
        if (given or scope) and not scopes(spec):
            option = "--precedents" if given else "--precedent-scope"
            raise InputError(f"{option}: the program {name!r} uses no already-tagged facts")
        if scope is None:
            return Row(name, spec)
        changed = scoped(spec, scope)
        return Row(name if changed == spec else name_of(changed) or f"{name} [{scope}]", changed)
    except InputError:
        raise
    except ValueError as e:
        raise InputError(str(e)) from e
