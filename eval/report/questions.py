"""The analyses of a question run, as tables (HCQR paper: Tables 1 to 12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from ...retrievers.errors import InputError
from ...signatures.types import UtilityLabel
from ..runs.outcome import RowResult
from ..runs.question_codec import GOLD_TOKENS, LABEL_MEASURES
from ..runs.run import Run
from ..stats import paired_counts
from ..tables import Table, TableCell, Value, p_value
from ..utility import Labels, agreement, effect, label_shares, macro, subset_gains
from .cells import CellOf, Mask, cells_of, counterpart, method_of
from .trends import trend_table

UNJUDGED_NOTE = (
    "Shares are of all questions; unjudged: no valid label, or the question failed. All add up to 1."
)


def question_tables(run: Run) -> Iterator[Table]:
    """The additional tables of ``abduce report`` for a question run.

    Gains are over the methods that the experiment declares as ``no_rag`` and ``baseline``; by default the
    method without retrieval and Simple RAG.
    """
    cells = cells_of(run)
    several = len({(c.dataset, c.identity) for c in cells}) > 1
    for measure, title in (
        ("Acc", "Accuracy"),
        ("DUR", "Decision-useful rate"),
        (GOLD_TOKENS, "Gold tokens"),
    ):
        if several and measure in run.measures:
            yield cell_table(cells, measure, f"{title} by question set and model")
    judged = [c for c in cells if c.judged]
    if judged:
        yield label_table(judged, _given(run))
        yield average_label_table(judged)
    clusters = [e.cluster or f"\0{e.id}" for e in run.examples]
    base = run.declared.get("no_rag") or method_of(cells, "No-RAG (CoT)")
    answered = [c for c in cells if "Acc" in c.row.values]
    if base is not None:
        yield effect_table(answered, base, clusters)
        if judged:
            yield gain_table(judged, answered, base, clusters)
    compared = run.declared.get("baseline") or method_of(cells, "Simple RAG")
    over = [method for method in (base, compared) if method is not None]
    if over and several and answered:
        yield headline_table(answered, list(dict.fromkeys(over)))
    if (left := hypothesis_table(run)) is not None:
        yield left
    if (chosen := choice_table(run)) is not None:
        yield chosen
    if (trends := trend_table(cells)) is not None:
        yield trends
    yield from judge_tables(run)


def cell_table(cells: Sequence[CellOf], measure: str, title: str) -> Table:
    """Methods by (question set, model), with the unweighted average per question set and over all cells. A
    method that calls no model is in every model's column.
    """
    shown = [c for c in cells if measure in c.row.values]
    methods = list(dict.fromkeys(c.method for c in shown))
    datasets = list(dict.fromkeys(c.dataset for c in cells))
    models = {c.identity: c.model for c in shown if c.identity} or {"": ""}
    mean = {(c.method, c.identity, c.dataset): c.mean(measure) for c in shown}
    rows: list[list[Value]] = []
    nan = float("nan")
    for method in methods:
        line: list[Value] = [method]
        every = []
        for dataset in datasets:
            found = [mean.get((method, m, dataset), mean.get((method, "", dataset), nan)) for m in models]
            every += found
            line += [TableCell(v) for v in found]
            if len(models) > 1:
                line.append(TableCell(macro(found)))
        rows.append([*line, TableCell(macro(every))] if len(datasets) > 1 else line)
    columns = ["row"]
    for dataset in datasets:
        columns += [f"{dataset} {m}".strip() for m in models.values()]
        columns += [f"{dataset} avg."] if len(models) > 1 else []
    return Table([*columns, "avg."] if len(datasets) > 1 else columns, rows, title=title)


def label_table(judged: Sequence[CellOf], given: Mapping[str, Counter[str]]) -> Table:
    """Entailed, Useful, Not Useful, unjudged and DUR of every cell, and DUR by the judge's own labels (before
    taking the lower of label and selected option).

    Args:
        judged: cells whose contexts were judged.
        given: per row, how often the judge itself gave each label, over all question sets and seeds.
    """
    rows: list[list[Value]] = []
    for c in judged:
        shares = label_shares(c.labels())
        line: list[Value] = [c.name, shares.n]
        line += [TableCell(shares.share(label)) for label in UtilityLabel]
        rows.append([*line, TableCell(shares.unjudged_share), TableCell(shares.dur)])
    notes = [UNJUDGED_NOTE]
    for row, counts in given.items():
        told = ", ".join(f"{label} {counts[str(label)]}" for label in UtilityLabel)
        lowered = counts["lowered"]
        if lowered:
            notes.append(f"{row}: {lowered} labels were lowered; as the judge gave them: {told}.")
    columns = ["context", "n", *(str(label) for label in LABEL_MEASURES), "unjudged", "DUR"]
    return Table(columns, rows, title="Context utility", notes=notes)


def average_label_table(judged: Sequence[CellOf]) -> Table:
    """A row per method: the shares averaged over cells, and by question set over models (Tables 3, 11)."""
    methods = list(dict.fromkeys(c.method for c in judged))
    datasets = list(dict.fromkeys(c.dataset for c in judged))
    rows: list[list[Value]] = []
    for method in methods:
        for dataset in [None, *datasets] if len(datasets) > 1 else [None]:
            inside = [c for c in judged if c.method == method and dataset in (None, c.dataset)]
            shares = [label_shares(c.labels()) for c in inside]
            line: list[Value] = [method if dataset is None else f"  {dataset}", len(inside)]
            line += [TableCell(macro([s.share(label) for s in shares])) for label in UtilityLabel]
            line += [
                TableCell(macro([s.unjudged_share for s in shares])),
                TableCell(macro([s.dur for s in shares])),
            ]
            rows.append(line)
    columns = ["row", "cells", *(str(label) for label in LABEL_MEASURES), "unjudged", "DUR"]
    return Table(columns, rows, title="Context utility, averaged over cells", notes=[UNJUDGED_NOTE])


def effect_table(cells: Sequence[CellOf], no_rag: str, clusters: Sequence[Hashable]) -> Table:
    """Every method against No-RAG with the same model: helped, harmed, McNemar's exact test."""
    rows: list[list[Value]] = []
    for c in cells:
        base = counterpart(c, cells, no_rag)
        if base is None or base.row is c.row:
            continue
        found = effect(c.right(), base.right(), _some(clusters, c.mask))
        d, counts = found.difference, found.counts
        rows.append(
            [
                c.name, TableCell(found.baseline.mean), TableCell(found.accuracy.mean),
                TableCell(d.mean, low=d.low, high=d.high), counts.helped, counts.harmed, p_value(counts.p),
            ]
        )  # fmt: skip
    columns = ["row", no_rag, "Acc", "difference", "helped", "harmed", "p"]
    notes = [
        "helped: right with the method, wrong without retrieval; harmed: the other way round. First seed.",
        "p: McNemar's exact test. In brackets: 95% intervals, resampling questions with the same text.",
    ]
    return Table(columns, rows, title=f"Helped and harmed against {no_rag}", notes=notes)


