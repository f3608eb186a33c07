"""Run rows over examples: in parallel, resumably, and with every failure recorded.

The unit of work is (row, seed, example). Programs run in worker threads; only this module's thread writes. An
example's exception is a result: status ``failed``, every measure 0. Only an error that affects every example
(no model) ends the run.
"""

from __future__ import annotations

import contextvars
import queue
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...data.example import Example
from ...data.kept import Chosen
from ...programs.trace import Trace
from ...retrievers.errors import InputError, describe
from .describe_run import describe_run
from .folder import RunFolder, file_name
from .log import RunLog, dumps, readable, write_line
from .names import write_names
from .outcome import Outcome, Outcomes, read_outcome
from .row import Codec, Program, Progress, Row
from .run import Run

OnProgress = Callable[[Progress], None]


@dataclass
class _Work:
    """One row's state: what is known of each (seed, example) and, with a folder, its log."""

    row: Row
    key: str
    outcomes: Outcomes
    log: RunLog | None = None
    lines: list[bytes] = field(default_factory=list)


@dataclass(frozen=True)
class _Task:
    work: _Work
    seed: int
    place: int
    example: Example
    version: str
    program: Program


@dataclass(frozen=True)
class _Done:
    task: _Task
    outcome: Outcome
    line: bytes


def run(
    rows: Sequence[Row],
    examples: Sequence[Example],
    *,
    codec: Codec,
    out: str | Path | None = None,
    concurrency: int = 1,
    retry_failed: bool = False,
    experiment: str = "",
    data: str = "",
    fingerprint: str = "",
    resolved: str = "",
    baseline: str | None = None,
    keep: bool = False,
    ids: Sequence[str] = (),
    on_progress: OnProgress | None = None,
    on_note: Callable[[str], None] | None = None,
) -> Run:
    """Run every row on every example and return the results.

    With ``out``, each finished example is on disk at once. After a crash, a kill or Ctrl-C, the same call
    continues and ends with the same ``summary.json``.

    Args:
        rows: the systems; names must be unique.
        examples: the facts or questions; ids must be unique.
        codec: how this family's predictions are recorded and scored.
        out: the run folder (see :mod:`abduce.eval.runs.folder`); None keeps everything in memory.
        concurrency: examples in parallel, at least 1. With 1 everything runs in this thread.
        retry_failed: run examples again that failed, are incomplete (their judge could not be asked), or fell
            back because a reply was unusable. If an incomplete one now fails, the old result stays.
        experiment: the experiment's name, for the summary.
        data: the examples' name, for the summary ("finance test").
        fingerprint: covers everything that all examples share and no row's settings name.
        resolved: the text of ``resolved.toml``.
        baseline: the row that others are compared with.
        keep: keep whole records without ``out``, so that :meth:`Run.records` can return them.
        ids: ids of the inventory or corpus; records refer to them by number.
        on_progress: called in this thread, at the start and after each example.
        on_note: called with one line per note (repaired file, changed settings).

    Raises:
        InputError: no rows or examples, a duplicate name or id, an unusable folder (locked, of another
            version, read-only, damaged), a full disk. Finished examples are kept.
    """
    _check(rows, examples, concurrency, baseline)
    note = on_note or (lambda _: None)
    with ExitStack() as stack:
        folder = RunFolder(out) if out is not None else None
        if folder is not None:
            stack.enter_context(folder.locked())
        works = []
        table = write_names(folder.path, ids) if folder is not None else ""
        for row in rows:
            work = _Work(row, row.key(fingerprint), Outcomes(row.seeds, examples))
            if folder is not None:
                work.log = _open_log(work, folder, fingerprint, table, note)
                stack.callback(work.log.close)
                _resume(work, work.log, examples, codec)
            works.append(work)
        if folder is not None:
            names = {"experiment": experiment, "data": data, "baseline": baseline}
            about_rows = [(work.row, work.key) for work in works]
            describe_run(folder, about_rows, examples, codec, names, resolved)
            folder.write_failures(_failures(works))
        session = _Session(works, examples, codec, retry_failed, keep, folder, on_progress)
        session.run(concurrency)
        results = [
            w.outcomes.result(w.row.name, codec.measures, w.row.reference, w.row.settings, w.lines)
            for w in works
        ]
        where = folder.path if folder is not None else None
        found = Run(experiment, data, results, examples, baseline, where, session.resumed, codec=codec.name)
        if folder is not None:
            folder.write_failures(_failures(works))
            folder.write_json("summary.json", found.summary())
        return found


