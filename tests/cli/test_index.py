"""``abduce index`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from abduce.data.build.index import parse_settings
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.corpus import Corpus
from abduce.retrievers.registry import build_retriever
from abduce.retrievers.settings import BuiltRetrievers, named
from command_line import cli

ROWS = [
    {"id": "C1", "label": "Cash", "definition": "Money at hand.", "datatype": "monetaryItemType"},
    {"id": "C2", "label": "Shares issued", "datatype": "sharesItemType"},
]
PASSAGES = [{"id": "p1", "title": "Fever", "content": "A raised temperature."}]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def run(*arguments: str | Path) -> Any:
    return cli("index", *arguments)


def test_headings_of_a_file_are_named(tmp_path: Path) -> None:
    source, out = tmp_path / "t.csv", tmp_path / "t.index"
    source.write_text("key,words\nA1,Running shoes\n")
    refused = run("build", source, out)
    assert refused.code == 2, refused.said
    assert not out.exists()
    built = run("build", source, out, "--column", "id=key", "--column", "label=words")
    assert built.code == 0, built.said
    assert build_retriever(collection=None, **named(str(out))).search(["shoes"], 1)[0].ids == ["A1"]


def test_build_info_verify(tmp_path: Path) -> None:
    source, out = write(tmp_path / "t.jsonl", ROWS), tmp_path / "t.index"
    built = run("build", source, out, "--set", "k1=0.9", "--set", "tokenizer=tok")
    assert built.code == 0, built.said
    assert "2 concepts of 't'" in built.out
    assert build_retriever(collection=None, **named(str(out))).search(["cash"], 1)[0].ids == ["C1"]
    told = run("info", out)
    assert "k1 = 0.9" in told.out
    assert "t, 2 documents of label + definition" in told.out
    assert json.loads(run("info", out, "--json").out)["collection"]["count"] == 2
    assert "every hash matches" in run("verify", out).out
    data = out / "weights.npy"
    data.write_bytes(data.read_bytes()[:-1])
    broken = run("verify", out)
    assert broken.code == 1
    assert "weights.npy" in broken.err


def test_passages(tmp_path: Path) -> None:
    source = write(tmp_path / "p.jsonl", PASSAGES)
    built = run("build", source, tmp_path / "p.index", "--passages")
    assert built.code == 0, built.said
    passages = build_retriever(collection=None, **named(str(tmp_path / "p.index")))
    assert passages.search(["temperature"], 1)[0].ids == ["p1"]


def test_an_experiment_runs_on_an_index_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ABDUCE_DATA", raising=False)
    assert run("build", "finance", tmp_path / "gaap.index").code == 0
    assert run("build", "medical", tmp_path / "medical.index").code == 0
    few = ("--limit", "20", "--intervals")
    for arguments, other in (
        (("finance-no-model", "--row", "locus", *few), "medical"),
        (("hcqr-no-model", "--row", "question", *few), "gaap"),
    ):
        plain, stored, wrong = (
            cli("eval", *arguments, *more)
            for more in (
                (),
                ("--retriever", str(tmp_path / ("gaap.index" if other == "medical" else "medical.index"))),
                ("--retriever", str(tmp_path / f"{other}.index")),
            )
        )
        assert plain.code == stored.code == 0, stored.said
        assert stored.out == plain.out
        assert wrong.code == 2
        assert f"{other}.index: was built from another" in wrong.err


def evaluated(*arguments: str | Path) -> Any:
    return cli("eval", *arguments)


@pytest.mark.parametrize(
    ("source", "experiment", "row"),
    [("finance", "finance-no-model", "locus"), ("medical", "hcqr-no-model", "question")],
)
def test_an_index_that_was_built_anew_is_not_resumed(
    source: str, experiment: str, row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ABDUCE_DATA", raising=False)
    index, out = tmp_path / "i", tmp_path / "run"
    assert run("build", source, index).code == 0
    told = ("--row", row, "--retriever", index, "--intervals")
    assert evaluated(experiment, *told, "--limit", "20", "--out", out).code == 0
    assert run("build", source, index, "--set", "k1=0.1", "--set", "b=0.0", "--overwrite").code == 0
    mixed = evaluated(experiment, *told, "--limit", "40", "--out", out)
    fresh = evaluated(experiment, *told, "--limit", "40")
    assert mixed.code == 0, mixed.said
    assert mixed.out.partition("Results, traces")[0].split() == fresh.out.split()


def test_a_refused_index_leaves_no_run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ABDUCE_DATA", raising=False)
    run("build", write(tmp_path / "t.jsonl", ROWS), tmp_path / "t.index")
    told = ("--retriever", tmp_path / "t.index", "--out", tmp_path / "run", "--limit", "2")
    found = evaluated("finance-no-model", "--row", "locus", *told)
    assert "another taxonomy: 't' of 2 concepts, where 'us-gaap-2024' of 17,388" in found.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("set_", "w_cov"), [((), 0.0), (("--set", "w_cov=0.5"), 0.5)])
def test_a_stored_index_of_passages_keeps_its_weight_of_coverage(
    set_: tuple[str, ...], w_cov: float, tmp_path: Path
) -> None:
    source = write(tmp_path / "p.jsonl", PASSAGES)
    assert run("build", source, tmp_path / "i", "--passages", *set_).code == 0
    retriever = BuiltRetrievers(Corpus.load(source), {"kind": "bm25", "index": str(tmp_path / "i")})({})
    assert isinstance(retriever, BM25Retriever)
    assert retriever.w_cov == w_cov


@pytest.mark.parametrize(
    ("experiment", "retriever", "message"),
    [
        ("finance-no-model", "nope", "no retriever 'nope'"),
        ("hcqr-no-model", "nope", "no retriever 'nope'"),
        ("finance-no-model", ".", "not an index folder"),
        ("hcqr-no-model", "hybrid", "retriever.parts"),
    ],
)
def test_a_retriever_that_cannot_be(experiment: str, retriever: str, message: str) -> None:
    found = cli("eval", experiment, "--limit", "2", "--retriever", retriever)
    assert found.code == 2
    assert message in found.err


def test_milvus_says_what_lite_cannot_do(tmp_path: Path) -> None:
    pytest.importorskip("milvus_lite")
    source = write(tmp_path / "t.jsonl", ROWS)
    built = run("build", source, tmp_path / "m.db", "--kind", "milvus", "--set", "field=bm25")
    assert built.code == 0, built.said
    assert "one process at a time" in built.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "nosuch", "x"], "no source 'nosuch'"),
        (["build", "t.jsonl", "x", "--kind", "hybrid"], "nothing to store for 'hybrid'"),
        (["build", "t.jsonl", "x", "--set", "k1"], "not KEY=VALUE"),
        (["build", "t.jsonl", "x", "--set", "kappa=3"], "no such setting"),
        (["build", "t.jsonl", "."], "exists already"),
        (["build", "absent.jsonl", "x"], "no such file"),
        (["info", "."], "not an index folder"),
        (["verify", "absent"], "not an index folder"),
    ],
)
def test_bad_input_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.jsonl", ROWS)
    found = cli("index", *arguments)
    assert (found.code, len(found.errors)) == (2, 1)
    assert message in found.err
    assert [p.name for p in tmp_path.iterdir()] == ["t.jsonl"]


def test_settings_are_toml_values_or_texts() -> None:
    assert parse_settings(["a=1", "b=0.5", "c=true", "d=some/folder", 'e="x"', "f=[1, 2]", "g="]) == {
        "a": 1,
        "b": 0.5,
        "c": True,
        "d": "some/folder",
        "e": "x",
        "f": [1, 2],
        "g": "",
    }
