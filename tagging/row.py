"""Choose the row that tags: the named one, or the best for the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from ..programs.presets import name_of, scoped, scopes, spec_named
from ..programs.spec import Spec
from ..retrievers.errors import InputError
from ..retrievers.precedents.index import Precedents
from ..signatures.types import Fact

Scope = Literal["others", "own"]

BEST_VOTE: Mapping[Scope, str] = {
    "others": "precedents (others), locus",
    "own": "precedents (own), decisions first",
}
"""The row that tags where only the scope of already-tagged facts is given: the best on the dev split."""

BEST_TRAINED = "trained (others)"
"""The row that tags in scope ``others`` where there is a trained model too."""

TRAINED_CODES = "trained"
"""The same where facts belong to no company."""

BEST_CODES = "precedents + locus"
"""The same where facts belong to no company (clinical mentions)."""

WITHOUT = "locus"
"""The row that tags where there are no already-tagged facts."""


class Row(NamedTuple):
    """A row: its name and its definition."""

    name: str
    spec: Spec


def named_row(program: str | Spec, scope: Scope | None, given: bool = False) -> Row:
    """The row with a name.

    Args:
        program: its name or its definition.
        scope: whose already-tagged facts it may use; None: as the row defines.
        given: whether the user gives already-tagged facts.

    Raises:
        InputError: an unknown program, or precedents or a scope for a program that uses none.
    """
    try:
        spec = spec_named(program) if isinstance(program, str) else program
        program = program if isinstance(program, str) else name_of(program) or program.program
        if (given or scope) and not scopes(spec):
            option = "--precedents" if given else "--precedent-scope"
            raise InputError(f"{option}: the program {program!r} uses no already-tagged facts")
        if scope is None:
            return Row(program, spec)
        changed = scoped(spec, scope)
        return Row(program if changed == spec else name_of(changed) or f"{program} [{scope}]", changed)
    except InputError:
        raise
    except ValueError as e:
        raise InputError(str(e)) from e


def best_row(
    facts: Sequence[Fact],
    index: Precedents | None,
    companies: bool,
    scope: Scope | None,
    given: bool,
    learned: bool = False,
) -> Row:
    """The best available row for facts, if none is named.

    Args:
        facts: the facts to tag.
        index: the already-tagged facts, or None.
        companies: whether facts of the domain belong to companies.
        scope: whose already-tagged facts may be used; None: also the companies' own, if there are any.
        given: whether the user gives already-tagged facts.
        learned: whether there is a trained model.
    """
    if index is None:
        name = WITHOUT
    elif not companies:
        name = TRAINED_CODES if learned else BEST_CODES
    else:
        own = given or any(index.knows(company) for company in {fact.company for fact in facts})
        chosen: Scope = scope or ("own" if own else "others")
        name = BEST_TRAINED if learned and chosen == "others" else BEST_VOTE[chosen]
    return Row(name, spec_named(name))
