"""Retrieval experiments against published numbers."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from abduce.data.folder import DataFolder
from abduce.eval.experiments.evaluate import evaluate
from abduce.eval.experiments.files import load_experiment, parse_experiment
from abduce.eval.report.report import load_run, report_tables
from abduce.eval.runs.plain_codec import PlainCodec
from abduce.eval.runs.run import Run
from abduce.retrievers.errors import InputError

TOML = """
family = "retrieval"
name = "tiny"
corpus = "c.jsonl"
queries = "q.jsonl"
qrels = "r.tsv"
measures = ["R@1", "RR"]
notes = ["A note."]
[[row]]
name = "BM25"
retriever = { kind = "bm25", w_cov = 0.0 }
reference = { "RR" = 0.9 }
[[row]]
name = "BM25, titles too"
base = "BM25"
set = { "retriever.w_cov" = 0.5 }
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


def go(folder: Path, **options: Any) -> Run:
    return evaluate(folder / "tiny.toml", data=folder, **options)


def test_measures_by_hand(folder: Path) -> None:
    # Query 1 finds a before b (its only relevant one): R@1 0, RR 1/2. Query 2 finds c at once: 1, 1.
    run = go(folder)
    row = run["BM25"]
    assert (row.mean("R@1")[0], row.mean("RR")[0], row.reference) == (0.5, 0.75, {"RR": 0.9})
    assert list(row.values) == ["R@1", "RR"]
    assert run.data.startswith("tiny, 2 queries, 3 documents, from")
    assert run.notes == ["A note."]


def test_ties_keep_the_order_of_the_ranking() -> None:
    codec = PlainCodec(["RR"])
    assert codec.score({"ranking": {"ids": ["z", "a"], "scores": [1.0, 1.0]}}, {"z": 1}) == {"RR": 1.0}


def test_it_is_run_resumed_and_reported_like_any_other(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert go(folder, out=out, rows=["BM25"]).resumed == 0
    again = go(folder, out=out, rows=["BM25"], measures=["P@1"])
    assert (again.resumed, again["BM25"].mean("P@1")[0]) == (2, 0.5)
    assert [len(r["ranking"]["ids"]) for r in again.records("BM25")]
    titles = [t.title for t in report_tables(load_run(out))]
    assert titles[0].startswith("tiny, tiny, 2 queries")
    assert "retriever.kind" in (out / "resolved.toml").read_text()
    resolved = parse_experiment((out / "resolved.toml").read_text(), out / "resolved.toml")
    assert evaluate(resolved, data=folder, out=out).resumed == 2
    few = go(folder, limit=1)
    assert len(few.examples) == 1
    assert few["BM25"].reference == {}


def test_from_the_command_line(folder: Path, cli: Any) -> None:
    done = cli("eval", str(folder / "tiny.toml"), "--data", str(folder), "--intervals", "--row", "BM25")
    assert done.code == 0
    assert ".750 [.500, 1.000] (.900)" in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("[[row]]", "[[row"), "is not TOML"),
        (('name = "tiny"', 'colour = "red"'), "field 'colour': no such setting"),
        (('["R@1", "RR"]', '["nosuch@3"]'), "ir-measures does not know it"),
        (('kind = "bm25"', 'kind = "bm52"'), "no retriever 'bm52'"),
        (('"retriever.w_cov"', '"retriever.tea"'), "field 'retriever.tea': no such setting"),
        (('base = "BM25"', 'base = "BM26"'), "no earlier row 'BM26'"),
        (('base = "BM25"', 'program = "FHS"'), "a row is a retriever"),
        (('"retriever.w_cov"', '"beta"'), "no setting 'beta'"),
        (('"r.tsv"', '"none.tsv"'), "no such file"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(folder: Path, change: tuple[str, str], says: str) -> None:
    path = folder / "tiny.toml"
    path.write_text(TOML.replace(*change, 1))
    with pytest.raises(InputError) as caught:
        go(folder)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_lines_are_refused_or_skipped(folder: Path) -> None:
    with pytest.raises(InputError, match="no row 'nosuch'; it has BM25"):
        go(folder, rows=["nosuch"])
    with pytest.raises(InputError, match="field 'split'"):
        go(folder, split="dev")
    notes: list[str] = []
    (folder / "r.tsv").write_text("query-id\tcorpus-id\tscore\n1\tb\tyes\n2\tc\t1\n9\tb\t1\n")
    with pytest.raises(InputError, match=r"r\.tsv:2: field 'score'"):
        go(folder)
    run = go(folder, skip_bad=True, on_note=notes.append)
    assert [e.id for e in run.examples] == ["2"]
    assert any("no query '9'" in line for line in notes)
    assert notes[-1] == "2 bad queries were skipped"


def test_bm25_reproduces_the_published_numbers_on_scifact(shared_data: Path) -> None:
    pytest.importorskip("Stemmer")
    assert {row.name for row in load_experiment("retrieval-scifact").rows} >= {"BM25", "all-MiniLM-L6-v2"}
    if not (DataFolder.find(shared_data).root / "qa" / "scifact_beir").is_dir():
        pytest.skip("SciFact is not here")
    row = evaluate("retrieval-scifact", data=shared_data, rows=["BM25"])["BM25"]
    assert row.mean("nDCG@10")[0] == pytest.approx(0.678, abs=0.002)
    assert row.mean("R@100")[0] == pytest.approx(0.925, abs=0.002)


def test_the_experiment_is_part_of_the_package() -> None:
    assert (resources.files("abduce.eval") / "experiments" / "retrieval-scifact.toml").is_file()
