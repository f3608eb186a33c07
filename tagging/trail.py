"""All that is known of how one fact was tagged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..programs.methods import Parts
    from ..signatures.types import Fact

VOTERS = 10
"""Precedents that the trail of one fact has."""


@dataclass(frozen=True)
class Trail:
    """Everything known about how one fact was tagged.

    Args:
        fact: the fact.
        prediction: the program's ``ranking`` and ``trace``.
        parts: the program's parts.
        program: the row's name.
        gold: the known concept; no method has seen it.
    """

    fact: Fact
    prediction: Any
    parts: Parts
    program: str
    gold: str = ""
