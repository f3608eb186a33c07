"""The analyses against traces whose numbers are worked out by hand."""

from collections.abc import Sequence
from typing import Any

import dspy
import pytest
from abduce.eval import analyses as a
from abduce.eval.codec import TaxonomyCodec
from abduce.eval.report import report_tables
from abduce.eval.results import Run
from abduce.eval.rows import Example, Row
from abduce.eval.runner import run
from abduce.programs.fusion import final_ranking, fuse
from abduce.programs.trace import Judged, Query, Trace
from abduce.retrievers.base import Ranking
from abduce.signatures.types import Hypothesis, Judgement, Verdict
from hypothesis import given
from hypothesis import strategies as st

CODES = {"s": Judgement.SUPPORT, "n": Judgement.NO_SUPPORT, "x": Judgement.ABSTAIN}


def verdict(concept: str, letters: str) -> Verdict:
    return Verdict(concept_id=concept, judgements={d: CODES[x] for d, x in zip("FRE", letters, strict=True)})


def made(
    searches: Sequence[tuple[str, int | None, int, Sequence[str]]],
    verdicts: Sequence[dict[str, str] | None] = (),
    values: Sequence[int] = (),
    final: Sequence[str] = (),
    **more: Any,
) -> dspy.Prediction:
    """A prediction from searches (form, hypothesis, round, ids) and one window of verdicts a hypothesis."""
    trace = Trace(settings={"K": 200, "kappa": 60.0}, **more)
    trace.retrieved([Query("q", f, h, r) for f, h, r, _ in searches], [Ranking.of(i) for *_, i in searches])
    trace.hypotheses = [Hypothesis(values=dict.fromkeys("FRE"[:n], "v")) for n in values]
    trace.pool = fuse(trace.rankings)
    trace.judged = [
        Judged(j, list(w or "g"), None if w is None else [verdict(c, x) for c, x in w.items()])
        for j, w in enumerate(verdicts)
    ]
    ranking = Ranking.of(final) if final else final_ranking(trace.pool, {}, 0.0)
    return dspy.Prediction(ranking=ranking, trace=trace)


def go(**rows: Sequence[dspy.Prediction]) -> Run:
    """A run whose rows answer example i, gold "g", with their i-th prediction."""
    n = max(map(len, rows.values()))
    examples = [Example(f"e{i}", {"n": i}, "g", f"c{i}") for i in range(n)]
    made_ = [Row(name.replace("_", " "), lambda s, p=found: lambda n: p[n]) for name, found in rows.items()]
    return run(made_, examples, codec=TaxonomyCodec(), keep=True)


def line(table: Any, row: str) -> dict[str, Any]:
    [found] = [r for r in table.rows if r[0] == row]
    return {c: getattr(v, "value", v) for c, v in zip(table.columns, found, strict=True)}


ONE = made(
    [
        ("label", 0, 0, "abg"),
        ("definition", 0, 0, "acd"),
        ("label", 1, 0, "xyz"),
        ("definition", 1, 0, "xab"),
    ],
    [{"a": "snx", "g": "ssx", "b": "xxx"}, {"a": "ssx", "g": "snn"}],
    [2, 3],
    final="gabcdxyz",
    notes={"unnormalised": [{"F": "Odd"}, {"F": "odd", "R": "strange"}]},
)  # fmt: skip
TWO = made([("label", 0, 0, "ab"), ("definition", 0, 0, "bga")], [None], [1], final="bag")
TWO.trace.count("dropped_replies", 3)


def tables(**rows: Sequence[Any]) -> dict[str, Any]:
    return {t.title: t for t in a.fhs_tables(go(**rows))}


def test_coverage_and_consolidation_loss() -> None:
    lost = made([("label", 0, 0, "gab")], values=[1], final="ab")
    got = line(tables(fhs=[lost, TWO])["Search coverage"], "fhs")
    assert (got["n"], got["Pr(gold in U)"], got["Pr(gold in top K)"]) == (2, 1, 0.5)
    assert got["consolidation loss"] == 0.5
    assert got["mean |U|"] == 3


def test_hypotheses_by_hand() -> None:
    got = line(tables(fhs=[ONE, TWO])["Hypotheses"], "fhs")
    assert got["hypotheses a fact"] == 1.5
    assert got["dimensions resolved"] == 2
    assert (got["Cov@J"], got["single R@K"]) == (1, 0.5)
    assert got["Jaccard"] == pytest.approx(2 / 8)


def test_moved_counts() -> None:
    away = made([("label", 0, 0, "ga")], [{"a": "sss", "g": "nnn"}], [3], final="ag")
    got = line(tables(fhs=[ONE, TWO, away])["What the verifier moves"], "fhs")
    assert (got["verified facts"], got["moved to rank 1"], got["moved away from rank 1"]) == (3, 1, 1)


