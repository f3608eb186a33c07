"""Figures from the traces of a run, by row and seed (the tables are in :mod:`.fhs`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any, Literal

from ...programs.base import fuse_trace
from ...programs.config import FHSConfig, SearchConfig
from ...programs.fusion import final_ranking
from ...programs.trace import Judged, Trace
from ...programs.window import exact_support
from ...retrievers.concept_ids import strip_namespace
from ..runs.replay import trace_of
from ..runs.run import Run
from ..runs.taxonomy_codec import pools
from ..stats import mean_sd
from ..tables import TableCell, Value

HEAD = 10
"""A hypothesis is wrong where gold is not so high in its own list."""

TOP = 50
"""How deep the rounds of the sequential control are compared (paper: Table 20)."""


@dataclass(frozen=True)
class Rounds:
    """One fact of the sequential control. ``recall``: R@50 of the fused pool after each round, before the
    verifier; if the loop stopped earlier, the last pool stays. ``used``: rounds done, with the first.
    ``churn``: the share of the first top 50 that is missing from the last one.
    """

    recall: tuple[float, ...]
    used: int
    churn: float

    @property
    def budget(self) -> int:
        return len(self.recall)


@dataclass
class SeedFigures:
    """One row's traces under one seed. Sums are over its facts; a failed fact counts only in ``facts``."""

    facts: int = 0
    in_pool: float = 0
    in_ranking: float = 0
    pool_size: float = 0
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
    covered: list[float] = field(default_factory=list)
    single: list[float] = field(default_factory=list)
    jaccard: list[float] = field(default_factory=list)
    # movements and ends
    to_first: int = 0
    from_first: int = 0
    verified: int = 0
    end_reciprocal: list[float] = field(default_factory=list)
    # by fact
    rounds: dict[str, Rounds] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    counters: Counter[str] = field(default_factory=Counter)

    def add(self, record: dict[str, Any], gold: str) -> None:
        """Add one record of the run."""
        self.facts += 1
        if record["status"] != "ok":
            self.failed.add(record["id"])
            return
        trace = trace_of(record)
        self.counters.update(trace.counters)
        found = pools(record)
        self.in_pool += sum(gold in pool for pool in found) / len(found)
        self.pool_size += sum(map(len, found)) / len(found)
        ends = [one["ids"] for one in record.get("alternatives") or [record["ranking"]]]
        self.in_ranking += sum(gold in ids for ids in ends) / len(ends)
        self._hypotheses(trace, gold)
        self._verifier(trace, gold)
        self._movement(trace, record, gold)
        if not record.get("alternatives"):
            self.end_reciprocal.append(_end_reciprocal(record, gold))
        if {"rounds", "Kv"} <= trace.settings.keys():
            self.rounds[record["id"]] = _rounds(trace, gold)

    def _hypotheses(self, trace: Trace, gold: str) -> None:
        structured = trace.hypotheses if "verifier" in trace.settings else []
        self.hypotheses += len(structured)
        self.resolved += sum(len(h.values) for h in structured)
        for hypothesis in structured:
            self.unnormalised.update(
                f"{name}: {hypothesis.values[name]}" for name, c in hypothesis.categories.items() if not c
            )
        lists = [set(own_list(trace, j)) for j in range(len(trace.hypotheses))]
        if lists:
            self.covered.append(float(any(gold in ids for ids in lists)))
            self.single.append(sum(gold in ids for ids in lists) / len(lists))
        pairs = [len(a & b) / len(a | b) for a, b in combinations(lists, 2) if a | b]
        if pairs:
            self.jaccard.append(sum(pairs) / len(pairs))

    def _verifier(self, trace: Trace, gold: str) -> None:
        abstain = trace.settings.get("abstain", "exclude")
        last = max((j.round for j in trace.judged), default=0)
        for judged in trace.judged:
            if judged.round != last or not judged.verdicts:
                continue
            self.calls += 1
            known = _supports(judged, abstain)
            if known:
                self.window_support.append(float(sum(known.values()) / len(known)))
                self.wrong.append(gold not in own_list(trace, judged.hypothesis)[:HEAD])
            if gold in judged.window:
                self.gold_in_window += 1
                others = [s for c, s in known.items() if c != gold]
                if gold in known and others:
                    mean = sum(others) / len(others)
                    self.gold_support.append(float(known[gold]))
                    self.distractor_support.append(float(mean))
                    self.favoured.append(float(known[gold] > mean))

    def _movement(self, trace: Trace, record: dict[str, Any], gold: str) -> None:
        if not trace.judged or trace.pool is None or not record["ranking"]["ids"]:
            return
        before = final_ranking(trace.pool, {}, 0.0).ids[:1] == [gold]
        after = record["ranking"]["ids"][:1] == [gold]
        self.verified += 1
        self.to_first += after and not before
        self.from_first += before and not after


