"""A program called under a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Seeded:
    """A program called under a seed: its samples take the rollouts of that seed."""

    def __init__(self, program: Callable[..., Any], seed: int) -> None:
        self.program, self.seed = program, seed

    def __call__(self, **inputs: Any) -> Any:
        import dspy

        with dspy.context(seed=self.seed):
            return self.program(**inputs)