def _check(rows: Sequence[Row], examples: Sequence[Example], concurrency: int, baseline: str | None) -> None:
    if not rows:
        raise InputError("there are no rows to run")
    if not examples:
        raise InputError("there are no examples to run on")
    if concurrency < 1:
        raise InputError(f"must be at least 1, not {concurrency}", field="concurrency")
    names = [row.name for row in rows]
    files = [file_name(name).lower() for name in names]
    for what, values in (("row", names), ("row file", files), ("example", (e.id for e in examples))):
        twice = next(_repeated(values), None)
        if twice is not None:
            raise InputError(f"duplicate {what} {twice!r}")
    for row in rows:
        if not row.seeds or len(set(row.seeds)) != len(row.seeds):
            raise InputError(f"row {row.name!r} needs at least one seed, no duplicate seed", field="seeds")
    if baseline is not None and baseline not in names:
        raise InputError(
            f"the baseline {baseline!r} is none of the rows {', '.join(names)}", field="baseline"
        )


def _repeated(values: Iterable[str]) -> Iterator[str]:
    seen: set[int] = set()  # of hashes: 100,000 ids are 6 MB
    for value in values:
        if hash(value) in seen:
            yield value
        seen.add(hash(value))


def _open_log(
    work: _Work, folder: RunFolder, fingerprint: str, ids: str, note: Callable[[str], None]
) -> RunLog:
    log, changed = folder.open_log(work.row.name, work.key, work.row.identity(fingerprint), ids)
    if changed:
        note(changed)
    if log.repaired:
        note(f"{work.row.name}: a half-written last line was cut off; its example is done again")
    return log


def _resume(work: _Work, log: RunLog, examples: Sequence[Example], codec: Codec) -> None:
    """Take over finished examples of earlier sessions; the latest line of an example counts."""
    places: dict[str, int] = {}
    with readable(log.path):
        for record in log.records():
            places = places or {e.id: i for i, e in enumerate(examples)}
            place = places.get(record["id"])
            if place is None or record["seed"] not in work.row.seeds:
                continue
            example = examples[place]
            if example.fingerprint() == record["x"]:
                work.outcomes.put(record["seed"], place, read_outcome(record, example.gold, codec))


