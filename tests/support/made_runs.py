"""Rows over made examples, for tests of the runner and of run folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from abduce.data.example import Example
from abduce.eval.metrics import RANKING_MEASURES, score_ranking
from abduce.eval.runs.row import Row


class ListCodec:
    """A prediction is a list of ids."""

    name = "list"
    measures = RANKING_MEASURES

    def encode(self, prediction: Any) -> dict[str, Any]:
        return {
            "ranking": {"ids": prediction, "scores": np.arange(len(prediction), 0, -1.0)},
            "cost": {"llm_calls": 2},
        }

    def score(self, record: Mapping[str, Any], gold: Any) -> dict[str, float]:
        return score_ranking(record["ranking"]["ids"], gold)


CODEC = ListCodec()


def examples(n: int = 12) -> list[Example]:
    return [
        Example(f"e{i}", {"n": i}, f"g{i}", f"c{i % 4}", {"kind": "odd" if i % 2 else "even"})
        for i in range(n)
    ]


def row(
    name: str, rank: Callable[[int], int] = lambda n: n % 3 + 1, calls: list[int] | None = None, **more: Any
) -> Row:
    """A row that puts the gold id at ``rank(n)`` and notes each call."""

    def build(seed: int) -> Callable[..., list[str]]:
        def program(n: int) -> list[str]:
            if calls is not None:
                calls.append(n)
            place = rank(n)
            return [f"x{i}" for i in range(1, place)] + [f"g{n}"]

        return program

    return Row(name, build, **more)


def failing(bad: set[int], calls: list[int] | None = None, **more: Any) -> Row:
    def rank(n: int) -> int:
        if n in bad:
            raise RuntimeError(f"no reply\nfor {n}")
        return 1

    return row("shaky", rank, calls, **more)


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
