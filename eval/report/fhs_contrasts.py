"""The FHS paper's contrasts between rows of a run (Appendices D.3, E.1, E.5, F.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...retrievers.concept_ids import strip_namespace
from ..runs.run import Run
from ..tables import Table, TableCell, Value, p_value
from .breakdown import against, group_fields, referenced
from .parts import subset

SHOWN = ("R@1", "R@10", "R@50", "MRR", "Acc")
WITHIN = ("R@1", "R@50", "MRR", "Acc")
"""The measures that rows are compared by within a modality (paper: E.5)."""

WITHOUT = " - label coverage"
"""How a row's name ends that is another row without the coverage term."""


def within_groups(run: Run) -> Iterator[Table]:
    """Every row against the baseline within each value of a field that has reference breakdowns (paper: E.5,
    by modality).
    """
    if run.baseline is None or len(run.rows) < 2:
        return
    for field in group_fields(run):
        if not referenced(run, field):
            continue
        for value in dict.fromkeys(e.groups[field] for e in run.examples if field in e.groups):
            part = subset(run, field, value)
            table = against(part, run.baseline, [m for m in WITHIN if m in part.measures])
            yield replace(table, title=f"Difference to {run.baseline}, {field} {value} alone")


def coverage_interaction(run: Run) -> Table:
    """The gain by label coverage on a row minus its gain on the baseline's query: a difference of
    differences, paired by fact, with its interval over source contexts (paper: D.3, Table 13A).
    """
    names = [row.name for row in run.rows]
    paired = [name for name in names if name + WITHOUT in names]
    shown = [m for m in ("R@10", "MRR") if m in run.measures]
    body: list[list[Value]] = []
    base = run.baseline if run.baseline in paired else None
    for name in paired:
        line: list[Value] = [name]
        for m in shown:
            gain = run[name].per_example(m) - run[name + WITHOUT].per_example(m)
            [found] = run.bootstrap.differences(gain, np.zeros_like(gain))
            line.append(TableCell(found.mean, low=found.low, high=found.high))
            if base is None or name == base:
                line += [None, None]
                continue
            raw = run[base].per_example(m) - run[base + WITHOUT].per_example(m)
            [d] = run.bootstrap.differences(gain, raw)
            line += [TableCell(d.mean, low=d.low, high=d.high), p_value(d.p)]
        body.append(line)
    columns = ["row", *(c for m in shown for c in (f"{m} gain", f"{m} beyond {base}", f"{m} p"))]
    notes = [
        "Gain: with the label-coverage term minus without it. Beyond: minus the gain of that row, an "
        "interaction. In brackets: 95% intervals, resampling source contexts."
    ]
    return Table(columns, body, "Label coverage and its interactions", notes)


def headroom(run: Run) -> Table:
    """How much an oracle row exceeds each method, H_m, and the share of the oracle that the method attains,
    A_m = m(method) / m(oracle) (paper: F.1).
    """
    oracles = [row for row in run.rows if row.name.startswith("oracle")]
    methods = [row for row in run.rows if row not in oracles and not row.name.startswith("probe")]
    shown = [m for m in SHOWN if m in run.measures]
    body: list[list[Value]] = []
    for oracle in oracles:
        for row in methods:
            found = run.compare(oracle.name, row.name).differences
            if any(m not in found for m in shown):
                continue
            line: list[Value] = [oracle.name, row.name]
            for m in shown:
                bound, own = oracle.mean(m)[0], row.mean(m)[0]
                d = found[m]
                line += [
                    TableCell(d.mean, low=d.low, high=d.high),
                    TableCell(own / bound) if bound > 0 else None,
                ]
            body.append(line)
    columns = ["bound", "row", *(c for m in shown for c in (f"H({m})", f"A({m})"))]
    notes = [
        "H: the bound minus the row, with its 95% interval. A: the share of the bound that the row attains."
    ]
    return Table(columns, body, "Headroom to the oracle", notes)


def failing_labels(run: Run) -> Table:
    """The concepts whose own label does not retrieve them at rank 1, by name (paper: E.1)."""
    golds = {e.id: strip_namespace(str(e.gold)) for e in run.examples}
    body: list[list[Value]] = []
    notes = []
    for row in run.rows:
        spec = row.settings.get("spec", {})
        if spec.get("program") != "probe" or spec.get("options", {}).get("text") != "label":
            continue
        asked: dict[str, str] = {}
        for record in run.records(row.name):
            if record["status"] == "ok":
                ids, gold = record["ranking"]["ids"], golds[record["id"]]
                asked[gold] = "" if ids[:1] == [gold] else (ids[0] if ids else "nothing")
        failing: list[list[Value]] = [
            [row.name, gold, first] for gold, first in sorted(asked.items()) if first
        ]
        notes.append(f"{row.name}: {len(failing)} of {len(asked):,} gold concepts.")
        body += failing
    columns = ["row", "concept", "put first"]
    return Table(columns, body, "Concepts that their own label does not put first", notes)


HEAD = 8
"""Candidates that are shown of a ranking's head."""


def case_heads(run: Run) -> Iterator[Table]:
    """The top of each verified ranking for a few facts (S~, v and S_final), and the rank without the verifier
    (paper: Tables 22, 24, 26 and 27). Gold is always shown.
    """
    golds = {e.id: strip_namespace(str(e.gold)) for e in run.examples}
    for row in run.rows:
        for record in run.records(row.name):
            if record["seed"] != row.seeds[0] or record["status"] != "ok":
                continue
            if not record["trace"]["judged"] or "fused_norm" not in record["ranking"]["components"]:
                continue
            ranking, gold = record["ranking"], golds[record["id"]]
            ids, parts = ranking["ids"], ranking["components"]
            before = sorted(range(len(ids)), key=lambda i, p=parts, c=ids: (-p["fused_norm"][i], c[i]))  # type: ignore[misc]
            rank = {ids[i]: place for place, i in enumerate(before, 1)}
            shown = [i for i, c in enumerate(ids) if i < HEAD or c == gold]
            body: list[list[Value]] = [
                [
                    f"{ids[i]} (gold)" if ids[i] == gold else ids[i],
                    rank[ids[i]],
                    i + 1,
                    *(TableCell(float(v)) for v in (parts["fused_norm"][i], parts["support"][i])),
                    TableCell(float(ranking["scores"][i])),
                ]
                for i in shown
            ]
            columns = ["concept", "rank without verifier", "rank", "S~", "v", "S_final"]
            yield Table(columns, body, f"{row.name} on {record['id']}")