class _Session:
    """The work of one call of :func:`run`."""

    def __init__(
        self,
        works: Sequence[_Work],
        examples: Sequence[Example],
        codec: Codec,
        retry_failed: bool,
        keep: bool,
        folder: RunFolder | None,
        on_progress: OnProgress | None,
    ) -> None:
        self.works, self.examples = works, examples
        self.codec, self.retry_failed, self.keep, self.folder = codec, retry_failed, keep, folder
        self.on_progress = on_progress
        self.left = [sum(len(self._todo(w, seed)) for seed in w.row.seeds) for w in works]
        self.total = sum(len(w.row.seeds) for w in works) * len(examples)
        self.resumed = self.done = self.total - sum(self.left)
        self.failed = 0 if retry_failed else sum(len(w.outcomes.errors) for w in works)
        self.calls = 0

    def _todo(self, work: _Work, seed: int) -> Sequence[int]:
        return work.outcomes.todo(seed, self.retry_failed)

    def _tasks(self) -> Iterator[_Task]:
        for work in self.works:
            for seed in work.row.seeds:
                todo = self._todo(work, seed)
                program = work.row.build(seed) if len(todo) else None
                if len(todo) and work.row.warm is not None:
                    work.row.warm(Chosen(self.examples, todo))
                for place in todo:
                    assert program is not None
                    example = self.examples[place]
                    yield _Task(work, seed, int(place), example, example.fingerprint(), program)

    def run(self, concurrency: int) -> None:
        for ready in dict.fromkeys(w.row.ready for w, n in zip(self.works, self.left, strict=True) if n):
            if ready is not None:
                ready()
        self._report(self.works[0], self.works[0].row.seeds[0])
        if concurrency == 1:
            for task in self._tasks():
                self._finish(self._attempt(task))
        else:
            self._run_threads(concurrency)

    def _run_threads(self, concurrency: int) -> None:
        finished: queue.SimpleQueue[_Done | BaseException] = queue.SimpleQueue()

        def attempt(task: _Task) -> None:
            try:
                finished.put(self._attempt(task))
            except BaseException as e:  # noqa: BLE001  (handed to the thread that waits for it)
                finished.put(e)

        def take() -> None:
            done = finished.get()
            if isinstance(done, BaseException):
                raise done
            self._finish(done)

        pool = ThreadPoolExecutor(concurrency, thread_name_prefix="abduce-run")
        waiting = 0
        try:
            for task in self._tasks():
                pool.submit(contextvars.copy_context().run, attempt, task)
                waiting += 1
                while waiting >= 2 * concurrency or (waiting and not finished.empty()):
                    take()
                    waiting -= 1
            for _ in range(waiting):
                take()
        except KeyboardInterrupt:
            while not finished.empty():
                take()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _attempt(self, task: _Task) -> _Done:
        """Run one example in a worker thread; any exception becomes its record."""
        example, started = task.example, time.perf_counter()
        inputs = dict(example.inputs)
        if task.work.row.takes_gold:
            inputs["gold"] = example.gold
        began = round(time.time(), 3)
        record: dict[str, Any] = {"id": example.id, "seed": task.seed, "x": task.version, "began": began}
        try:
            prediction = task.program(**inputs)
            body = self.codec.encode(prediction)
            lost = isinstance(trace := getattr(prediction, "trace", None), Trace) and trace.lost_replies
            seconds = time.perf_counter() - started
            metrics = self.codec.score(body, example.gold)
            record |= {"status": "ok", "metrics": metrics, "seconds": round(seconds, 6)}
            if lost:
                record["lost"] = True
            line = self._line(task, record | body)
            incomplete = bool(body.get("incomplete", False))
            cost = body.get("cost", {})
            return _Done(task, Outcome(metrics, cost, seconds, None, incomplete, began, lost), line)
        except Exception as e:  # (one example's failure must never end the run)
            if isinstance(e, InputError) and e.of_every_example:
                raise
            seconds = time.perf_counter() - started
            reason = describe(e)
            record |= {"status": "failed", "metrics": {}, "seconds": round(seconds, 6), "error": reason}
            return _Done(task, Outcome({}, {}, seconds, reason, began=began), self._line(task, record))

    def _line(self, task: _Task, record: Mapping[str, Any]) -> bytes:
        """Store the record in the row's file, in memory, or not at all."""
        if task.work.log is not None:
            return write_line(record, task.work.log.names)
        return dumps(record) if self.keep else b""

    def _finish(self, done: _Done) -> None:
        task, outcome = done.task, done.outcome
        work = task.work
        known, at = work.outcomes, (task.seed, task.place)
        if outcome.error is not None and known.is_done(*at) and at not in known.errors:
            self._count(task, None)  # it was to be completed, and what there is stays
            return
        if work.log is not None and self.folder is not None:
            work.log.append(done.line)
            if outcome.error is not None:
                self.folder.note_failure(work.row.name, task.seed, task.example.id, outcome.error)
        elif self.keep:
            work.lines.append(done.line)
        work.outcomes.put(task.seed, task.place, outcome)
        self._count(task, outcome)

    def _count(self, task: _Task, outcome: Outcome | None) -> None:
        self.done += 1
        self.left[self.works.index(task.work)] -= 1
        if outcome is not None:
            self.failed += outcome.error is not None
            self.calls += int(outcome.cost.get("llm_calls", 0))
        self._report(task.work, task.seed)

    def _report(self, work: _Work, seed: int) -> None:
        if self.on_progress is not None:
            finished = sum(n == 0 for n in self.left)
            self.on_progress(
                Progress(
                    work.row.name,
                    seed,
                    finished,
                    len(self.works),
                    self.done,
                    self.total,
                    self.resumed,
                    self.failed,
                    self.calls,
                )
            )


def _failures(works: Sequence[_Work]) -> Iterator[bytes]:
    """One line per example that failed and has not succeeded since, in run order."""
    for work in works:
        for seed, id_, error in work.outcomes.failures():
            yield dumps({"row": work.row.name, "seed": seed, "id": id_, **error})