def own_list(trace: Trace, hypothesis: int) -> Sequence[str]:
    """The fused list of one hypothesis's rankings, at most K long, without companions and fall-backs."""
    own = Trace()
    for query, ranking in zip(trace.queries, trace.rankings, strict=True):
        if query.hypothesis == hypothesis:
            own.queries.append(query)
            own.rankings.append(ranking)
    config = _search_settings(trace)
    return fuse_trace(own, config).ids[: config.K]


def _search_settings(trace: Trace) -> SearchConfig:
    """The settings of the trace's fusion."""
    fields = FHSConfig.model_fields
    known = {k: v for k, v in trace.settings.items() if k in fields}
    return FHSConfig.model_validate(known)


def _supports(judged: Judged, abstain: Literal["exclude", "no_support"]) -> dict[str, Fraction]:
    """The supports of candidates that have one, as exact fractions, so that equal ones tie."""
    found = {}
    for verdict in judged.verdicts or ():
        value = exact_support(verdict, abstain)
        if value is not None:
            found[verdict.concept_id] = value
    return found


@dataclass
class RowFigures:
    """One row's figures under each seed, and the paper's numbers by analysis column.

    ``facts``: the number of distinct facts with a result. ``selected``: whether the row ends with the
    selector.
    """

    name: str
    reference: Mapping[str, float] = field(default_factory=dict)
    seeds: dict[int, SeedFigures] = field(default_factory=dict)
    facts: int = 0
    selected: bool = False

    def per_seed(self, of: Callable[[SeedFigures], float | None]) -> list[float]:
        """The value of each seed that has one."""
        return [v for v in map(of, self.seeds.values()) if v is not None]

    def cell(self, column: str, of: Callable[[SeedFigures], float | None]) -> TableCell | None:
        """The mean of a value over seeds (with its deviation over several), with the paper's number of that
        column; None without either.
        """
        values, reference = self.per_seed(of), self.reference.get(column)
        if not values:
            return None if reference is None else TableCell(None, reference=reference)
        mean, sd = mean_sd(values)
        return TableCell(mean, sd=sd, reference=reference)

    def count(self, of: Callable[[SeedFigures], int]) -> Value:
        """A count under one seed; with several seeds, its mean and deviation."""
        values = [of(s) for s in self.seeds.values()]
        if len(values) == 1:
            return values[0]
        if not values:
            return None
        mean, sd = mean_sd(values)
        return TableCell(mean, 1, sd=sd)


def figures(run: Run) -> list[RowFigures]:
    """The figures of every row; each trace is read once."""
    golds = {e.id: strip_namespace(str(e.gold)) for e in run.examples}
    found = []
    for row in run.rows:
        one, seen = RowFigures(row.name, row.reference), set()
        for record in run.records(row.name):
            one.seeds.setdefault(record["seed"], SeedFigures()).add(record, golds[record["id"]])
            seen.add(record["id"])
            one.selected = one.selected or _was_selected(record)
        one.facts = len(seen)
        found.append(one)
    return found


def _was_selected(record: Mapping[str, Any]) -> bool:
    if record["status"] != "ok":
        return False
    return record["selected"] is not None or bool(record["trace"]["counters"].get("selector_failed"))


def _end_reciprocal(record: Mapping[str, Any], gold: str) -> float:
    """1 / final rank of gold: the selected concept on top, the others in order."""
    names = record["trace"]["ids"]
    selected = [names[i] for i in record["trace"]["selected"] or []]
    chosen = set(selected)
    order = selected + [c for c in record["ranking"]["ids"] if c not in chosen]
    return 1 / (order.index(gold) + 1) if gold in order else 0.0


def _rounds(trace: Trace, gold: str) -> Rounds:
    """The rounds of one episode, from the logged rankings only."""
    config = _search_settings(trace)
    used = 1 + max([q.round for q in trace.queries] + [j.round for j in trace.judged], default=0)
    budget = max(used, 1 + int(trace.settings["rounds"]))
    tops: list[list[str]] = []
    for round_ in range(used):
        partial = Trace()
        for query, ranking in zip(trace.queries, trace.rankings, strict=True):
            if query.round <= round_:
                partial.queries.append(query)
                partial.rankings.append(ranking)
        tops.append(list(fuse_trace(partial, config).ids[:TOP]))
    recall = [float(gold in top) for top in tops] + [float(gold in tops[-1])] * (budget - used)
    churn = 1 - len(set(tops[0]) & set(tops[-1])) / len(tops[0]) if tops[0] else 0.0
    return Rounds(tuple(recall), used, churn)
