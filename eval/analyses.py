"""What the FHS paper reads out of its runs, from the traces of a run folder (``abduce report``).

Verifier behaviour (Table 15), coverage and consolidation, hypotheses (Table 11), movements of gold, the
sequential control's rounds (Table 20), ranks by case (Table 25). A trace is read once, a row at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from ..programs.base import fuse_trace
from ..programs.config import FHSConfig
from ..programs.fusion import final_ranking
from ..programs.trace import Trace
from ..programs.window import support_of
from ..retrievers.taxonomy import strip_namespace
from .replay import trace_of
from .results import Run
from .tables import Cell, Table, Value

CASES = 12
"""A run of at most so many facts gets the table of ranks by case."""


@dataclass
class RowFigures:
    """What one row's traces say, summed over its facts and seeds."""

    name: str
    facts: int = 0
    in_pool: int = 0
    in_ranking: int = 0
    pool_size: int = 0
    # verifier: one entry a call
    calls: int = 0
    gold_in_window: int = 0
    favoured: list[float] = field(default_factory=list)
    gold_support: list[float] = field(default_factory=list)
    distractor_support: list[float] = field(default_factory=list)
    window_support: list[float] = field(default_factory=list)
    wrong: list[bool] = field(default_factory=list)
    # hypotheses
    hypotheses: int = 0
    resolved: int = 0
    unnormalised: Counter[str] = field(default_factory=Counter)
    coverage_at: list[list[float]] = field(default_factory=list)
    single: list[float] = field(default_factory=list)
    jaccard: list[float] = field(default_factory=list)
    # movements and ends
    to_first: int = 0
    from_first: int = 0
    verified: int = 0
    end_reciprocal: list[float] = field(default_factory=list)
    # rounds
    round_recall: dict[int, list[float]] = field(default_factory=dict)
    churn: list[float] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)

    def add(self, record: dict[str, Any], gold: str) -> None:
        """Take in one record of the run."""
        trace = trace_of(record)
        self.facts += 1
        self.counters.update(trace.counters)
        pool = {c for ranking in trace.rankings for c in ranking.ids}
        self.in_pool += gold in pool
        self.pool_size += len(pool)
        self.in_ranking += gold in record["ranking"]["ids"]
        self._hypotheses(trace, gold)
        self._verifier(trace, gold)
        self._movement(trace, record, gold)
        if record["selected"] is not None:
            self.end_reciprocal.append(_end_reciprocal(record, gold))
        if any(q.round for q in trace.queries) and trace.judged:
            self._rounds(trace, gold)

    def _hypotheses(self, trace: Trace, gold: str) -> None:
        structured = [h for h in trace.hypotheses if h.values or h.categories]
        self.hypotheses += len(structured)
        self.resolved += sum(len(h.values) for h in structured)
        for hypothesis in structured:
            self.unnormalised.update(
                f"{name}: {hypothesis.values[name]}" for name, c in hypothesis.categories.items() if not c
            )
        sets: list[set[str]] = []
        for j in range(len(trace.hypotheses)):
            own = [r for q, r in zip(trace.queries, trace.rankings, strict=True) if q.hypothesis == j]
            sets.append({c for ranking in own for c in ranking.ids})
        if len(sets) > 1:
            union: set[str] = set()
            covered = []
            for found in sets:
                union |= found
                covered.append(float(gold in union))
            self.coverage_at.append(covered)
            self.single.append(sum(gold in s for s in sets) / len(sets))
            pairs = [len(a & b) / len(a | b) for a, b in combinations(sets, 2) if a | b]
            if pairs:
                self.jaccard.append(sum(pairs) / len(pairs))

    def _verifier(self, trace: Trace, gold: str) -> None:
        abstain = trace.settings.get("abstain", "exclude")
        last = max((j.round for j in trace.judged), default=0)
        for judged in trace.judged:
            if judged.round != last or not judged.verdicts:
                continue
            self.calls += 1
            values = {v.concept_id: support_of(v, abstain) for v in judged.verdicts}
            known = {c: s for c, s in values.items() if s is not None}
            own = [
                r
                for q, r in zip(trace.queries, trace.rankings, strict=True)
                if q.hypothesis == judged.hypothesis
            ]
            if known:
                self.window_support.append(sum(known.values()) / len(known))
                self.wrong.append(not any(gold in ranking.ids[:10] for ranking in own))
            if gold in values:
                self.gold_in_window += 1
                others = [s for c, s in known.items() if c != gold]
                if gold in known and others:
                    mean = sum(others) / len(others)
                    self.gold_support.append(known[gold])
                    self.distractor_support.append(mean)
                    self.favoured.append(float(known[gold] > mean))

    def _movement(self, trace: Trace, record: dict[str, Any], gold: str) -> None:
        if not trace.judged or trace.pool is None or not record["ranking"]["ids"]:
            return
        before = final_ranking(trace.pool, {}, 0.0).ids[:1] == [gold]
        after = record["ranking"]["ids"][:1] == [gold]
        self.verified += 1
        self.to_first += after and not before
        self.from_first += before and not after

    def _rounds(self, trace: Trace, gold: str) -> None:
        """R@50 of the fused pool after each round (before the verifier), and how much of the first
        round's top 50 is gone at the end."""
        config = FHSConfig.model_validate(
            {k: v for k, v in trace.settings.items() if k in FHSConfig.model_fields}
        )
        tops: list[list[str]] = []
        for round_ in range(max(q.round for q in trace.queries) + 1):
            partial = Trace()
            for query, ranking in zip(trace.queries, trace.rankings, strict=True):
                if query.round <= round_:
                    partial.queries.append(query)
                    partial.rankings.append(ranking)
            top = list(fuse_trace(partial, config).ids[:50])
            tops.append(top)
            self.round_recall.setdefault(round_, []).append(float(gold in top))
        self.churn.append(1 - len(set(tops[0]) & set(tops[-1])) / max(1, len(tops[0])))


