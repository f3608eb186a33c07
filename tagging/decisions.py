"""Decisions on facts, by a person or by votes of a person's decisions; the latest per fact counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from ..retrievers.errors import InputError

State = Literal["open", "suggested", "accepted", "corrected", "rejected"]
"""``open``: nobody has decided (an undone decision is open again). ``suggested``: like ``open``, but what was
decided of other facts suggests another concept. ``rejected``: no concept is right, or the fact is none."""

STATES: tuple[State, ...] = get_args(State)

DECIDED = frozenset({"accepted", "corrected"})
"""The states in which a person stands behind the concept."""

MOST = 10_000
"""Characters of a note."""


@dataclass(frozen=True)
class Decision:
    """The state of one fact.

    Args:
        fact_id: which fact.
        state: one of :data:`STATES`.
        concept: its concept; empty if it is open or rejected.
        note: a remark.
        flag: marked for another look.
        at: when, as ISO 8601; may be empty.
    """

    fact_id: str
    state: State = "open"
    concept: str = ""
    note: str = ""
    flag: bool = False
    at: str = ""

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def of(cls, record: Mapping[str, Any], file: Path | None = None, line: int | None = None) -> Decision:
        """Read one.

        Raises:
            InputError: a missing or unknown field, a wrong type, or an unknown state.
        """

        def wrong(problem: str, field: str) -> InputError:
            return InputError(problem, file=file, line=line, field=field)

        if not isinstance(record, Mapping):
            raise InputError("is no JSON object", file=file, line=line)
        given = dict(record)
        for name in given:
            if name not in cls.__dataclass_fields__:
                raise wrong("is no field of a decision", str(name)[:80])
        for name in ("fact_id", "state", "concept", "note", "at"):
            if not isinstance(given.get(name, ""), str):
                raise wrong("is no text", name)
        if not given.get("fact_id"):
            raise wrong("is missing or empty", "fact_id")
        if not isinstance(given.get("flag", False), bool):
            raise wrong("is neither true nor false", "flag")
        decision = cls(**given)
        if decision.state not in STATES:
            raise wrong(f"{decision.state!r} is none of {', '.join(STATES)}", "state")
        if decision.state in DECIDED and not decision.concept:
            raise wrong(f"is empty, and the state is {decision.state}", "concept")
        if max(len(decision.note), len(decision.concept), len(decision.fact_id)) > MOST:
            raise wrong(f"is longer than {MOST:,} characters", "note")
        return decision


def latest(decisions: Iterable[Decision]) -> dict[str, Decision]:
    """The last decision on each fact."""
    found: dict[str, Decision] = {}
    for decision in decisions:
        found[decision.fact_id] = decision
    return found


def merged(first: Mapping[str, Decision], second: Mapping[str, Decision]) -> dict[str, Decision]:
    """Both, by fact. If both decide a fact, the later one counts, or the second's without times. An open
    state never replaces a decision.
    """
    found = dict(first)
    for fact_id, new in second.items():
        old = found.get(fact_id)
        by_nobody = new.state in ("open", "suggested") and not (new.note or new.flag)
        if old is None or not (old.at > new.at or (by_nobody and old.state not in ("open", "suggested"))):
            found[fact_id] = new
    return found