def test_verifier_behaviour() -> None:
    got = line(tables(fhs=[ONE, TWO])["Verifier behaviour"], "fhs")
    assert (got["calls"], got["gold in window"]) == (2, 1)
    assert got["gold support"] == pytest.approx((1 + 1 / 3) / 2)
    assert got["distractors"] == pytest.approx((0.5 + 1) / 2)
    assert got["separation"] == pytest.approx((0.5 - 2 / 3) / 2)
    assert got["favours gold"] == 0.5
    assert (got["base rate"], got["AUROC wrong"]) == (0.5, 1)


def test_values_outside_the_vocabularies() -> None:
    values = {"F": "odd", "R": "strange"}
    ONE_MORE = made([("label", 0, 0, "g")], values=[1])
    ONE_MORE.trace.hypotheses = [Hypothesis(values=values, categories={"F": (), "R": ("known",)})]
    table = tables(fhs=[ONE_MORE, ONE_MORE])["Values not normalised (most frequent)"]
    assert table.rows == [["fhs", "F: odd", 2]]


def test_what_was_counted() -> None:
    table = tables(fhs=[ONE, TWO])["Counted"]
    assert (table.columns, table.rows) == (["row", "dropped replies"], [["fhs", 3]])


def test_rounds_and_churn() -> None:
    early = [f"x{i}" for i in range(60)]
    late = [*(f"y{i}" for i in range(19)), "g", *(f"z{i}" for i in range(20))]
    twice = made([("label", 0, 0, early), ("label", 1, 1, late)], [{"x0": "sss"}], values=[1, 1])
    table = tables(seq=[twice])["Rounds of the sequential control"]
    first, second, churn = ({**dict(zip(table.columns, r, strict=True))} for r in table.rows)
    recall = "R@50 before the verifier"
    assert (first["round"], first[recall].value, second["round"], second[recall].value) == (1, 0, 2, 1)
    replaced = 1 - len(set(early[:50]) & set(fuse(twice.trace.rankings).ids[:50])) / 50
    assert churn["churn of the first top 50"].value == pytest.approx(replaced)
    assert replaced > 0.3


def test_headroom() -> None:
    best = made([("label", 0, 0, "ga")])
    table = tables(fhs=[TWO, best], oracle_best_single=[best, best])["Headroom to the oracle"]
    assert table.rows[0][:2] == ["oracle best single", "fhs"]
    got = line(table, "oracle best single")
    assert (got["R@1"], got["MRR"]) == (0.5, pytest.approx((1 - 1 / 3) / 2))
    assert "Headroom to the oracle" not in tables(fhs=[TWO])


def test_readiness_is_a_difference_of_scores() -> None:
    raw = made([("direct", None, 0, "abg")])
    raw.ranking = Ranking.of("abg", [3.0, 2.0, 0.5])
    miss = made([("direct", None, 0, "ab")])
    probe = made([("gold", None, 0, "g")])
    probe.ranking = Ranking.of("g", [2.5])
    found = tables(direct=[raw, miss], probe=[probe, probe])["Retrieval readiness gap (Eq. 1)"]
    got = line(found, "probe")
    assert (got["n"], got["gold not retrieved raw"], got["mean gap"], got["share > 0"]) == (1, 1, 2, 1)


def test_ranks_by_case() -> None:
    selected = made([("direct", None, 0, "ag")])
    selected.trace.selected = ["g"]
    selected.retrieved = selected.ranking
    selected.ranking = Ranking.of("ga")
    table = tables(direct=[selected, made([("direct", None, 0, "ab")]), "broken"])["Rank of gold by case"]
    assert table.rows == [["direct", "2 \N{CHECK MARK}", ">2", "failed"]]


def test_rows_without_hypotheses_have_no_verifier_tables() -> None:
    direct = made([("direct", None, 0, "ag")])
    assert not {"Verifier behaviour", "Hypotheses", "What the verifier moves"} & set(tables(direct=[direct]))
    assert "Search coverage" in [t.title for t in report_tables(go(direct=[direct]), "taxonomy")]


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=30))
def test_auroc_is_the_share_of_ordered_pairs(data: list[tuple[int, bool]]) -> None:
    yes, no = [s for s, f in data if f], [s for s, f in data if not f]
    pairs = [(y > n) + 0.5 * (y == n) for y in yes for n in no]
    got = a.auroc([s for s, _ in data], [f for _, f in data])
    assert got == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)


@pytest.mark.parametrize(
    ("tokens", "group"), [(1, "1 token"), (2, "2 tokens"), (3, "3-4 tokens"), (8, "5-8 tokens")]
)
def test_label_length_groups(tokens: int, group: str) -> None:
    assert a.label_length(tokens) == group
    assert a.label_length(tokens + 90) == "9 or more tokens"
