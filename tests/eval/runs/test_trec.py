from pathlib import Path

import ir_measures as ir
import numpy as np
import pytest
from abduce.eval.runs import trec
from abduce.eval.runs.export import read_trec
from abduce.retrievers.errors import InputError
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.sampled_from(["q1", "q2", "q3"]),
        st.lists(st.tuples(st.integers(0, 99), st.floats(-5, 5)), unique_by=lambda t: t[0], min_size=1),
        min_size=1,
    )
)
def test_order_survives_the_round_trip_whatever_the_scores(
    tmp_path_factory: pytest.TempPathFactory, runs: dict[str, list[tuple[int, float]]]
) -> None:
    path = tmp_path_factory.mktemp("trec") / "run.trec"
    rankings = {q: trec.TrecRanking([f"d{i}" for i, _ in r], [s for _, s in r]) for q, r in runs.items()}
    trec.write_run(path, rankings, tag="my system")
    read = trec.read_run(path)
    assert {q: list(r.ids) for q, r in read.items()} == {q: list(r.ids) for q, r in rankings.items()}
    for ranking in read.values():
        assert (np.diff(np.asarray(ranking.scores, dtype=np.float32)) < 0).all()


def test_other_tools_see_our_order_in_ties(tmp_path: Path) -> None:
    ids = ["b", "z", "a"]
    trec.write_run(tmp_path / "run", {"q": trec.TrecRanking(ids, [0.5, 0.5, 0.5])})
    trec.write_qrels(tmp_path / "qrels", {"q": {"b": 1}})
    run, qrels = ir.read_trec_run(str(tmp_path / "run")), ir.read_trec_qrels(str(tmp_path / "qrels"))
    assert ir.calc_aggregate([ir.parse_measure("RR")], qrels, run)[ir.parse_measure("RR")] == 1.0


def test_scores_that_already_fall_are_kept(tmp_path: Path) -> None:
    trec.write_run(tmp_path / "run", {"q": trec.TrecRanking(["a", "b"], [1.5, 0.25])})
    assert (tmp_path / "run").read_text() == "q Q0 a 1 1.5 abduce\nq Q0 b 2 0.25 abduce\n"


def test_ties_of_a_foreign_file_follow_its_ranks(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 a 2 1.0 t\nq Q0 b 1 1.0 t\nq Q0 c 3 2.0 t\n\n")
    assert list(trec.read_run(tmp_path / "run")["q"].ids) == ["c", "b", "a"]


def test_qrels_round_trip(tmp_path: Path) -> None:
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"c": 3}}
    trec.write_qrels(tmp_path / "q", qrels)
    assert trec.read_qrels(tmp_path / "q") == qrels


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("q Q0 a 1 1.0 t\nq Q0 a 2 .5 t\n", ":2: duplicate document 'a'"),
        ("q Q0 a 1 1.0\n", ":1: has 5 fields, not 6"),
        ("q Q0 a 1 high t\n", ":1: field 'score': 'high' is not a number"),
        ("q Q0 a 1 nan t\n", ":1: field 'score'"),
    ],
)
def test_bad_runs_name_file_and_line(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "run.trec").write_text(text)
    with pytest.raises(InputError, match=r"run\.trec") as caught:
        trec.read_run(tmp_path / "run.trec")
    assert complaint in str(caught.value)


def test_what_trec_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="white space"):
        trec.write_run(tmp_path / "r", {"q": trec.TrecRanking(["two words"], [1.0])})
    with pytest.raises(InputError, match="whole numbers"):
        trec.write_qrels(tmp_path / "q", {"q": {"a": 0.5}})
    assert not list(tmp_path.iterdir())
    (tmp_path / "q").write_text("q 0 a inf\n")
    with pytest.raises(InputError, match="not a whole number"):
        trec.read_qrels(tmp_path / "q")


def test_foreign_trec_files(tmp_path: Path) -> None:
    (tmp_path / "a.trec").write_text("q1 Q0 d1 1 2.0 x\nq1 Q0 d2 2 1.0 x\n")
    (tmp_path / "qrels").write_text("q1 0 d2 1\nq2 0 d9 1\nq3 0 d1 0\n")
    [summary] = read_trec([tmp_path / "a.trec"], tmp_path / "qrels").summary()["rows"]
    assert (summary["n"], summary["MRR"], summary["R@10"]) == (2, 0.25, 0.5)
    (tmp_path / "b.trec").write_text("other Q0 d1 1 2.0 x\n")
    with pytest.raises(InputError, match="answers none of the queries"):
        read_trec([tmp_path / "b.trec"], tmp_path / "qrels")
    with pytest.raises(InputError, match="same name"):
        read_trec([tmp_path / "a.trec"] * 2, tmp_path / "qrels")
    (tmp_path / "none").write_text("q1 0 d2 0\n")
    with pytest.raises(InputError, match="no query with a relevant document"):
        read_trec([tmp_path / "a.trec"], tmp_path / "none")