def headline_table(cells: Sequence[CellOf], over: Sequence[str]) -> Table:
    """Gains in accuracy over each method of ``over`` with the same model, averaged over models."""
    methods = list(dict.fromkeys(c.method for c in cells))
    datasets = list(dict.fromkeys(c.dataset for c in cells))
    rows: list[list[Value]] = []
    for method in methods:
        line: list[Value] = [method]
        for base in over:
            for dataset in datasets:
                gains = []
                for c in cells:
                    if (c.method, c.dataset) == (method, dataset):
                        other = counterpart(c, cells, base)
                        if other is not None and other.row is not c.row:
                            gains.append(c.mean("Acc") - other.mean("Acc"))
                line.append(TableCell(macro(gains)) if gains else None)
        rows.append(line)
    columns = ["row", *(f"{d} over {base}".strip() for base in over for d in datasets)]
    return Table(columns, rows, title="Gains in accuracy, averaged over models")


def gain_table(
    judged: Sequence[CellOf], cells: Sequence[CellOf], no_rag: str, clusters: Sequence[Hashable]
) -> Table:
    """Accuracy and gain over No-RAG on the same questions, by label; below, averages over all cells."""
    rows: list[list[Value]] = []
    every: dict[UtilityLabel, list[tuple[float, float]]] = {label: [] for label in UtilityLabel}
    for c in judged:
        base = counterpart(c, cells, no_rag)
        if base is None or base.row is c.row or "Acc" not in c.row.values:
            continue
        line: list[Value] = [c.name]
        for g in subset_gains(c.right(), base.right(), c.labels(), _some(clusters, c.mask)):
            line += [
                g.n,
                TableCell(g.accuracy.mean),
                TableCell(g.gain.mean, low=g.gain.low, high=g.gain.high),
            ]
            every[g.label].append((g.accuracy.mean, g.gain.mean))
        rows.append(line)
    if len(rows) > 1:
        line = ["average of cells"]
        for pairs in every.values():
            line += [None, TableCell(macro([a for a, _ in pairs])), TableCell(macro([b for _, b in pairs]))]
        rows.append(line)
    columns = ["row"]
    for label in LABEL_MEASURES:
        columns += [f"{label} n", "Acc", "gain"]
    return Table(columns, rows, title=f"Accuracy by label, and same-subset gain over {no_rag}")


