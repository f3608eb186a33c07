"""Rows that ask about several facts at once: an interrupted run goes on and ends as one that was not."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from abduce.data.example import Example
from abduce.eval.experiments.files import parse_experiment
from abduce.eval.experiments.taxonomy import make_rows
from abduce.eval.runs.runner import run
from abduce.eval.runs.taxonomy_codec import TaxonomyCodec
from abduce.programs.methods import Parts
from abduce.signatures.types import Fact, SourceContext

TEXT = """
[[row]]
name = "FHS, shared evidence"
program = "FHS, shared evidence"
[[row]]
name = "FHS, table"
program = "FHS, table"
"""
TABLE = SourceContext(context_id="t", text="<table><tr><td>Debt</td></tr></table>", modality="table")
EXAMPLES = [
    Example(
        f"{row} {year}",
        {
            "fact": Fact(
                fact_id=f"{row} {year}", value="1", datatype="monetaryItemType",
                row_header=row, column_header=year, context=TABLE,
            )
        },
        "DebtCurrent", "t", {"modality": "table"},
    )
    for row in ("Debt", "Goodwill", "Tax")
    for year in ("2024", "2023")
]  # fmt: skip


@pytest.fixture
def go(tiny, tiny_index, schema, scripted, reply, using, tmp_path):
    def session(out, stop_after=None, examples=EXAMPLES, concurrency=1):
        done = Counter()

        def verify(asked):
            done["calls"] += 1
            if stop_after is not None and done["calls"] > stop_after:
                raise KeyboardInterrupt
            n = asked.field("candidates").count("\n") + 1
            return {"verdicts": ["snsnsn"] * n}

        lm = scripted(
            generator=lambda a: reply(f"{a.field('row_header')} amount", Role="amount"), verifier=verify
        )
        parts = Parts(lambda _: tiny_index, tiny, schema, facts=[e.inputs["fact"] for e in examples])
        rows = make_rows(parse_experiment(TEXT, tmp_path / "x.toml"), parts, "print", "scripted")
        with using(lm):
            found = run(
                rows, examples, codec=TaxonomyCodec(), out=tmp_path / out, concurrency=concurrency,
                experiment="x", data="d",
            )  # fmt: skip
        return found, lm

    return session


def summary(path):
    found = json.loads((path / "summary.json").read_text())
    return [{k: v for k, v in row.items() if k != "cost"} for row in found["rows"]]


def test_an_interrupted_run_goes_on_and_ends_as_one_that_was_not(go, tmp_path):
    whole, _ = go("whole")
    with pytest.raises(KeyboardInterrupt):
        go("parts", stop_after=3)  # in the middle of the second of three groups
    resumed, _ = go("parts")
    assert resumed.resumed == 2
    assert summary(tmp_path / "parts") == summary(tmp_path / "whole")
    costs = {row.name: float(row.costs["llm_calls"].sum()) for row in whole.rows}
    assert costs == {"FHS, shared evidence": 12, "FHS, table": 7}  # 3 groups of 4 calls; 6 samples and 1 call


def test_the_calls_are_counted_once_whatever_runs_side_by_side(go):
    _, alone = go("a")
    _, many = go("b", concurrency=4)
    assert alone.stages() == many.stages() == {"generator": 12, "verifier": 6, "table": 1}


def test_other_facts_make_another_group_and_nothing_old_is_taken_over(go):
    go("run", examples=EXAMPLES[1:])
    again, _ = go("run")
    assert again.resumed == 0
