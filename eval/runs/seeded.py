"""Run a program with a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Seeded:
    """Runs a program with a seed: its samples use that seed's rollouts."""

    def __init__(self, program: Callable[..., Any], seed: int) -> None:
        self.program, self.seed = program, seed

    def __call__(self, **inputs: Any) -> Any:
        import dspy

        with dspy.context(seed=self.seed):
            return self.program(**inputs)