def hypothesis_table(run: Run) -> Table | None:
    """How often the answer leaves the working hypothesis, and how often rightly (paper: Appendix, worked
    example).

    None if no row has a hypothesis, or the run has no records.
    """
    gold = {e.id: e.gold for e in run.examples}
    rows: list[list[Value]] = []
    for row in run.rows:
        kept, kept_right, left = 0, 0, Counter[str]()
        for record in _records(run, row):
            key = (record.get("plan") or {}).get("hypothesis_key")
            if key is None or not record.get("answer"):
                continue
            right = record["answer"] == gold[record["id"]]
            if record["answer"] == key:
                kept, kept_right = kept + 1, kept_right + right
            else:
                left["right" if right else "was right" if key == gold[record["id"]] else "neither"] += 1
        if n := kept + left.total():
            shares = [TableCell(kept_right / kept) if kept else None, TableCell(left.total() / n)]
            rows.append([row.name, n, *shares, *(left[k] for k in ("right", "was right", "neither"))])
    if not rows:
        return None
    columns = ["row", "n", "kept: Acc", "left", "rightly", "wrongly", "both wrong"]
    notes = [
        "n: answers whose working hypothesis is an option. left: the answer is another option than the",
        "hypothesis; rightly: the answer is right; wrongly: the hypothesis was.",
    ]
    return Table(columns, rows, title="Working hypothesis and answer", notes=notes)


def choice_table(run: Run) -> Table | None:
    """Rows that choose between an answer with and one without retrieval, against each of the two.

    None if no row does, or the run has no records.
    """
    gold = {e.id: e.gold for e in run.examples}
    rows: list[list[Value]] = []
    for row in run.rows:
        chosen, arms = [], {"without": list[bool](), "with": list[bool]()}
        taken = Counter[str]()
        for record in _records(run, row):
            choice = record.get("trace", {}).get("notes", {}).get("choice")
            if choice is None:
                continue
            right = gold[record["id"]]
            chosen.append(record["answer"] == right)
            for arm, answers in arms.items():
                answers.append(choice[arm] == right)
            taken[choice["taken"] if choice["with"] != choice["without"] else "agree"] += 1
        if not chosen:
            continue
        line: list[Value] = [row.name, len(chosen), taken["agree"], taken["with"]]
        line += [TableCell(sum(x) / len(x)) for x in (arms["without"], arms["with"], chosen)]
        line.append(TableCell(sum(map(any, zip(*arms.values(), strict=True))) / len(chosen)))
        for answers in arms.values():
            counts = paired_counts([float(x) for x in chosen], [float(x) for x in answers])
            line += [counts.helped, counts.harmed]
        rows.append(line)
    if not rows:
        return None
    columns = [
        "row", "n", "agree", "with taken", "without", "with", "chosen", "better of both",
        "helped against without", "harmed", "helped against with", "harmed",
    ]  # fmt: skip
    notes = [
        "agree: both answer alike; with taken: of the others, how often the answer with retrieval was taken."
    ]
    return Table(columns, rows, title="With or without retrieval", notes=notes)


