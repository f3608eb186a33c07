"""Whether to retrieve, and the confidence of the answer, on published answers (no model is called).

The rules are fitted on the file's other data sets (not those of :data:`abduce.data.questions.DATASETS`, which
are test sets) whose questions have as many options. Their inputs are the numbers of other arms in the file
that agree with a model's answers with and without retrieval.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...programs.rag.rule import Rule
from ...retrievers.errors import InputError
from ...tagging.calibration import Acceptance, risk_coverage
from ..fitting import WANTED, fit_rule, sureness
from ..tables import Table, TableCell, Value, p_value
from ..utility import effect
from .published import DATASET_NAMES, NO_RETRIEVAL, PublishedRow, clusters_beside, published_rows

CHOICE = "the answer with retrieval is the right one of two"
CONFIDENCE = "the answer is right"


@dataclass(frozen=True)
class Arms:
    """One question: the answers without and with retrieval, and those of the other arms."""

    row: PublishedRow
    without: str | None
    with_: str | None
    others: Sequence[str]

    @property
    def agree(self) -> bool:
        return self.without is not None and self.without == self.with_

    @property
    def votes(self) -> dict[str, float]:
        """How many other arms give each of the two answers."""
        return {
            "for_retrieval": float(sum(o == self.with_ for o in self.others)),
            "against": float(sum(o == self.without for o in self.others)),
        }

    def support(self, answer: str | None) -> dict[str, float]:
        """The inputs of an answer's confidence: the model's other arm, and the share of the remaining
        arms.
        """
        n = max(len(self.others), 1)
        return {"agree": float(self.agree), "others": sum(o == answer for o in self.others) / n}

    @property
    def told(self) -> bool:
        """Whether the question shows which of the two is better: exactly one is right."""
        return (self.without == self.row.gold) != (self.with_ == self.row.gold)


def choice_tables(path: Path) -> list[Table]:
    """The tables of ``abduce report predictions... --choose``.

    Raises:
        InputError: see :func:`~abduce.eval.report.published.published_rows`; or the file has no test set, or
            only test sets.
        MissingExtra: scikit-learn is not installed.
    """
    rows = published_rows(path)
    clusters = clusters_beside(path)
    names = dict.fromkeys(name for r in rows for name in r.answers)
    chosen: list[list[Value]] = []
    sure: list[list[Value]] = []
    for name in names:
        model, setting = name.rsplit("|", 1)
        if setting == NO_RETRIEVAL:
            continue
        arms = [a for r in rows if (a := _arms(r, model, setting)) is not None]
        sizes = _sizes(arms)
        for dataset in dict.fromkeys(a.row.dataset for a in arms):
            if dataset not in DATASET_NAMES:
                continue
            mine = [a for a in arms if a.row.dataset == dataset]
            known = [a for a in arms if a.row.dataset not in DATASET_NAMES]
            if not known:
                raise InputError("has nothing but test sets: there is nothing to fit on", file=path)
            alike = [a for a in known if sizes[a.row.dataset] == sizes[dataset]] or known
            replay = Replay.of(mine, alike, clusters.get(dataset, {}))
            title = f"{DATASET_NAMES[dataset]} {model}, n={len(mine):,}"
            chosen.append([title, *replay.choice_line()])
            sure.append([title, *replay.confidence_line()])
    if not chosen:
        raise InputError(f"has none of the test sets {', '.join(DATASET_NAMES)}", file=path)
    return [_choice_table(chosen), _confidence_table(sure)]


@dataclass(frozen=True)
class Replay:
    """One model and data set: the chosen answer of each question, and its confidence.

    ``thresholds`` of confidence come from the questions that the rules were fitted on; ``choice`` and
    ``confidence`` are the rules.
    """

    arms: Sequence[Arms]
    clusters: Sequence[str]
    chosen: Sequence[str | None]
    sure: Sequence[float]
    thresholds: Sequence[Acceptance]
    choice: Rule
    confidence: Rule
    alone: Sequence[str | None]
    """The choice from the model's own two answers: where they disagree, that of the arm which is right more
    often on the questions of the fit."""

    @classmethod
    def of(cls, arms: Sequence[Arms], known: Sequence[Arms], groups: Mapping[str, str]) -> Replay:
        """Fit on ``known``, apply to ``arms``; ``groups`` marks questions with the same text."""
        told = [a for a in known if not a.agree and a.told]
        where = ", ".join(dict.fromkeys(a.row.dataset for a in known))
        better = [a.with_ == a.row.gold for a in told]
        choice = fit_rule([a.votes for a in told], better, CHOICE, where)
        picked = [_pick(a, choice) for a in known]
        support = [a.support(answer) for a, answer in zip(known, picked, strict=True)]
        right = [answer == a.row.gold for a, answer in zip(known, picked, strict=True)]
        confidence = fit_rule(support, right, CONFIDENCE, where)
        thresholds = risk_coverage([confidence.probability(s) for s in support], right, WANTED)
        chosen = [_pick(a, choice) for a in arms]
        sure = [confidence.probability(a.support(answer)) for a, answer in zip(arms, chosen, strict=True)]
        clusters = [groups.get(a.row.id, f"\0{a.row.id}") for a in arms]
        retrieved = sum(better) * 2 > len(better)
        alone = [_either(a, retrieved) for a in arms]
        return cls(arms, clusters, chosen, sure, tuple(thresholds), choice, confidence, alone)

    def right(self, answers: Iterable[str | None]) -> list[bool]:
        return [answer == a.row.gold for answer, a in zip(answers, self.arms, strict=True)]

    def choice_line(self) -> Iterator[Value]:
        """Accuracies of both arms, of the choice by the model's own answers and by all arms, and of the
        better of both; and the choice against each arm.
        """
        ours = self.right(self.chosen)
        without, with_ = self.right(a.without for a in self.arms), self.right(a.with_ for a in self.arms)
        bound = [a or b for a, b in zip(without, with_, strict=True)]
        alone = self.right(self.alone)
        yield from (TableCell(float(np.mean(x))) for x in (without, with_, alone, ours, bound))
        for arm in (without, with_):
            found = effect(ours, arm, self.clusters)
            d = found.difference
            yield TableCell(d.mean, low=d.low, high=d.high)
            yield from (found.counts.helped, found.counts.harmed, p_value(found.counts.p))

    def confidence_line(self) -> Iterator[Value]:
        """Accuracy by agreement, calibration, and what can be accepted."""
        right = self.right(self.chosen)
        found = sureness(self.sure, right, self.thresholds)
        yield TableCell(found.accuracy)
        for agree in (True, False):
            inside = [r for r, a in zip(right, self.arms, strict=True) if a.agree is agree]
            yield len(inside)
            yield TableCell(float(np.mean(inside))) if inside else None
        yield TableCell(found.error)
        for applied, best in zip(found.at_threshold, found.accepted, strict=True):
            yield TableCell(applied.coverage)
            yield None if applied.precision is None else TableCell(applied.precision)
            yield TableCell(best.coverage)


def _choice_table(rows: Sequence[Sequence[Value]]) -> Table:
    notes = [
        "chosen: the answer of both arms where they agree, else by a rule over the votes of the other arms.",
        "The rule is fitted on data sets that are not for testing. better of both: either is right, a bound.",
        "own: no other models; where both arms disagree, the answer of the arm that the fit finds better.",
        "helped, harmed: the chosen answer against that arm. Other arms may be those of a stronger model.",
    ]
    columns = ["answers", "without", "with", "own", "chosen", "better of both"]
    for arm in ("without", "with"):
        columns += [f"chosen - {arm}", "helped", "harmed", "p"]
    return Table(columns, rows, title="With or without retrieval, question by question", notes=notes)


def _confidence_table(rows: Sequence[Sequence[Value]]) -> Table:
    columns = ["answers", "Acc", "both agree", "their Acc", "not", "their Acc", "ECE"]
    for wanted in WANTED:
        columns += [f"accepted for {wanted:.2f}", "their Acc", "possible"]
    notes = [
        "Confidence of the chosen answer: whether both arms agree, and which share of the other arms does.",
        "accepted: the share above the threshold that gives this accuracy on the questions of the fit.",
        "possible: the largest share with this accuracy here. What is not accepted is an abstention.",
    ]
    return Table(columns, rows, title="Knowing when it does not know", notes=notes)


def _arms(row: PublishedRow, model: str, setting: str) -> Arms | None:
    own = (f"{model}|{NO_RETRIEVAL}", f"{model}|{setting}")
    if not all(name in row.answers for name in own):
        return None
    others = [a for name, a in row.answers.items() if name not in own and a is not None]
    return Arms(row, row.answers[own[0]], row.answers[own[1]], others)


def _pick(arms: Arms, choice: Rule) -> str | None:
    return _either(arms, not arms.agree and choice.probability(arms.votes) > 0.5)


def _either(arms: Arms, retrieved: bool) -> str | None:
    """One of the two answers; the other where it gave none."""
    if arms.without is None or arms.with_ is None:
        return arms.without or arms.with_
    return arms.with_ if retrieved else arms.without


def _sizes(arms: Sequence[Arms]) -> dict[str, int]:
    """The number of possible answers per data set."""
    golds: dict[str, set[str]] = {}
    for a in arms:
        golds.setdefault(a.row.dataset, set()).add(a.row.gold)
    return {dataset: len(found) for dataset, found in golds.items()}
