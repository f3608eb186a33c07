"""The evaluation harness: statistics, and what the runner adds to each example (processor time)."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from abduce.data.example import Example
from abduce.eval.metrics import RANKING_MEASURES, score_ranking
from abduce.eval.runs.row import Row
from abduce.eval.runs.run import Run
from abduce.eval.runs.runner import run
from abduce.eval.stats import RESAMPLES, ClusterBootstrap

ROWS, FACTS, CONTEXTS, EXAMPLES = 10, 3000, 800, 2144
IDS = [f"SomeConceptOfATaxonomyWithALongName{i}" for i in range(200)]
SCORES = np.random.default_rng(0).random(200)


class Codec:
    """A ranking of 200 with four score components, as a taxonomy row writes it."""

    name = "bench"
    measures = RANKING_MEASURES

    def encode(self, prediction: Any) -> dict[str, Any]:
        parts = dict.fromkeys(("bm25", "bm25_norm", "cov_label", "cov_query"), SCORES)
        return {"ranking": {"ids": prediction, "scores": SCORES, "components": parts}}

    def score(self, record: Mapping[str, Any], gold: Any) -> dict[str, float]:
        return score_ranking(record["ranking"]["ids"], gold)


def measure(data: Path) -> dict[str, Any]:
    """``data`` is not needed."""
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, CONTEXTS, FACTS).tolist()
    values = (rng.random((ROWS, FACTS)) < 0.3).astype(float)

    def statistics() -> None:
        bootstrap = ClusterBootstrap(clusters)
        bootstrap.intervals(values)
        bootstrap.differences(values, values[0])

    examples = [Example(f"e{i}", {"n": i}, IDS[i % 200], f"c{i % 190}") for i in range(EXAMPLES)]
    found: dict[str, Any] = {
        "bootstrap": f"{ROWS} rows x {FACTS} facts, {RESAMPLES} resamples: intervals and differences",
        "bootstrap_seconds": _seconds(statistics),
        "records": EXAMPLES,
    }
    with tempfile.TemporaryDirectory() as folder:
        for concurrency in (1, 8):
            out = Path(folder) / str(concurrency)
            rows = [Row("row", lambda seed: lambda n: IDS)]

            def go(rows: list[Row] = rows, out: Path = out, concurrency: int = concurrency) -> None:
                run(rows, examples, codec=Codec(), out=out, concurrency=concurrency)

            found[f"run_ms_a_record_{concurrency}"] = round(1000 * _seconds(go) / EXAMPLES, 3)
        found["resume_ms_a_record"] = round(1000 * _seconds(go) / EXAMPLES, 3)
        found["load_ms_a_record"] = round(1000 * _seconds(lambda: Run.load(out)) / EXAMPLES, 3)
        size = sum(p.stat().st_size for p in (out / "rows").iterdir())
        found["bytes_a_record"] = size // EXAMPLES
    return found


def _seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return round(time.process_time() - start, 3)
