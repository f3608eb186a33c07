"""Rules fitted on a finished run of questions: which arm to use, and the confidence of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..data.folder import DataFolder
from ..data.questions import DATASETS, TEST_SETS, TUNING_SET, named_questions
from ..programs.rag.either import answer_evidence, disagreement
from ..programs.rag.rule import AnswerRules, Rule
from ..retrievers.errors import InputError
from ..tagging.calibration import Acceptance, risk_coverage
from .fitting import WANTED, Sureness, fit_rule, out_of_fold, sureness
from .report.report import load_run
from .runs.run import Run

CHOICE = "HCQR's answer is the right one of two"
CONFIDENCE = "the answer is right"


@dataclass(frozen=True)
class Against:
    """The chosen answers against one arm: how many are right only in the choice, and only in the arm."""

    helped: int
    harmed: int


@dataclass(frozen=True)
class FittedAnswers:
    """The rules fitted on a run, and their quality out of fold (and on the run to check).

    Attributes:
        rules: the rules, as written to the file.
        title: row, question sets and number of questions.
        sure: quality of the confidence, out of fold.
        checked: the same on the run to check, at the thresholds of the fit; None without one.
        without, with_: the choice against each arm, out of fold; None if no choice was fitted.
    """

    rules: AnswerRules
    title: str
    sure: Sureness
    checked: Sureness | None = None
    without: Against | None = None
    with_: Against | None = None


def fit_answers(
    folder: str | Path, row: str, *, check: str | Path | None = None, data: str | Path | None = None
) -> FittedAnswers:
    """Fit on one row of a finished run.

    The choice is fitted if the row runs two arms and there are at least 20 disagreements in which one arm is
    right. Questions that are also in a test set are left out.

    Args:
        folder: the run folder.
        row: the row in it.
        check: another run folder, with any questions, whose row of that name is checked.
        data: the data folder, which shows the questions that are also in a test set.

    Raises:
        InputError: the run is over a test set, lacks the row or its records, or has too few answers.
    """
    run = load_run(folder)
    names = sorted({e.groups.get("dataset", "") for e in run.examples} & set(TEST_SETS))
    if names:
        raise InputError(
            f"is over the test set {names[0]!r}: nothing is fitted on it; take {TUNING_SET} or your own",
            file=Path(folder),
        )
    answers = _answers(run, row, _overlapping(run, data))
    right = [a.right for a in answers]
    evidence = [answer_evidence(a.answer, a.notes) for a in answers]
    clusters = [a.cluster for a in answers]
    where = f"{run.experiment}: {row}, {run.data}"
    confidence = fit_rule(evidence, right, CONFIDENCE, where)
    unseen = out_of_fold(evidence, right, clusters, CONFIDENCE)
    thresholds = tuple(risk_coverage(unseen, right, WANTED))
    choice, without, with_ = _choice(answers, where)
    rules = AnswerRules(
        row=row,
        choice=choice,
        confidence=confidence,
        thresholds={f"{t.wanted:.2f}": t.threshold for t in thresholds if t.threshold is not None},
    )
    checked = None if check is None else _check(load_run(check), row, confidence, thresholds)
    title = f"{row}, {run.data}: {len(answers):,} answers"
    return FittedAnswers(rules, title, sureness(unseen, right), checked, without, with_)


@dataclass(frozen=True)
class _Answer:
    answer: str
    gold: str
    notes: Mapping[str, Any]
    cluster: str

    @property
    def right(self) -> bool:
        return self.answer == self.gold


def _answers(run: Run, row: str, left_out: frozenset[str] = frozenset()) -> list[_Answer]:
    examples = {e.id: e for e in run.examples}
    found = []
    for record in run.records(row):
        example = examples[record["id"]]
        if record.get("answer") is not None and example.id not in left_out:
            notes = record["trace"]["notes"]
            found.append(_Answer(record["answer"], example.gold, notes, example.cluster or example.id))
    return found


def _overlapping(run: Run, data: str | Path | None) -> frozenset[str]:
    """Ids of the run's questions that are also in a test set."""
    names = {e.groups.get("dataset", "") for e in run.examples} & DATASETS.keys()
    questions = named_questions(DataFolder.find(data), sorted(names)) if names else []
    return frozenset(q.question.question_id for q in questions if q.overlaps_test)


def _choice(answers: Sequence[_Answer], where: str) -> tuple[Rule | None, Against | None, Against | None]:
    split = [(a, c) for a in answers if (c := disagreement(a.notes)) is not None]
    told = [(a, c) for a, c in split if (c["with"] == a.gold) != (c["without"] == a.gold)]
    better = [c["with"] == a.gold for a, c in told]
    if len(told) < 20 or len(set(better)) < 2:
        return None, None, None
    left = [c["left"] for _, c in told]
    unseen = out_of_fold(left, better, [a.cluster for a, _ in told], CHOICE)
    helped = {"with": 0, "without": 0}
    harmed = {"with": 0, "without": 0}
    for probability, retrieval_is_right in zip(unseen, better, strict=True):
        takes = probability > 0.5
        other = "without" if takes else "with"
        if takes == retrieval_is_right:
            helped[other] += 1
        else:
            harmed[other] += 1
    against = {arm: Against(helped[arm], harmed[arm]) for arm in helped}
    return fit_rule(left, better, CHOICE, where), against["without"], against["with"]


def _check(run: Run, row: str, confidence: Rule, thresholds: Sequence[Acceptance]) -> Sureness:
    answers = _answers(run, row)
    sure = [confidence.probability(answer_evidence(a.answer, a.notes)) for a in answers]
    return sureness(sure, [a.right for a in answers], thresholds)
