"""The analyses against traces whose numbers are worked out by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

import dspy
import pytest
from abduce.data.example import Example
from abduce.eval.report import fhs as a
from abduce.eval.report.breakdown import breakdown, label_length
from abduce.eval.report.report import report_tables
from abduce.eval.runs.row import Row
from abduce.eval.runs.run import Run
from abduce.eval.runs.runner import run
from abduce.eval.runs.taxonomy_codec import TaxonomyCodec
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
    structured = {"verifier": "made"} if values else {}
    trace = Trace(settings={"K": 200, "kappa": 60.0} | structured | more.pop("settings", {}), **more)
    trace.retrieved([Query("q", f, h, r) for f, h, r, _ in searches], [Ranking.of(i) for *_, i in searches])
    trace.hypotheses = [Hypothesis(values=dict.fromkeys("FRE"[:n], "v")) for n in values]
    trace.pool = fuse(trace.rankings)
    trace.judged = [
        Judged(j, list(w or "g"), None if w is None else [verdict(c, x) for c, x in w.items()])
        for j, w in enumerate(verdicts)
    ]
    ranking = Ranking.of(final) if final else final_ranking(trace.pool, {}, 0.0)
    return dspy.Prediction(ranking=ranking, trace=trace)


def go(
    references: Mapping[str, Mapping[str, float]] | None = None, seeds: int = 1, **rows: Sequence[Any]
) -> Run:
    """A run whose rows answer example i, gold "g", under seed s with their (s * examples + i)-th prediction.

    What is no prediction fails. Examples 0 and 1 are of one context, 2 and 3 of the next, and so on.
    """
    n = max(map(len, rows.values())) // seeds
    examples = [
        Example(f"e{i}", {"n": i}, "g", f"c{i // 2}", {"modality": ("table", "text")[i % 2]})
        for i in range(n)
    ]

    made_ = [
        Row(
            (called := name.replace("_", " ")),
            lambda s, found=found: lambda n: found[s * len(examples) + n],
            seeds=range(seeds),
            reference=(references or {}).get(called, {}),
        )
        for name, found in rows.items()
    ]
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


def tables(
    references: Mapping[str, Mapping[str, float]] | None = None, seeds: int = 1, **rows: Sequence[Any]
) -> dict[str, Any]:
    return {t.title: t for t in a.fhs_tables(go(references, seeds, **rows))}


def cells(table: Any, row: str) -> dict[str, Any]:
    [found] = [r for r in table.rows if r[0] == row]
    return dict(zip(table.columns, found, strict=True))


def chosen(ids: Sequence[str], *first: str) -> dspy.Prediction:
    """A prediction whose selector put these concepts on top."""
    one = made([("direct", None, 0, ids)])
    one.trace.selected = list(first)
    one.retrieved = one.ranking
    one.ranking = Ranking.of([*first, *(i for i in ids if i not in first)])
    return one


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
    assert (got["Cov@J"], got["single R@K"]) == (1, (0.5 + 1) / 2)
    assert got["Jaccard"] == pytest.approx(2 / 8)


def test_a_hypothesis_has_one_fused_list_of_at_most_K() -> None:
    """With K = 3 the lists are a b c and x y a: b before c and y before a, as the first ranking had them."""
    cut = made(
        [
            ("label", 0, 0, "abg"),
            ("definition", 0, 0, "acd"),
            ("label", 1, 0, "xyz"),
            ("definition", 1, 0, "xab"),
        ],
        values=[1, 1],
        settings={"K": 3},
    )
    got = line(tables(fhs=[cut])["Hypotheses"], "fhs")
    assert (got["Cov@J"], got["single R@K"]) == (0, 0)
    assert got["Jaccard"] == pytest.approx(1 / 5)


def test_a_hypothesis_that_resolves_nothing_is_counted_and_a_description_is_not() -> None:
    open_ = made([("definition", 0, 0, "g"), ("definition", 1, 0, "g")], values=[3, 0])
    described = made([("definition", 0, 0, "g")])
    described.trace.hypotheses = [Hypothesis(retrieval_query="a text")]
    found = tables(fhs=[open_], free=[described])["Hypotheses"]
    assert line(found, "fhs")["dimensions resolved"] == 1.5
    assert line(found, "free")["dimensions resolved"] is None
    assert line(found, "free")["single R@K"] == 1


def test_equal_supports_are_a_tie_however_they_add_up() -> None:
    """Ten candidates at 4 of 5: as floats the mean of nine times .8 is .7999999999999999."""
    names = dict(zip("ABCDE", "ssssn", strict=True))
    window = ["g", *(f"c{i}" for i in range(9))]
    tie = made([("label", 0, 0, window)], values=[5])
    said = [Verdict(c, {d: CODES[x] for d, x in names.items()}) for c in window]
    tie.trace.judged = [Judged(0, window, said)]
    got = line(tables(fhs=[tie])["Verifier behaviour"], "fhs")
    assert (got["favours gold"], got["separation"]) == (0, 0)
    wrong = made([("label", 0, 0, window[1:])], values=[5])
    wrong.trace.judged = [Judged(0, window[1:], said[1:])]
    assert line(tables(fhs=[tie, wrong])["Verifier behaviour"], "fhs")["AUROC wrong"] == 0.5


def test_coverage_of_each_hypothesis_alone_is_the_mean_of_their_own_pools() -> None:
    both = [("label", 0, 0, "gab"), ("label", 1, 0, "xy")]
    each, oracle, whole = made(both, values=[1, 1]), made(both, values=[1, 1]), made(both, values=[1, 1])
    each.alternatives = [Ranking.of("gab"), Ranking.of("xy")]
    oracle.trace.notes["chosen_hypothesis"] = 1
    oracle.ranking = Ranking.of("xy")
    one = go(each=[each], oracle=[oracle], fhs=[whole])
    found = {t.title: t for t in a.fhs_tables(one)}["Search coverage"]
    shown = {
        name: [line(found, name)[c] for c in ("Pr(gold in U)", "Pr(gold in top K)", "mean |U|")]
        for name in ("each", "oracle", "fhs")
    }
    assert shown == {"each": [0.5, 0.5, 2.5], "oracle": [0, 0, 2], "fhs": [1, 1, 5]}
    assert [one[name].mean("Cov")[0] for name in ("each", "oracle", "fhs")] == [0.5, 0, 1]


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
    assert (table.columns, table.rows) == (["row", "n", "dropped replies"], [["fhs", 2, 3]])


SEQ = {"rounds": 3, "Kv": 10}
EARLY = [f"x{i}" for i in range(60)]
LATE = [*(f"y{i}" for i in range(19)), "g", *(f"z{i}" for i in range(20))]


def test_rounds_are_over_all_facts_and_stopped_ones_keep_their_pool() -> None:
    revised = made(
        [("label", 0, 0, EARLY), ("label", 1, 1, LATE)], [{"x0": "sss"}], values=[1, 1], settings=SEQ
    )
    stopped = made([("label", 0, 0, "agb")], [{"a": "sss"}], values=[1], settings=SEQ)
    whole = made([("label", 0, r, "ab") for r in range(4)], [{"a": "nnn"}], values=[1], settings=SEQ)
    table = tables(
        {"seq": {"R@50 full episode": 0.544}}, seq=[revised, stopped, whole, "broken"], fhs=[ONE] * 4
    )["Rounds of the sequential control"]
    assert [r[0] for r in table.rows] == ["seq"]
    got = cells(table, "seq")
    assert got["n"] == 4
    recalls = [got[f"R@50 round {i}"].value for i in (1, 2, 3)] + [got["R@50 full episode"].value]
    assert recalls == [0.25, 0.5, 0.5, 0.5]
    assert got["R@50 full episode"].reference == 0.544
    # By context: the first has differences 1 and 0, the second 0 and (failed) 0.
    assert (got["difference"].value, got["difference"].low, got["difference"].high) == (0.25, 0, 0.5)
    replaced = 1 - len(set(EARLY[:50]) & set(fuse(revised.trace.rankings).ids[:50])) / 50
    assert replaced > 0.3
    assert got["churn"].value == pytest.approx(replaced / 3)
    assert got["rounds used"].value == pytest.approx((2 + 1 + 4) / 3)
    assert got["full budget"].value == got["round one only"].value == pytest.approx(1 / 3)


def test_a_refinement_has_rounds_but_is_no_sequential_control() -> None:
    refined = made([("critique", 0, 0, "ga")], settings={"rounds": 4})
    assert "Rounds of the sequential control" not in tables(refine=[refined])


def test_the_end_of_every_row_where_one_has_a_selector() -> None:
    off, fell = chosen("agb"), chosen("agb")
    off.trace.selected = fell.trace.selected = None
    fell.trace.count("selector_failed")
    found = tables(
        {"on": {"Acc": 0.255}, "off": {"R@1": 0.185, "MRR": 0.257}},
        on=[chosen("abg", "g"), fell, "broken"],
        off=[off, off, off],
    )["Where the rows end"]
    on, plain = cells(found, "on"), cells(found, "off")
    assert (on["selector"], plain["selector"]) == ("on", "off")
    assert on["MRR (end)"].value == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert on["top-1 (end)"].value == pytest.approx(1 / 3)
    assert (plain["MRR (end)"].value, plain["top-1 (end)"].value) == (0.5, 0)
    assert (on["MRR (end)"].reference, on["top-1 (end)"].reference) == (None, 0.255)
    assert (plain["MRR (end)"].reference, plain["top-1 (end)"].reference) == (0.257, 0.185)
    assert "Where the rows end" not in tables(off=[off])


def test_several_seeds_are_means_not_sums() -> None:
    miss = made([("label", 0, 0, "ab")], [{"a": "sss"}], [1], final="ab")
    miss.trace.count("dropped_replies", 1)
    found = tables(seeds=2, fhs=[ONE, TWO, ONE, miss])
    covered = cells(found["Search coverage"], "fhs")
    assert covered["n"] == 2
    assert covered["Pr(gold in U)"].value == 0.75
    assert covered["Pr(gold in U)"].sd == pytest.approx(0.5 / 2**0.5)
    moved = cells(found["What the verifier moves"], "fhs")
    assert (moved["n"], moved["verified facts"].value, moved["moved to rank 1"].value) == (2, 2, 1)
    counted = cells(found["Counted"], "fhs")
    assert (counted["n"], counted["dropped replies"].value) == (2, 2)
    assert counted["dropped replies"].sd == pytest.approx(2**0.5)


def test_a_failed_fact_covers_nothing() -> None:
    got = line(tables(fhs=[TWO, "broken"])["Search coverage"], "fhs")
    assert (got["n"], got["Pr(gold in U)"], got["mean |U|"]) == (2, 0.5, 3)


def test_the_papers_numbers_of_analyses_stand_beside_them_alone() -> None:
    one = go({"fhs": {"gold in window": 0.357, "dimensions resolved": 5.12}}, fhs=[ONE, TWO])
    found = {t.title: t for t in a.fhs_tables(one)}
    assert cells(found["Verifier behaviour"], "fhs")["gold in window"].reference == 0.357
    assert cells(found["Hypotheses"], "fhs")["dimensions resolved"].reference == 5.12
    assert all(getattr(c, "reference", None) is None for r in one.table().rows for c in r)
    assert not any("paper" in note for note in one.table().notes)


def test_the_papers_numbers_by_group() -> None:
    hit, miss = chosen("ag", "g"), chosen("ag", "a")
    one = go({"direct": {"Acc by modality: table": 0.117}}, direct=[hit, miss])
    [found] = breakdown(one, "modality", "Acc").rows
    assert [(c.value, c.reference) for c in found[1:]] == [(1, 0.117), (0, None)]  # type: ignore[union-attr]
    titles = [t.title for t in report_tables(one)]
    assert {"MRR by modality", "Acc by modality"} <= set(titles)
    assert "Acc by modality" not in [t.title for t in report_tables(go(direct=[hit, miss]))]


def test_headroom() -> None:
    best = made([("label", 0, 0, "ga")])
    table = tables(fhs=[TWO, best], oracle_best_single=[best, best])["Headroom to the oracle"]
    assert table.rows[0][:2] == ["oracle best single", "fhs"]
    got = line(table, "oracle best single")
    assert (got["H(R@1)"], got["H(MRR)"]) == (0.5, pytest.approx((1 - 1 / 3) / 2))
    assert (got["A(R@1)"], got["A(MRR)"]) == (0.5, pytest.approx((1 / 3 + 1) / 2))
    assert got["H(R@50)"] == 0
    assert "Headroom to the oracle" not in tables(fhs=[TWO])


def scored(ids: str, scores: Sequence[float]) -> dspy.Prediction:
    one = made([("direct", None, 0, ids)])
    one.ranking = Ranking.of(ids, scores)
    return one


def test_readiness_is_a_difference_of_scores() -> None:
    raw, miss = scored("abg", [3.0, 2.0, 0.5]), scored("ab", [3.0, 1.5])
    probe = scored("g", [2.5])
    rows = {"direct": [raw, miss, miss, "broken"], "probe": [probe, probe, scored("a", [1.0]), probe]}
    got = line(tables(**rows)["Retrieval readiness gap (Eq. 1)"], "probe")
    assert (got["n (gold retrieved)"], got["mean gap"], got["share > 0"]) == (1, 2, 1)
    # The second fact's gold scores at most 1.5 raw, so its gap is at least 1; the third's probe has no gold.
    assert (got["n (all)"], got["mean gap, lower bound"], got["share > 0, lower bound"]) == (2, 1.5, 1)


def test_readiness_compares_scores_of_one_retriever_alone() -> None:
    found = {
        "direct": scored("ag", [2.0, 1.0]),
        "probe": scored("g", [3.0]),
        "probe: bare": scored("g", [9.0]),
    }
    rows = [
        Row(
            name,
            lambda s, one=one: lambda n: one,
            settings={"retriever": {"w_cov": float("bare" not in name)}},
        )
        for name, one in found.items()
    ]
    one = run(rows, [Example("e", {"n": 0}, "g")], codec=TaxonomyCodec(), keep=True)
    assert [r[:2] for r in a.readiness_table(one).rows] == [["probe", 1]]


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
    assert "Search coverage" in [t.title for t in report_tables(go(direct=[direct]))]


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
    assert label_length(tokens) == group
    assert label_length(tokens + 90) == "9 or more tokens"
