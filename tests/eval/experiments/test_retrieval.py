"""Retrieval experiments against published numbers."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
from abduce.cli.main import app
from abduce.data.folder import DataFolder
from abduce.eval.experiments.families import ir_file
from abduce.eval.experiments.retrieval import IRExperiment, ir_table, load_ir, parse_ir, score_ir
from abduce.eval.tables import Cell
from abduce.retrievers.base import Ranking
from abduce.retrievers.errors import InputError
from typer.testing import CliRunner

pytest.importorskip("ir_measures")

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"
TOML = """
family = "retrieval"
name = "tiny"
corpus = "c.jsonl"
queries = "q.jsonl"
qrels = "r.tsv"
measures = ["R@1", "RR"]
[[row]]
name = "BM25"
retriever = { kind = "bm25", w_cov = 0.0 }
reference = { "RR" = 0.9 }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    passages = [("a", "cash flow"), ("b", "cash"), ("c", "debt")]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps({"_id": i, "text": t}) + "\n" for i, t in passages))
    queries = [("1", "cash flow"), ("2", "debt"), ("3", "not judged")]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps({"_id": i, "text": t}) + "\n" for i, t in queries))
    (tmp_path / "r.tsv").write_text("query-id\tcorpus-id\tscore\n1\tb\t1\n2\tc\t1\n")
    (tmp_path / "tiny.toml").write_text(TOML)
    return tmp_path


def tiny(folder: Path) -> IRExperiment:
    return parse_ir(TOML, folder / "tiny.toml")


def test_measures_by_hand(folder: Path) -> None:
    # Query 1 finds a before b (its only relevant one): R@1 0, RR 1/2. Query 2 finds c at once: 1, 1.
    table = ir_table(tiny(folder), load_ir(tiny(folder), DataFolder.find(folder)))
    [[name, recall, rr]] = table.rows
    assert name == "BM25"
    assert isinstance(recall, Cell)
    assert isinstance(rr, Cell)
    assert (recall.value, rr.value, rr.reference) == (0.5, 0.75, 0.9)
    assert "2 queries, 3 documents" in table.notes


def test_ties_keep_the_order_of_the_ranking() -> None:
    rankings = {"1": Ranking.of(["z", "a"], [1.0, 1.0])}
    assert score_ir(rankings, {"1": {"z": 1}}, ["RR"]) == {"RR": 1.0}


def test_from_the_command_line(folder: Path) -> None:
    got = CliRunner().invoke(app, ["eval", str(folder / "tiny.toml"), "--data", str(folder)])
    assert got.exit_code == 0, got.output
    assert "BM25" in got.stdout
    assert ".75" in got.stdout


def test_bad_input_is_one_line(folder: Path) -> None:
    experiment, data = tiny(folder), DataFolder.find(folder)
    with pytest.raises(InputError, match="no row 'nosuch'; there are BM25"):
        ir_table(experiment, load_ir(experiment, data), ["nosuch"])
    with pytest.raises(InputError, match="is not TOML"):
        parse_ir("x", folder / "tiny.toml")
    with pytest.raises(InputError, match="'colour'"):
        parse_ir("colour = 1\n" + TOML, folder / "tiny.toml")
    with pytest.raises(InputError, match="does not know"):
        score_ir({}, {}, ["nosuch@3"])
    (folder / "r.tsv").write_text("query-id\tcorpus-id\tscore\n1\tb\tyes\n")
    with pytest.raises(InputError, match=r"r\.tsv:2: field 'score'"):
        load_ir(experiment, data)
    (folder / "r.tsv").write_text("query-id\tcorpus-id\tscore\n9\tb\t1\n")
    with pytest.raises(InputError, match="no query '9'"):
        load_ir(experiment, data)


def test_bm25_reproduces_the_published_numbers_on_scifact() -> None:
    pytest.importorskip("Stemmer")
    path = ir_file("retrieval-scifact")
    assert path is not None
    experiment = parse_ir(path.read_text(), path)
    assert {row.name for row in experiment.row} >= {"BM25", "all-MiniLM-L6-v2"}
    if not (DATA / "qa" / "scifact_beir").is_dir():
        pytest.skip("SciFact is not here")
    data = load_ir(experiment, DataFolder.find(DATA))
    [[_, ndcg, recall]] = ir_table(experiment, data, ["BM25"]).rows
    assert isinstance(ndcg, Cell)
    assert isinstance(recall, Cell)
    assert ndcg.value == pytest.approx(0.678, abs=0.002)
    assert recall.value == pytest.approx(0.925, abs=0.002)


def test_the_experiment_is_part_of_the_package() -> None:
    assert (resources.files("abduce.eval") / "experiments" / "retrieval-scifact.toml").is_file()
