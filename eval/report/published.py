"""Published answers with and without retrieval: helped and harmed without a model
(``predictions_openai``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...data.questions import DATASETS, read_questions
from ...retrievers.errors import InputError
from ...retrievers.files import read_jsonl, require
from ..tables import Table, TableCell, Value, p_value
from ..utility import Effect, effect

NO_RETRIEVAL = "cot"
DATASET_NAMES = {"medqa": "medqa", "mmlu": "mmlu-med"}
"""Names of the file -> names of question sets; others stand as they are."""


@dataclass(frozen=True)
class PublishedRow:
    """One question: ``answers`` by ``model|setting``, None for a missing answer."""

    dataset: str
    id: str
    gold: str
    answers: Mapping[str, str | None]


@dataclass(frozen=True)
class PublishedAnswers:
    """The answers of one model on one data set under two settings, over the same questions.

    ``correct`` and ``baseline`` are 1 if the answer is the gold one; a missing answer is wrong and counted in
    ``missing``.
    """

    dataset: str
    model: str
    setting: str
    ids: Sequence[str]
    correct: Sequence[float]
    baseline: Sequence[float]
    missing: int


def predictions_report(path: Path) -> Table:
    """The table of ``abduce report predictions_openai.jsonl.gz``.

    Question sets in the same folder (MIRAGE's ids with the data set's name in front) show which questions
    have the same text; those are resampled together.

    Raises:
        InputError: see :func:`read_predictions`.
    """
    return predictions_table(read_predictions(path), clusters_beside(path))


def clusters_beside(path: Path) -> dict[str, dict[str, str]]:
    """Data set -> question id -> cluster, from the question sets in the file's folder."""
    found: dict[str, dict[str, str]] = {}
    for dataset, name in DATASET_NAMES.items():
        beside = path.parent / DATASETS[name]
        if beside.is_file():
            questions = read_questions(beside, name)
            found[dataset] = {
                q.question.question_id.removeprefix(f"{dataset}-"): q.cluster for q in questions
            }
    return found


def published_rows(path: str | Path) -> list[PublishedRow]:
    """The questions of a file, in its order.

    A row has ``dataset``, ``id``, ``gold`` and ``pred``: an object ``model|setting`` -> answer or null.

    Raises:
        InputError: names file, line and field: no rows, a missing field, an answer that is neither a text nor
            null, a duplicate id in a data set.
    """
    path = Path(path)
    found: dict[tuple[str, str], PublishedRow] = {}
    for line, row in read_jsonl(path):
        dataset, id_ = require(row, "dataset", path, line), require(row, "id", path, line)
        gold, given = require(row, "gold", path, line), row.get("pred")
        if not isinstance(given, Mapping) or not given:
            raise InputError("must be an object with an answer a setting", file=path, line=line, field="pred")
        for name, answer in given.items():
            if answer is not None and not isinstance(answer, str):
                raise InputError(f"{name}: must be a text or null", file=path, line=line, field="pred")
            if "|" not in name:
                raise InputError(f"{name!r} is not 'model|setting'", file=path, line=line, field="pred")
        if (dataset, id_) in found:
            raise InputError(f"duplicate id {id_!r} in {dataset}", file=path, line=line, field="id")
        found[dataset, id_] = PublishedRow(dataset, id_, gold, given)
    if not found:
        raise InputError("has no answers", file=path)
    return list(found.values())


def read_predictions(path: str | Path) -> list[PublishedAnswers]:
    """Answers by data set, model and setting, in file order. Every other setting is compared with the same
    model's ``cot``.

    Raises:
        InputError: see :func:`published_rows`; or a setting without its ``cot``.
    """
    path = Path(path)
    rows: dict[str, list[PublishedRow]] = {}
    for row in published_rows(path):
        rows.setdefault(row.dataset, []).append(row)
    found = []
    for dataset, questions in rows.items():
        for name in dict.fromkeys(n for q in questions for n in q.answers):
            model, setting = name.rsplit("|", 1)
            if setting != NO_RETRIEVAL:
                found.append(_answers(dataset, model, setting, questions, path))
    return found


def _answers(
    dataset: str,
    model: str,
    setting: str,
    questions: Sequence[PublishedRow],
    path: Path,
) -> PublishedAnswers:
    with_, without = f"{model}|{setting}", f"{model}|{NO_RETRIEVAL}"
    both = {q.id: (q.gold, q.answers) for q in questions if with_ in q.answers and without in q.answers}
    if not both:
        raise InputError(f"{dataset}: {with_} has no {without} to compare with", file=path, field="pred")
    return PublishedAnswers(
        dataset,
        model,
        setting,
        list(both),
        [float(p[with_] == g) for g, p in both.values()],
        [float(p[without] == g) for g, p in both.values()],
        sum((p[with_] is None) + (p[without] is None) for _, p in both.values()),
    )


def predictions_table(
    answers: Sequence[PublishedAnswers], clusters: Mapping[str, Mapping[str, str]] | None = None
) -> Table:
    """Accuracy without and with retrieval, helped and harmed, per data set and model.

    Args:
        answers: from :func:`read_predictions`.
        clusters: data set -> question id -> cluster; questions not in it are separate clusters.
    """
    rows: list[list[Value]] = []
    known = clusters or {}
    settings = list(dict.fromkeys(a.setting for a in answers))
    several = len(settings) > 1
    for a in answers:
        groups = known.get(a.dataset, {})
        found: Effect = effect(a.correct, a.baseline, [groups.get(i, f"\0{i}") for i in a.ids])
        name = " ".join([DATASET_NAMES.get(a.dataset, a.dataset), a.model, *([a.setting] * several)])
        base, accuracy, gain, counts = found.baseline, found.accuracy, found.difference, found.counts
        rows.append(
            [
                f"{name}, n={len(a.ids):,}",
                TableCell(base.mean, low=base.low, high=base.high),
                TableCell(accuracy.mean, low=accuracy.low, high=accuracy.high),
                TableCell(gain.mean, low=gain.low, high=gain.high),
                counts.helped,
                counts.harmed,
                p_value(counts.p),
            ]
        )
    columns = ["answers", "No-RAG", "RAG", "gain", "helped", "harmed", "p"]
    notes = [
        "helped: right only with retrieval; harmed: right only without. p: McNemar's exact test.",
        f"RAG: {', '.join(settings)}. In brackets: 95% intervals.",
        f"{sum(a.missing for a in answers)} answers are missing and count as wrong.",
    ]
    for name, groups in known.items():
        repeats = len(groups) - len(set(groups.values()))
        notes.append(
            f"{DATASET_NAMES.get(name, name)}: {len(groups):,} question texts are known; {repeats} repeat "
            "another and are resampled with it."
        )
    if not known:
        notes.append("No question sets lie beside the file: intervals resample single questions.")
    return Table(columns, rows, title="Published answers with and without retrieval", notes=notes)
