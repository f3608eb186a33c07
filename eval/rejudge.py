"""Judge a finished run of questions again with another judge; answers and contexts are unchanged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..asking.judging import Answering, Judge
from ..data.example import Example
from ..data.folder import DataFolder
from ..lm import load
from ..programs.rag.judge import ContextJudge, recorded_evidence
from ..programs.stages import Stage
from ..programs.trace_json import from_json
from ..retrievers.base import Ranking
from ..retrievers.corpus import Corpus
from ..retrievers.errors import InputError
from ..signatures.types import Question
from .report.report import load_run
from .report.sources import find_sources
from .runs.question_codec import QuestionCodec
from .runs.row import Row
from .runs.run import Run
from .runs.runner import OnProgress, run


def rejudge(
    folder: str | Path,
    out: str | Path,
    lm: Mapping[str, Any],
    *,
    name: str = "judge",
    data: str | Path | None = None,
    concurrency: int = 32,
    cache: bool = True,
    on_progress: OnProgress | None = None,
    on_note: Callable[[str], None] | None = None,
) -> Run:
    """Judge every context of a finished run, and write the run with the new judgements to another folder.

    The new judge comes first. The run's first judge is kept second, so that a report shows their agreement.
    Failed examples stay failed. The new folder is resumable.

    Args:
        folder: the folder of a question run.
        out: the new run folder.
        lm: the ``[lm]`` table of the judge.
        name: the judge's name.
        data: the data folder with the run's questions and corpus.
        concurrency: contexts in parallel.
        cache: use the cache for the judge's replies.
        on_progress, on_note: see :func:`abduce.eval.runs.runner.run`.

    Raises:
        InputError: it is not a finished run of questions, its questions or corpus are not in the data folder,
            or the judge cannot be reached.
    """
    if Path(folder).resolve() == Path(out).resolve():
        raise InputError("is the run itself: give another folder", file=Path(out), field="out")
    old = load_run(folder)
    sources = find_sources(old, DataFolder.find(data))
    if old.codec != QuestionCodec.name:
        raise InputError("is no run of questions", file=Path(folder))
    missing = len(old.examples) - len(sources.questions)
    if sources.corpus is None or missing:
        what = "its corpus is" if not missing else f"{missing} of its questions are"
        raise InputError(f"{what} not in the data folder: name it with --data", file=Path(folder))
    corpus: Corpus = sources.corpus
    examples = [
        Example(e.id, {"question": sources.questions[e.id]}, e.gold, e.cluster, e.groups)
        for e in old.examples
    ]
    with load(lm, cache=cache) as models:
        judge = Judge(name, ContextJudge(corpus, models.for_stage(Stage.JUDGE)), models.context)
        ready = partial(models.refuse_if_away, (Stage.JUDGE,), f"the judge {name}")
        rows = [_row(old, row.name, judge, ready) for row in old.rows]
        result = run(
            rows,
            examples,
            codec=QuestionCodec(corpus),
            out=out,
            concurrency=concurrency,
            experiment=old.experiment,
            data=old.data,
            fingerprint=str(Path(folder).resolve()),
            resolved=_resolved(Path(folder)),
            baseline=old.baseline,
            on_progress=on_progress,
            on_note=on_note,
        )
    return replace(result, declared=old.declared)


def _resolved(folder: Path) -> str:
    path = folder / "resolved.toml"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _row(old: Run, name: str, judge: Judge, ready: Callable[[], None]) -> Row:
    row = old[name]
    judged = bool(row.settings.get("judges")) or bool(row.settings.get("retriever"))
    settings = dict(row.settings)
    if judged:
        settings["judges"] = [
            {"name": judge.name, **judge.module.describe()}, *list(row.settings.get("judges", ()))[:1]
        ]  # fmt: skip

    def build(seed: int) -> Answering:
        return _Judging(_Recorded(old, name, seed), seed, [judge] if judged else [])

    return Row(
        name,
        build,
        settings=settings,
        seeds=tuple(row.seeds),
        takes_gold=True,
        ready=ready if judged else None,
        reference=row.reference,
    )


class _Judging(Answering):
    """The new judgement, then the run's first one."""

    def __init__(self, program: _Recorded, seed: int, judges: list[Judge]) -> None:
        super().__init__(program, None, seed, judges)
        self.recorded = program

    def __call__(self, *, question: Question, gold: str = "") -> Any:
        prediction = super().__call__(question=question, gold=gold)
        earlier = self.recorded.judgements(question.question_id)
        if "judges" in prediction.trace.notes:
            prediction.trace.notes["judges"] += earlier[:1]
        return prediction


class _Recorded:
    """A row's predictions, read from its records."""

    def __init__(self, run: Run, row: str, seed: int) -> None:
        self.records = {r["id"]: r for r in run.records(row) if r["seed"] == seed}

    def judgements(self, id_: str) -> list[dict[str, Any]]:
        return list(self.records[id_].get("utility") or ())

    def __call__(self, *, question: Question) -> Any:
        import dspy

        record = self.records.get(question.question_id)
        if record is None:
            raise InputError("was not answered in the run")
        if record["status"] != "ok":
            raise InputError(f"failed in the run: {record['error']['type']}: {record['error']['message']}")
        trace = from_json(record["trace"])
        trace.calls = [call for call in trace.calls if call.stage != Stage.JUDGE]
        for counter in [c for c in trace.counters if c.startswith("judge_")]:
            del trace.counters[counter]
        trace.notes.pop("judges", None)
        return dspy.Prediction(
            answer=record["answer"] or "",
            answer_text=record["answer_text"],
            reasoning="",
            options=record["options"] or dict(question.options),
            context=recorded_evidence(trace.notes),
            ranking=Ranking.of(record["ranking"]["ids"]),
            trace=trace,
        )
