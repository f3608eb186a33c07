"""The FHS paper's analyses of a run, as tables (``abduce report``).

Verifier behaviour (Table 15), coverage and consolidation, hypotheses (Table 11), movements of gold, final
results (Table 16), the sequential control's rounds (Table 20), Eq. 1's gap, ranks by case (Table 25). With
several seeds a value is the mean of the seeds' values, with its deviation; ``n`` counts facts. A row's
``reference`` may name a column of these tables; the paper's number is then shown too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...retrievers.concept_ids import strip_namespace
from ..runs.outcome import RowResult
from ..runs.run import Run
from ..stats import Floats, mean_sd
from ..tables import Table, TableCell, Value
from .fhs_contrasts import case_heads, coverage_interaction, failing_labels, headroom, within_groups
from .fhs_figures import Rounds, RowFigures, SeedFigures, figures

CASES, HEADS = 12, 4
"""A run of at most so many facts gets the table of ranks by case, and the heads of verified rankings."""

COVERAGE = ("Pr(gold in U)", "Pr(gold in top K)", "consolidation loss", "mean |U|")
VERIFIER = (
    "gold in window",
    "gold support",
    "distractors",
    "separation",
    "favours gold",
    "AUROC wrong",
    "base rate",
)
HYPOTHESES = ("hypotheses a fact", "dimensions resolved", "Cov@J", "single R@K", "Jaccard")
ENDS = ("MRR (end)", "top-1 (end)")
FIRST, LAST = "R@50 round 1", "R@50 full episode"
ROUNDS = (FIRST, LAST, "difference", "churn", "rounds used", "full budget", "round one only")
COSTS = ("llm calls", "retrievals")
COLUMNS = frozenset({*COVERAGE, *VERIFIER, *HYPOTHESES, *ENDS, *ROUNDS, *COSTS})
"""Columns of analyses that a row's ``reference`` may name."""


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> float | None:
    """The probability that a positive scores higher than a negative (ties count half); None without both."""
    values, labels = np.asarray(scores), np.asarray(positive, dtype=bool)
    n_pos, n_neg = int(labels.sum()), int((~labels).sum())
    if not n_pos or not n_neg:
        return None
    order = np.argsort(values, kind="stable")
    _, inverse, counts = np.unique(values[order], return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = np.empty(len(values))
    ranks[order] = (ends - (counts - 1) / 2)[inverse]
    return float((ranks[labels].sum() - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg))


def fhs_tables(run: Run) -> Iterable[Table]:
    """Every analysis that applies to the run."""
    rows = figures(run)
    yield coverage_table(rows)
    for table in (
        verifier_table(rows),
        hypothesis_table(rows),
        unnormalised_table(rows),
        movement_table(rows),
        end_table(run, rows),
        rounds_table(run, rows),
        headroom(run),
        coverage_interaction(run),
        failing_labels(run),
        readiness_table(run),
        counters_table(rows),
    ):
        if table.rows:
            yield table
    yield from within_groups(run)
    if len(run.examples) <= CASES:
        yield cases_table(run)
    if len(run.examples) <= HEADS:
        yield from case_heads(run)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def coverage_table(rows: Sequence[RowFigures]) -> Table:
    """Search coverage Pr(gold in U), the loss by consolidation to K, and the size of U.

    A failed fact covers nothing; its pool is left out of the mean size.
    """
    of = (
        lambda s: _share(s.in_pool, s.facts),
        lambda s: _share(s.in_ranking, s.facts),
        lambda s: _share(s.in_pool - s.in_ranking, s.facts),
        lambda s: _share(s.pool_size, s.facts - len(s.failed)),
    )
    body: list[list[Value]] = [
        [r.name, r.facts, *(r.cell(c, f) for c, f in zip(COVERAGE, of, strict=True))] for r in rows
    ]
    return Table(["row", "n", *COVERAGE], body, "Search coverage")


def _wrong_auroc(s: SeedFigures) -> float | None:
    # The score should be low where the hypothesis is wrong: its negative ranks wrong ones.
    return auroc([-v for v in s.window_support], s.wrong)


def verifier_table(rows: Sequence[RowFigures]) -> Table:
    """How well the verifier separates gold from distractors, and what its score says about the hypothesis."""
    of = (
        lambda s: _share(s.gold_in_window, s.calls),
        lambda s: _mean(s.gold_support),
        lambda s: _mean(s.distractor_support),
        lambda s: _mean([g - d for g, d in zip(s.gold_support, s.distractor_support, strict=True)]),
        lambda s: _mean(s.favoured),
        _wrong_auroc,
        lambda s: _share(sum(s.wrong), len(s.wrong)),
    )
    body: list[list[Value]] = [
        [r.name, r.count(lambda s: s.calls), *(r.cell(c, f) for c, f in zip(VERIFIER, of, strict=True))]
        for r in rows
        if any(r.per_seed(lambda s: s.calls))
    ]
    notes = [
        "Supports are compared as exact fractions. AUROC: of the window's mean support, negated, for 'this "
        "hypothesis is wrong' (its own fused list does not have gold in its first 10)."
    ]
    return Table(["row", "calls", *VERIFIER], body, "Verifier behaviour", notes)


def hypothesis_table(rows: Sequence[RowFigures]) -> Table:
    """Resolved dimensions per generation, coverage at J, mean single-hypothesis recall, and pairwise Jaccard
    overlap. The last three use the hypotheses' own fused lists of at most K.
    """
    of = (
        lambda s: _share(s.hypotheses, s.facts - len(s.failed)),
        lambda s: _share(s.resolved, s.hypotheses),
        lambda s: _mean(s.covered),
        lambda s: _mean(s.single),
        lambda s: _mean(s.jaccard),
    )
    body: list[list[Value]] = [
        [r.name, *(r.cell(c, f) for c, f in zip(HYPOTHESES, of, strict=True))]
        for r in rows
        if any(r.per_seed(lambda s: s.hypotheses + len(s.covered)))
    ]
    return Table(["row", *HYPOTHESES], body, "Hypotheses")


def unnormalised_table(rows: Sequence[RowFigures], most: int = 15) -> Table:
    """Values outside every vocabulary, by frequency."""
    body: list[list[Value]] = []
    for r in rows:
        times = sum((s.unnormalised for s in r.seeds.values()), Counter[str]())
        found = [value for value, _ in times.most_common(most)]
        body += [[r.name, value, _times(r, "unnormalised", value)] for value in found]
    return Table(["row", "value", "times"], body, "Values not normalised (most frequent)")


def _times(row: RowFigures, counter: str, name: str) -> Value:
    return row.count(lambda s: getattr(s, counter)[name])


def movement_table(rows: Sequence[RowFigures]) -> Table:
    """How often the verifier moves gold to rank 1 and away from it."""
    of = (lambda s: s.verified, lambda s: s.to_first, lambda s: s.from_first)
    body: list[list[Value]] = [
        [r.name, r.facts, *map(r.count, of)] for r in rows if any(r.per_seed(lambda s: s.verified))
    ]
    columns = ["row", "n", "verified facts", "moved to rank 1", "moved away from rank 1"]
    return Table(columns, body, "What the verifier moves")


def end_table(run: Run, rows: Sequence[RowFigures]) -> Table:
    """Final MRR and top-1 of each row (paper: Table 16): after the selector if it has one, else its MRR and
    R@1. Left out if no row has a selector.
    """
    body: list[list[Value]] = []
    for r in rows if any(r.selected for r in rows) else ():
        result = run[r.name]
        if r.selected:
            # One that is judged by each hypothesis alone keeps only the first concept of each end.
            whole = all(len(s.end_reciprocal) == s.facts - len(s.failed) for s in r.seeds.values())
            mrr = r.cell(ENDS[0], lambda s: _share(sum(s.end_reciprocal), s.facts)) if whole else None
            first = "Acc"
        else:
            mrr, first = _measured(result, "MRR", r.reference.get(ENDS[0])), "R@1"
        top = _measured(result, first, r.reference.get(ENDS[1]))
        body.append([r.name, "on" if r.selected else "off", mrr, top])
    return Table(["row", "selector", *ENDS], body, "Where the rows end")


def _measured(row: RowResult, measure: str, reference: float | None) -> TableCell:
    """A measure of the main table, with the reference of the analysis or of the measure."""
    mean, sd = row.mean(measure) if measure in row.values else (None, None)
    return TableCell(mean, sd=sd, reference=row.reference.get(measure) if reference is None else reference)


def rounds_table(run: Run, rows: Sequence[RowFigures]) -> Table:
    """R@50 before the verifier, after round one and after the whole episode, over all facts (paper: Table
    20).

    An episode that stopped early keeps its last pool; a failed fact is a miss in every round. The difference
    is paired, with its interval over source contexts.
    """
    found = [r for r in rows if any(s.rounds for s in r.seeds.values())]
    budget = max((x.budget for r in found for s in r.seeds.values() for x in s.rounds.values()), default=2)
    budget = max(budget, 2)
    middle = [f"R@50 round {i}" for i in range(2, budget)]
    body: list[list[Value]] = []
    for r in found:
        after = [_recall_after(run, r, i) for i in range(budget)]
        [d] = run.bootstrap.differences(_over_seeds(after[-1]), _over_seeds(after[0]))
        recalls = []
        for column, values in zip((FIRST, *middle, LAST), after, strict=True):
            known = [float(v[~np.isnan(v)].mean()) for v in values if not np.isnan(v).all()]
            mean, sd = mean_sd(known)
            recalls.append(TableCell(mean, sd=sd, reference=r.reference.get(column)))
        cells = [
            r.cell("churn", lambda s: _over_episodes(s, lambda x: x.churn)),
            r.cell("rounds used", lambda s: _over_episodes(s, lambda x: x.used)),
            r.cell("full budget", lambda s: _over_episodes(s, lambda x: x.used == x.budget)),
            r.cell("round one only", lambda s: _over_episodes(s, lambda x: x.used == 1)),
        ]
        difference = TableCell(d.mean, low=d.low, high=d.high, reference=r.reference.get("difference"))
        body.append([r.name, d.n, *recalls, difference, *cells])
    columns = ["row", "n", FIRST, *middle, LAST, *ROUNDS[2:]]
    notes = [
        "R@50 is of the fused pool, before the verifier (the main table's is after it). Churn: the share of "
        "round one's top 50 that is replaced at the end. Rounds: of an episode, the first included."
    ]
    return Table(columns, body, "Rounds of the sequential control", notes)


def _recall_after(run: Run, row: RowFigures, round_: int) -> Floats:
    """R@50 after a round, shape (seeds, facts of the run); NaN for unfinished facts."""
    table = np.full((len(row.seeds), len(run.examples)), np.nan)
    for place, s in enumerate(row.seeds.values()):
        for i, example in enumerate(run.examples):
            if example.id in s.rounds:
                recall = s.rounds[example.id].recall
                table[place, i] = recall[min(round_, len(recall) - 1)]
            elif example.id in s.failed:
                table[place, i] = 0.0
    return table


def _over_seeds(table: Floats) -> Floats:
    known = ~np.isnan(table)
    with np.errstate(invalid="ignore"):
        mean: Floats = np.where(known, table, 0.0).sum(axis=0) / known.sum(axis=0)
    return mean


def _over_episodes(s: SeedFigures, of: Callable[[Rounds], float]) -> float | None:
    return _mean([float(of(x)) for x in s.rounds.values()])


def readiness_table(run: Run) -> Table:
    """Eq. 1: how much higher the retriever scores gold for the gold concept's own words than for the raw
    fact.

    The similarity is the retriever's score s(q, c) of the gold concept. If the raw query does not return
    gold, gold scores at most as high as the last returned concept. The gap is then at least the difference to
    that score: a lower bound, which allows a mean over all facts. Probes with another retriever than the
    direct row's are left out, because their scores are on another scale.
    """
    names = [row.name for row in run.rows]
    body: list[list[Value]] = []
    if "direct" in names:
        raw = _gold_scores(run, "direct")
        for name in names:
            if not name.startswith("probe") or _retriever(run, name) != _retriever(run, "direct"):
                continue
            probe = {i: score for i, (score, exact) in _gold_scores(run, name).items() if exact}
            exact = [probe[i] - raw[i][0] for i in probe if i in raw and raw[i][1]]
            atleast = [probe[i] - raw[i][0] for i in probe if i in raw]
            body.append([name, *_gaps(exact), *_gaps(atleast)])
    columns = ["g*", "n (gold retrieved)", "mean gap", "share > 0"]
    columns += ["n (all)", "mean gap, lower bound", "share > 0, lower bound"]
    notes = [
        "Lower bound: where the raw query misses gold, gold's score is at most the last one retrieved. "
        "A fact whose gold the probe itself misses has no gap."
    ]
    return Table(columns, body, "Retrieval readiness gap (Eq. 1)", notes)


def _retriever(run: Run, row: str) -> Any:
    return run[row].settings.get("retriever")


def _gaps(gaps: Sequence[float]) -> tuple[int, TableCell | None, TableCell | None]:
    if not gaps:
        return 0, None, None
    return len(gaps), TableCell(sum(gaps) / len(gaps)), TableCell(sum(g > 0 for g in gaps) / len(gaps))


def _gold_scores(run: Run, row: str) -> dict[str, tuple[float, bool]]:
    """By fact: gold's score and True; or, for a ranking without gold, its last score (an upper bound) and
    False. An empty ranking gives no bound.
    """
    golds = {e.id: strip_namespace(str(e.gold)) for e in run.examples}
    found = {}
    for record in run.records(row):
        ids = record["ranking"]["ids"] if record["status"] == "ok" else []
        if ids:
            scores, gold = record["ranking"]["scores"], golds[record["id"]]
            exact = gold in ids
            found[record["id"]] = float(scores[ids.index(gold) if exact else -1]), exact
    return found


def counters_table(rows: Sequence[RowFigures]) -> Table:
    """Counters over all facts of a seed: fall-backs, dropped replies, invented ids."""
    quiet = {"llm_calls", "retrievals", "pool"}
    counted = {n for r in rows for s in r.seeds.values() for n, v in s.counters.items() if v}
    names = sorted(counted - quiet)
    kept = rows if names else ()
    body: list[list[Value]] = [[r.name, r.facts, *(_times(r, "counters", n) for n in names)] for r in kept]
    return Table(["row", "n", *(n.replace("_", " ") for n in names)], body, "Counted")


def cases_table(run: Run) -> Table:
    """The rank of gold by row, for a few facts (paper: Table 25)."""
    columns = ["row", *(e.id for e in run.examples)]
    golds = {e.id: strip_namespace(str(e.gold)) for e in run.examples}
    body: list[list[Value]] = []
    for row in run.rows:
        seed = row.seeds[0]
        ranks = {}
        for record in run.records(row.name):
            if record["seed"] == seed and record["status"] == "ok" and record["id"] in golds:
                ids, gold = record["ranking"]["ids"], golds[record["id"]]
                place = str(ids.index(gold) + 1) if gold in ids else f">{len(ids)}"
                ranks[record["id"]] = place + (" \N{CHECK MARK}" if _selected_gold(record, gold) else "")
        body.append([row.name, *(ranks.get(e.id, "failed") for e in run.examples)])
    notes = ["\N{CHECK MARK}: the selector then returned gold first."]
    return Table(columns, body, "Rank of gold by case", notes)


def _selected_gold(record: dict[str, Any], gold: str) -> bool:
    return record["selected"] is not None and record["top"][:1] == [gold]
