"""Logged traces for rows that replay another row: from this run's memory, its folder, or another run."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...programs.trace import Trace
from ...programs.trace_json import from_json
from ...retrievers.errors import InputError
from ...signatures.types import Fact
from .folder import RunFolder
from .log import read_lines

WAIT = 3600.0
"""Seconds that a replay waits for a row that is still running."""


class TraceLog:
    """The traces of one row under one seed, by fact id.

    A row of this session adds its traces; earlier results are read from the run folder. A replay waits if its
    fact is not done yet: the replayed row comes earlier, so its work has started.
    """

    def __init__(self) -> None:
        self._traces: dict[str, Trace | None] = {}
        self._changed = threading.Condition()
        self.running = False

    def put(self, id_: str, trace: Trace | None) -> None:
        """Log a trace; None: the row failed on this fact."""
        with self._changed:
            self._traces[id_] = trace
            self._changed.notify_all()

    def __call__(self, fact: Fact) -> Trace:
        """The trace of a fact.

        Raises:
            LookupError: the row failed on the fact, or has no trace of it.
        """
        with self._changed:
            if self.running:
                self._changed.wait_for(lambda: fact.fact_id in self._traces, WAIT)
            trace = self._traces.get(fact.fact_id)
        if trace is None:
            raise LookupError(f"the replayed row has no result for {fact.fact_id!r}")
        return trace


class Recorded:
    """A program whose traces are logged."""

    def __init__(self, program: Callable[..., Any], log: TraceLog) -> None:
        self.program, self.log = program, log
        log.running = True

    def __call__(self, **inputs: Any) -> Any:
        try:
            prediction = self.program(**inputs)
        except BaseException:
            self.log.put(inputs["fact"].fact_id, None)
            raise
        self.log.put(inputs["fact"].fact_id, prediction.trace)
        return prediction


class Logs:
    """The logs of an experiment's rows, by row and seed.

    Args:
        folder: this run's folder, or None.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._logs: dict[tuple[str, int], TraceLog] = {}

    def of(self, row: str, seed: int) -> TraceLog:
        """The log of a row of this run, with the results already in its folder."""
        key = (row, seed)
        if key not in self._logs:
            self._logs[key] = TraceLog()
            if self.folder is not None:
                _fill(self._logs[key], self.folder, row, seed)
        return self._logs[key]

    def has(self, row: str) -> bool:
        """Whether the run folder already has results of a row."""
        return self.folder is not None and RunFolder(self.folder).row_path(row).exists()

    def named(self, name: str, seed: int) -> TraceLog:
        """The log of ``ROW``, or of ``FOLDER:ROW`` of an earlier run.

        Raises:
            InputError: that run has no such row.
        """
        folder, colon, row = name.rpartition(":")
        if not colon or not os.path.isdir(folder):
            return self.of(name, seed)
        log = TraceLog()
        if not _fill(log, Path(folder), row, seed):
            raise InputError(f"has no results of a row {row!r} under seed {seed}", file=folder)
        return log


def _fill(log: TraceLog, folder: Path, row: str, seed: int) -> int:
    """Add a run folder's traces of a row to a log; returns their number."""
    path = RunFolder(folder).row_path(row)
    if not path.exists():
        return 0
    count = 0
    for record in itertools.islice(read_lines(path), 1, None):
        if record["seed"] == seed and record["status"] == "ok":
            log.put(record["id"], trace_of(record))
            count += 1
    return count


def trace_of(record: Mapping[str, Any]) -> Trace:
    """The whole trace of a run record, with its final ranking."""
    trace = record["trace"]
    ids: list[str] = list(trace["ids"])
    places = {id_: i for i, id_ in enumerate(ids)}
    ranking = record["ranking"]
    for id_ in ranking["ids"]:
        if id_ not in places:
            places[id_] = len(ids)
            ids.append(id_)
    final = {**ranking, "ids": [places[i] for i in ranking["ids"]]}
    return from_json({**trace, "ids": ids, "final": final})
