"""What ``abduce eval`` does with an experiment of the RAG family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ...asking.judging import Judge
from ...cli.progress import progress_bars
from ...data.corpora import CORPORA, load_corpus
from ...data.example import fingerprint
from ...data.folder import DataFolder, file_fingerprint
from ...data.questions import BUNDLED, LabelledQuestion, named_questions
from ...data.rag_parts import make_rag_parts
from ...retrievers.errors import InputError
from ...retrievers.registry import named
from ..report.questions import question_tables
from ..runs.question_codec import QuestionCodec
from ..runs.run import Run
from ..runs.runner import run
from .questions import make_qa_rows, usable_judges
from .questions_file import QAExperiment, resolved_qa


def run_qa(
    experiment: QAExperiment,
    *,
    data: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    rows: Sequence[str] = (),
    out: Path | None = None,
    concurrency: int = 32,
    skip_bad: bool = False,
    retry_failed: bool = False,
    intervals: bool = False,
    lm: Mapping[str, Any] | None = None,
    cache: bool = True,
    retriever: str | None = None,
    console: Console | None = None,
) -> Run:
    """Run a RAG experiment, print its tables and return the run.

    Args:
        experiment: what to run.
        data: the data folder; the bundled one holds :data:`~abduce.data.questions.BUNDLED` only, and those
            are then asked.
        split: only this question set (a name or a file), in place of the experiment's.
        limit: only the first N questions of each question set.
        rows: only these rows.
        out: the run folder.
        concurrency: questions in flight where a model is called.
        skip_bad: pass over bad questions and count them.
        retry_failed: do questions again that failed in an earlier session.
        intervals: show 95% intervals.
        lm: an ``[lm]`` table in place of the experiment's models.
        cache: read and keep model replies in the cache.
        retriever: a kind of retriever or an index folder in place of the experiment's ``[retriever]``
            (:func:`abduce.retrievers.registry.named`).
        console: where tables go.

    Raises:
        InputError: whatever is wrong with the experiment, the data, the models or the run folder.
    """
    from ...lm import load
    from ...lm.profiles import RAG_STAGES

    console = console or Console()
    notes = Console(stderr=True)

    def note(line: str) -> None:
        notes.print(line, markup=False, highlight=False, soft_wrap=True)

    if rows:
        experiment = experiment.only(rows)
    if lm is not None:
        experiment = replace(experiment, models={"": dict(lm)})
    if retriever is not None:
        experiment = replace(experiment, retriever=named(retriever))
    folder = DataFolder.find(data)
    names = [split] if split else BUNDLED if folder.bundled else experiment.questions
    free = all(getattr(row.spec.resolve(), "open_ended", False) for row in experiment.rows)
    bad: list[InputError] | None = [] if skip_bad else None
    questions = limited(named_questions(folder, names, free, bad), limit)
    for problem in bad or ():
        note(f"skipped: {problem}")
    if bad:
        note(f"{len(bad)} bad questions were skipped")
    said = f"{', '.join(dict.fromkeys(q.dataset for q in questions))}, {len(questions):,} questions"
    said += f", corpus {experiment.corpus}, from {folder}"
    console.print(f"Data: {said}", markup=False, highlight=False)
    corpus = load_corpus(experiment.corpus, folder)
    printed = (
        file_fingerprint(folder.file("qa", CORPORA[experiment.corpus]))
        if experiment.corpus in CORPORA
        else fingerprint([[p.id, p.title, p.content] for p in corpus])
    )
    with ExitStack() as stack:
        calling = any(row.spec.needs_model for row in experiment.rows)
        models = (
            {name: stack.enter_context(load(table, cache=cache)) for name, table in experiment.models.items()}
            if calling
            else {}
        )
        asked: list[tuple[Any, Sequence[str], str]]
        asked = [(m, RAG_STAGES, f"the model {n!r}" if n else "a row") for n, m in models.items()]
        judges = []
        for table in usable_judges(experiment, note):
            served = stack.enter_context(load(table.lm, cache=cache))
            asked.append((served, ("judge",), f"the judge {table.name}"))
            from ...programs.rag.judge import ContextJudge

            judges.append(Judge(table.name, ContextJudge(corpus, served.for_stage("judge")), served.context))
        parts = make_rag_parts(corpus, experiment.retriever, experiment.reranker)

        def ready() -> None:
            for served, stages, who in asked:
                served.refuse_if_away(stages, who)

        made = make_qa_rows(experiment, parts, models, judges, printed, ready)
        with progress_bars(notes) as on_progress:
            result = run(
                made,
                [q.example() for q in questions],
                codec=QuestionCodec(corpus),
                out=out,
                concurrency=concurrency if models or judges else 1,
                retry_failed=retry_failed,
                experiment=experiment.name,
                data=said,
                fingerprint=printed,
                resolved=resolved_qa(experiment, said, len(questions)),
                baseline=experiment.baseline if len(experiment.models) == 1 else None,
                keep=out is None,
                on_progress=on_progress,
                on_note=note,
            )
    console.print(result.table(intervals=intervals).rich())
    for table_ in question_tables(result):
        console.print(table_.rich())
    for line in experiment.notes:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    failed = sum(int(row.failed.sum()) for row in result.rows)
    if failed:
        console.print(f"{failed} results failed and count as wrong; their reasons are in failures.jsonl")
    unasked = sum(
        float(np.nansum(row.costs["judge_failed"])) for row in result.rows if "judge_failed" in row.costs
    )
    if unasked:
        console.print(
            f"{unasked:,.0f} judgements failed (the judge could not be asked) and count as unjudged; "
            "--retry-failed asks again"
        )
    if out is not None:
        console.print(f"Results, traces and summary: {out}", markup=False, highlight=False)
    return result


def limited(questions: Sequence[LabelledQuestion], limit: int | None) -> list[LabelledQuestion]:
    """The first ``limit`` questions of each question set."""
    if limit is None:
        return list(questions)
    seen: dict[str, int] = {}
    kept = []
    for q in questions:
        seen[q.dataset] = seen.get(q.dataset, 0) + 1
        if seen[q.dataset] <= limit:
            kept.append(q)
    if not kept:
        raise InputError("there are no questions to run on")
    return kept