def _end_reciprocal(record: dict[str, Any], gold: str) -> float:
    """1 / rank of gold where the row ends: the selected on top, the rest in their order."""
    names = record["trace"]["ids"]
    selected = [names[i] for i in record["trace"]["selected"] or []]
    chosen = set(selected)
    order = selected + [c for c in record["ranking"]["ids"] if c not in chosen]
    return 1 / (order.index(gold) + 1) if gold in order else 0.0


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> float | None:
    """The chance that a positive scores higher than a negative (ties count half); None without both."""
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


def figures(run: Run) -> list[RowFigures]:
    """The figures of every row that kept its records."""
    golds = {e.id: strip_namespace(str(e.gold)) for e in run.examples}
    found = []
    for row in run.rows:
        one = RowFigures(row.name)
        for record in run.records(row.name):
            if record["status"] == "ok":
                one.add(record, golds[record["id"]])
        found.append(one)
    return found


def fhs_tables(run: Run) -> Iterable[Table]:
    """Every analysis that applies to the run."""
    rows = figures(run)
    yield coverage_table(rows)
    for table in (
        verifier_table(rows),
        hypothesis_table(rows),
        unnormalised_table(rows),
        movement_table(rows),
        end_table(rows),
        rounds_table(rows),
        headroom_table(run),
        readiness_table(run),
        counters_table(rows),
    ):
        if table.rows:
            yield table
    if len(run.examples) <= CASES:
        yield cases_table(run)


def _share(part: float, whole: float) -> Cell | None:
    return Cell(part / whole) if whole else None


def _mean(values: Sequence[float]) -> Cell | None:
    return Cell(sum(values) / len(values)) if values else None


def coverage_table(rows: Sequence[RowFigures]) -> Table:
    """Search coverage Pr(gold in U), what consolidation to K loses of it, and the size of U."""
    body: list[list[Value]] = []
    for r in rows:
        n = r.facts
        lost = None if not n else Cell((r.in_pool - r.in_ranking) / n)
        body.append([r.name, n, _share(r.in_pool, n), _share(r.in_ranking, n), lost, _share(r.pool_size, n)])
    columns = ["row", "n", "Pr(gold in U)", "Pr(gold in top K)", "consolidation loss", "mean |U|"]
    return Table(columns, body, "Search coverage")


def verifier_table(rows: Sequence[RowFigures]) -> Table:
    """How the verifier separates gold from distractors, and what its score says of the hypothesis."""
    body: list[list[Value]] = []
    for r in rows:
        if not r.calls:
            continue
        gap = [g - d for g, d in zip(r.gold_support, r.distractor_support, strict=True)]
        # The score should be low where the hypothesis is wrong: its negative ranks wrong ones.
        area = auroc([-s for s in r.window_support], r.wrong)
        base = _share(sum(r.wrong), len(r.wrong))
        body.append(
            [
                r.name,
                r.calls,
                _share(r.gold_in_window, r.calls),
                _mean(r.gold_support),
                _mean(r.distractor_support),
                _mean(gap),
                _mean(r.favoured),
                None if area is None else Cell(area),
                base,
            ]
        )
    columns = ["row", "calls", "gold in window", "gold support", "distractors", "separation", "favours gold"]
    columns += ["AUROC wrong", "base rate"]
    notes = [
        "AUROC: of the window's mean support, negated, for 'this hypothesis is wrong' (its own retrievals "
        "do not have gold in their first 10)."
    ]
    return Table(columns, body, "Verifier behaviour", notes)


def hypothesis_table(rows: Sequence[RowFigures]) -> Table:
    """Dimensions resolved, coverage at J, mean single-hypothesis recall, pairwise Jaccard overlap."""
    body: list[list[Value]] = []
    for r in rows:
        if not r.hypotheses and not r.coverage_at:
            continue
        at = [c[-1] for c in r.coverage_at]
        per_fact = _share(r.hypotheses, r.facts)
        dims = _share(r.resolved, r.hypotheses)
        body.append([r.name, per_fact, dims, _mean(at), _mean(r.single), _mean(r.jaccard)])
    columns = ["row", "hypotheses a fact", "dimensions resolved", "Cov@J", "single R@K", "Jaccard"]
    return Table(columns, body, "Hypotheses")