def judge_tables(run: Run) -> Iterator[Table]:
    """The judges with their prompts, and the agreement of two judges."""
    judges: list[dict[str, str]] = next(
        (row.settings["judges"] for row in run.rows if row.settings.get("judges")), []
    )
    if not judges:
        return
    rows: list[list[Value]] = [[j["name"], j["model"], j["version"], j["prompt_sha256"][:16]] for j in judges]
    yield Table(["judge", "model", "version", "prompt (sha256)"], rows, title="Judges")
    if len(judges) == 2:
        yield from agreement_tables(run, [j["name"] for j in judges])


def agreement_tables(run: Run, names: Sequence[str]) -> Iterator[Table]:
    """Cohen's kappa of two judges per row and over all, and their confusion table."""
    first: list[UtilityLabel | None] = []
    second: list[UtilityLabel | None] = []
    rows: list[list[Value]] = []
    for row in run.rows:
        a, b = _two_judges(run, row)
        try:
            found = agreement(a, b)
        except ValueError:
            continue
        rows.append([row.name, found.n, TableCell(found.agreed), TableCell(found.kappa)])
        first, second = first + list(a), second + list(b)
    if not rows:
        return
    total = agreement(first, second)
    rows.append(["all", total.n, TableCell(total.agreed), TableCell(total.kappa)])
    title = f"Agreement of {names[0]} and {names[1]}"
    yield Table(["row", "n", "agreed", "kappa"], rows, title=title)
    body: list[list[Value]] = [[str(a), *total.table[a].values()] for a in UtilityLabel]
    yield Table([f"{names[0]} \\ {names[1]}", *map(str, UtilityLabel)], body, title=f"{title}: counts")


def _two_judges(run: Run, row: RowResult) -> tuple[Labels, Labels]:
    pairs: dict[tuple[int, str], tuple[UtilityLabel | None, UtilityLabel | None]] = {}
    for record in _records(run, row):
        given: list[dict[str, Any]] = record.get("utility") or []
        if len(given) == 2:
            a, b = (None if g["label"] is None else UtilityLabel(g["label"]) for g in given)
            pairs[record["seed"], record["id"]] = a, b
    return [a for a, _ in pairs.values()], [b for _, b in pairs.values()]


def _given(run: Run) -> dict[str, Counter[str]]:
    """Per row, the judge's own label counts, and how many labels were lowered."""
    found: dict[str, Counter[str]] = {}
    for row in run.rows:
        counts = found.setdefault(row.name, Counter())
        for record in _records(run, row):
            if judged := next(iter(record.get("utility") or ()), None):
                counts[str(judged["given"])] += 1
                counts["lowered"] += judged["given"] != judged["label"]
    return found


def _records(run: Run, row: RowResult) -> Iterator[Mapping[str, Any]]:
    """The records of a row; empty if the run has none."""
    try:
        yield from run.records(row.name)
    except InputError:
        return


def _some(values: Sequence[Hashable], mask: Mask) -> list[Hashable]:
    return [v for v, inside in zip(values, mask, strict=True) if inside]
