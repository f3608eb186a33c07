import math

import ir_measures as ir
import numpy as np
import pytest
import ranx
from abduce.eval import metrics as m
from hypothesis import given, settings
from hypothesis import strategies as st

IDS = ["a", "b", "c", "d", "e"]


def test_values_by_hand() -> None:
    assert m.rank_of(IDS, "c") == 3
    assert m.rank_of(IDS, "c", depth=2) is None
    assert [m.recall(IDS, "c", k) for k in (1, 2, 3, 200)] == [0, 0, 1, 1]
    assert m.reciprocal_rank(IDS, "c") == pytest.approx(1 / 3)
    assert m.reciprocal_rank(IDS, "z") == 0
    assert (m.accuracy(IDS, "a"), m.accuracy(IDS, "b"), m.accuracy([], "a")) == (1, 0, 0)


def test_several_gold_ids_and_grades() -> None:
    assert m.recall(IDS, {"b", "e", "z"}, 2) == pytest.approx(1 / 3)
    assert m.recall(IDS, {"a": 1, "b": 0}, 1) == 1
    graded = {"a": 1, "c": 3}
    got = 1 / math.log2(2) + 3 / math.log2(4)
    ideal = 3 / math.log2(2) + 1 / math.log2(3)
    assert m.measure("nDCG")(IDS, graded) == pytest.approx(got / ideal)
    assert m.measure("nDCG")(IDS, "b") == pytest.approx(1 / math.log2(3))
    assert m.measure("nDCG")(["a", "a"], {"a": 1, "b": 1}) == pytest.approx(1 / (1 + 1 / math.log2(3)))


def test_no_relevant_id_scores_zero_everywhere() -> None:
    assert m.recall(IDS, {"a": 0}, 5) == m.measure("nDCG")(IDS, {"a": 0}) == m.measure("P@5")([], "a") == 0


def test_namespace_prefix_is_stripped_on_both_sides_and_nothing_else() -> None:
    assert m.rank_of(["us-gaap:Cash", "us-gaap:Assets"], "Assets") == 2
    assert m.rank_of(["Cash", "Assets"], "us-gaap:Assets") == 2
    assert m.rank_of(["assets", "AssetsNet"], "Assets") is None
    assert m.local_name("odd:") == "odd:"
    assert m.rank_of(["MESH:14330", "DOID:14330"], "DOID:14330") == 2


def test_mrr_stops_at_depth_200() -> None:
    ids = [str(i) for i in range(300)]
    assert m.measure("MRR")(ids, "199") == 1 / 200
    assert m.measure("MRR")(ids, "200") == 0
    assert m.measure("R@200")(ids, "199") == 1


def test_score_ranking_names_what_was_measured() -> None:
    values = m.score_ranking(IDS, "b", selected=["b", "a"])
    assert values == {"R@1": 0, "R@10": 1, "R@50": 1, "R@200": 1, "MRR": 0.5, "Acc": 1}
    assert m.score_ranking(IDS, "z") == {"R@1": 0, "R@10": 0, "R@50": 0, "R@200": 0, "MRR": 0}
    assert "Acc" not in m.score_ranking(IDS, "b")


@pytest.mark.parametrize("name", ["R", "R@", "R@0", "R@x", "tea", "P", "Acc@1", "MRR@-1"])
def test_unknown_measures_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        m.measure(name)


NAMES = ("R@1", "R@5", "R@20", "MRR@10", "nDCG@5", "nDCG@20")


@settings(max_examples=60)
@given(st.data())
def test_shortcut_for_the_papers_columns_is_the_general_definition(data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, 400).map(str), unique=True, max_size=300))
    gold = data.draw(st.integers(0, 400).map(str))
    assert m.score_ranking(ids, gold) == {n: m.measure(n)(ids, gold) for n in m.RANKING_MEASURES}


def _random_rankings(seed: int) -> tuple[dict[str, list[str]], dict[str, dict[str, int]]]:
    rng = np.random.default_rng(seed)
    runs, qrels = {}, {}
    for q in range(int(rng.integers(1, 6))):
        docs = rng.permutation(40)[: int(rng.integers(1, 40))]
        runs[f"q{q}"] = [f"d{d}" for d in docs]
        judged = rng.choice(40, size=int(rng.integers(1, 8)), replace=False)
        grades = {f"d{d}": int(g) for d, g in zip(judged, rng.integers(0, 4, size=8), strict=False)}
        grades[f"d{judged[0]}"] = max(1, grades[f"d{judged[0]}"])
        qrels[f"q{q}"] = grades
    return runs, qrels


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_parity_with_ir_measures(seed: int) -> None:
    runs, qrels = _random_rankings(seed)
    run = {q: {d: float(len(ids) - i) for i, d in enumerate(ids)} for q, ids in runs.items()}
    theirs = [ir.parse_measure(n.replace("MRR", "RR")) for n in NAMES]
    found = {(r.query_id, str(r.measure)): r.value for r in ir.iter_calc(theirs, qrels, run)}
    for q, ids in runs.items():
        for name, other in zip(NAMES, theirs, strict=True):
            assert m.measure(name)(ids, qrels[q]) == pytest.approx(found[q, str(other)], abs=1e-9), name


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_parity_with_ranx(seed: int) -> None:
    runs, qrels = _random_rankings(seed)
    run = ranx.Run({q: {d: float(len(ids) - i) for i, d in enumerate(ids)} for q, ids in runs.items()})
    names = [n.lower().replace("r@", "recall@") if n[0] == "R" else n.lower() for n in NAMES]
    positive = {q: {d: g for d, g in grades.items() if g > 0} for q, grades in qrels.items()}
    theirs = ranx.evaluate(ranx.Qrels(positive), run, names, make_comparable=True)
    for name, other in zip(NAMES, names, strict=True):
        ours = np.mean([m.measure(name)(ids, qrels[q]) for q, ids in runs.items()])
        assert ours == pytest.approx(theirs[other], abs=1e-6), name