def unnormalised_table(rows: Sequence[RowFigures], most: int = 15) -> Table:
    """Values that no vocabulary covers, by how often they came."""
    body: list[list[Value]] = []
    for r in rows:
        body += [[r.name, value, count] for value, count in r.unnormalised.most_common(most)]
    return Table(["row", "value", "times"], body, "Values not normalised (most frequent)")


def movement_table(rows: Sequence[RowFigures]) -> Table:
    """How often the verifier moves gold to rank 1 and away from it."""
    body: list[list[Value]] = [[r.name, r.verified, r.to_first, r.from_first] for r in rows if r.verified]
    columns = ["row", "verified facts", "moved to rank 1", "moved away from rank 1"]
    return Table(columns, body, "What the verifier moves")


def end_table(rows: Sequence[RowFigures]) -> Table:
    """MRR where the row ends, after the selector (paper: Table 16)."""
    body: list[list[Value]] = [[r.name, _mean(r.end_reciprocal)] for r in rows if r.end_reciprocal]
    return Table(["row", "MRR (end)"], body, "After the selector")


def rounds_table(rows: Sequence[RowFigures]) -> Table:
    """R@50 after each round, before the verifier, and the churn of the pool's top 50."""
    body: list[list[Value]] = []
    for r in rows:
        for round_, values in sorted(r.round_recall.items()):
            body.append([r.name, round_ + 1, len(values), _mean(values), None])
        if r.round_recall:
            body.append([r.name, "churn", len(r.churn), None, _mean(r.churn)])
    columns = ["row", "round", "n", "R@50 before the verifier", "churn of the first top 50"]
    return Table(columns, body, "Rounds of the sequential control")


def headroom_table(run: Run) -> Table:
    """What an oracle row reaches beyond each method: the room that is left for a better choice."""
    oracles = [row for row in run.rows if row.name.startswith("oracle")]
    methods = [row for row in run.rows if row not in oracles and not row.name.startswith("probe")]
    shown = [m for m in ("R@1", "R@10", "MRR", "Acc") if m in run.measures]
    body: list[list[Value]] = []
    for oracle in oracles:
        for row in methods:
            found = run.compare(oracle.name, row.name).differences
            cells = [Cell(d.mean, low=d.low, high=d.high) for d in (found.get(m) for m in shown) if d]
            if len(cells) == len(shown):
                body.append([oracle.name, row.name, *cells])
    return Table(["bound", "row", *shown], body, "Headroom to the oracle")


def readiness_table(run: Run) -> Table:
    """Eq. 1: how much closer to gold the retriever scores the gold concept's own words than the raw fact.

    The similarity is the retriever's score s(q, c) of the gold concept; facts whose gold the raw query
    does not return within K have no raw score and are counted apart.
    """
    names = [row.name for row in run.rows]
    body: list[list[Value]] = []
    if "direct" in names:
        golds = {e.id: strip_namespace(str(e.gold)) for e in run.examples}
        raw = _gold_scores(run, "direct", golds)
        for name in names:
            if name.startswith("probe"):
                oracle = _gold_scores(run, name, golds)
                gaps = [oracle[i] - raw[i] for i in oracle if i in raw]
                positive = _share(sum(g > 0 for g in gaps), len(gaps))
                body.append([name, len(gaps), len(golds) - len(raw), _mean(gaps), positive])
    columns = ["g*", "n", "gold not retrieved raw", "mean gap", "share > 0"]
    return Table(columns, body, "Retrieval readiness gap (Eq. 1)")


def _gold_scores(run: Run, row: str, golds: Mapping[str, str]) -> dict[str, float]:
    found = {}
    for record in run.records(row):
        ids = record["ranking"]["ids"] if record["status"] == "ok" else []
        gold = golds.get(record["id"])
        if gold in ids:
            found[record["id"]] = float(record["ranking"]["scores"][ids.index(gold)])
    return found


def counters_table(rows: Sequence[RowFigures]) -> Table:
    """What was counted on the way: fall-backs, dropped replies, invented ids."""
    quiet = {"llm_calls", "retrievals", "pool"}
    names = sorted({n for r in rows for n, v in r.counters.items() if v and n not in quiet})
    body: list[list[Value]] = [[r.name, *(r.counters[n] for n in names)] for r in rows] if names else []
    return Table(["row", *(n.replace("_", " ") for n in names)], body, "Counted")


def cases_table(run: Run) -> Table:
    """The rank of gold by row, for a handful of facts (paper: Table 25)."""
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


def label_length(label_tokens: int) -> str:
    """The group of a gold label's length, in tokens of the label (paper: Table 13, Panel B)."""
    for top, name in ((1, "1 token"), (2, "2 tokens"), (4, "3-4 tokens"), (8, "5-8 tokens")):
        if label_tokens <= top:
            return name
    return "9 or more tokens"
