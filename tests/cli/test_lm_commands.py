"""The commands that meet a model: abduce eval, lm check, serve."""

from __future__ import annotations

import socket
import threading

import dspy
import pytest
from abduce.data.domains import FINANCE
from abduce.data.folder import DataFolder
from abduce.eval.experiments.evaluate import evaluate
from abduce.eval.runs.log import read_lines
from abduce.lm import load
from abduce.programs import FHS, Direct
from abduce.programs.calls import NoModel
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.errors import InputError
from abduce.signatures.dimensions import load_schema
from command_line import cli
from openai_stub import Status, Stub

ROWS = """
[[row]]
name = "FHS"
program = "fhs"
selector = true
[[row]]
name = "- verifier"
base = "FHS"
set = { beta = 0.0 }
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ABDUCE_CACHE", str(tmp_path / "cache"))
    before = dspy.cache
    yield
    dspy.cache = before


@pytest.fixture
def stub():
    with Stub() as server:
        yield server


def experiment(tmp_path, url, lm="", rows=ROWS):
    path = tmp_path / "mine.toml"
    table = f'[lm]\nkind = "vllm"\nbase_url = "{url}"\n{lm}\n' if url else ""
    path.write_text(table + rows, encoding="utf-8")
    return str(path)


def run(*words):
    return cli(*words)


def test_an_experiment_runs_on_a_served_model_and_says_what_it_cost(stub, tmp_path, monkeypatch):
    monkeypatch.setenv("VLLM_API_KEY", "sk-secret")
    out = tmp_path / "run"
    done = run("eval", experiment(tmp_path, stub.url), "--limit", "4", "--out", str(out))
    assert done.code == 0, done.said
    assert "model calls" in done.said
    resolved = (out / "resolved.toml").read_text(encoding="utf-8")
    assert 'model = "Qwen/Qwen3-32B"' in resolved
    records = [r for f in (out / "rows").iterdir() for r in read_lines(f)]
    stages = [c["stage"] for r in records if "trace" in r for c in r["trace"]["calls"]]
    assert set(stages) == {"generator", "verifier", "selector"}
    everything = [done.said, *(f.read_text("utf-8", "replace") for f in out.rglob("*") if f.is_file())]
    assert all("sk-secret" not in text for text in everything)


def test_the_resolved_file_runs_the_same_and_the_cache_answers(stub, tmp_path):
    first, again = tmp_path / "a", tmp_path / "b"
    run("eval", experiment(tmp_path, stub.url), "--limit", "3", "--out", str(first))
    asked = len(stub.bodies)
    done = run("eval", str(first / "resolved.toml"), "--limit", "3", "--out", str(again))
    assert done.code == 0, done.said
    assert len(stub.bodies) == asked > 0
    run("eval", str(first / "resolved.toml"), "--limit", "3", "--no-cache")
    assert len(stub.bodies) > asked


def test_a_server_that_refuses_some_facts_costs_those_facts_only(stub, tmp_path):
    turn = iter(range(10_000))

    def moody(body):
        refused = next(turn) % 3 == 0
        return Status(400, {"error": {"message": "not this one"}}) if refused else "answer"

    stub.then = moody
    out = tmp_path / "run"
    rows = '[[row]]\nname = "one"\nprogram = "one-pass structured"\n'
    done = run("eval", experiment(tmp_path, stub.url, rows=rows), "--limit", "9", "--out", str(out))
    assert done.code == 0, done.said
    assert "faults: refused 3" in done.said
    reasons = (out / "failures.jsonl").read_text(encoding="utf-8")
    assert reasons.count("not this one") == 3


def test_a_server_that_dies_and_comes_back_costs_no_fact(stub, tmp_path):
    asked = iter(range(10_000))

    def dies_once(body):
        if next(asked) == 7:
            threading.Timer(0.0, stub.stop).start()
            threading.Timer(1.5, stub.start).start()
            return "stall"
        return "answer"

    stub.then = dies_once
    out = tmp_path / "run"
    done = run("eval", experiment(tmp_path, stub.url), "--limit", "6", "--out", str(out), "--no-cache")
    assert done.code == 0, done.said
    assert "unreachable" in done.said  # the faults are told
    assert not (out / "failures.jsonl").exists() or not (out / "failures.jsonl").read_text()


def test_without_an_lm_table_a_row_that_needs_a_model_refuses_and_says_what_to_do(tmp_path):
    with pytest.raises(NoModel, match=r"the row 'FHS' needs a language model .* \[lm\] table"):
        evaluate(experiment(tmp_path, ""), limit=1)


def test_a_wrong_lm_table_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(InputError, match=r"lm.temprature"):
        evaluate(experiment(tmp_path, "http://127.0.0.1:9/v1", "temprature = 1"), limit=1)


def test_check_prints_what_is_honoured_and_its_exit_code_says_whether_that_is_enough(stub, tmp_path):
    stub.models = [{"id": "Qwen/Qwen3-32B", "max_model_len": 40960}]
    good = run("lm", "check", "--url", stub.url)
    assert good.code == 0
    assert "JSON schema" in good.said
    assert "Programs can use it." in good.said
    stub.then = "no JSON here"
    bad = run("lm", "check", experiment(tmp_path, stub.url))
    assert bad.code == 1
    assert "Programs cannot use it" in bad.said


def test_check_needs_somebody_to_ask(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(ROWS, encoding="utf-8")
    found = run("lm", "check", str(path))
    assert found.code == 2
    assert "no [lm] table" in found.err


def test_serve_prints_the_command(tmp_path):
    printed = run("lm", "serve", "vllm", "--tensor-parallel", "2", "--port", "9000").said
    assert "vllm serve Qwen/Qwen3-32B" in printed
    assert "--tensor-parallel-size 2" in printed
    assert "--enable-prefix-caching" in printed
    path = tmp_path / "x.toml"
    path.write_text('[lm]\nkind = "vllm"\nmodel = "m"\n[lm.serve]\ndata_parallel = 3\n', encoding="utf-8")
    printed = run("lm", "serve", str(path), "--max-model-len", "9000").said
    assert "vllm serve m" in printed
    assert "--data-parallel-size 3" in printed
    assert "--max-model-len 9000" in printed


def test_serve_run_without_vllm_names_the_extra(monkeypatch):
    monkeypatch.setenv("PATH", "")
    found = run("lm", "serve", "vllm", "--run")
    assert found.code == 2
    assert "abduce[gpu]" in found.err


def free_address():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def test_a_server_that_was_never_started_is_one_line_before_anything_runs(tmp_path):
    url, out = free_address(), tmp_path / "run"
    words = rf"the row .* needs a model server and none answers at {url} .*abduce lm serve vllm --run"
    with pytest.raises(InputError, match=words):
        evaluate(experiment(tmp_path, url), limit=2, out=out)
    assert not (out / "failures.jsonl").exists()
    assert all(len(f.read_text("utf-8").splitlines()) == 1 for f in (out / "rows").iterdir())  # headers
    with pytest.raises(InputError, match="none answers"):
        evaluate(experiment(tmp_path, url), limit=2)


def test_a_finished_run_and_probe_off_need_no_server(stub, tmp_path):
    out = tmp_path / "run"
    path = experiment(tmp_path, stub.url)
    first = evaluate(path, limit=2, out=out)
    stub.stop()
    assert evaluate(path, limit=2, out=out).summary() == first.summary()
    with pytest.raises(InputError, match="none answers"):
        evaluate(path, limit=3, out=out)
    quick = experiment(tmp_path, stub.url, "probe = false")
    cached = evaluate(quick, limit=2)
    assert not cached.rows[0].failed.any()


def test_one_replica_that_answers_is_enough_and_an_error_is_an_answer(stub):
    with load({"kind": "vllm", "base_url": [free_address(), stub.url]}) as models:
        models.refuse_if_away(["generator"], "FHS")
    with load({"kind": "vllm", "base_url": stub.url.removesuffix("/v1")}) as models:
        models.refuse_if_away(["generator"], "FHS")  # 404
    judged = {"kind": "vllm", "base_url": stub.url, "judge": {"base_url": free_address()}}
    with load(judged) as models:
        models.refuse_if_away(["generator"], "FHS")  # the judge is not asked
        with pytest.raises(InputError, match="none answers"):
            models.refuse_if_away(["generator", "judge"], "HCQR")


def test_a_stage_of_kind_none_ends_the_run_in_one_line(stub, tmp_path):
    path = experiment(tmp_path, stub.url, '[lm.selector]\nkind = "none"')
    with pytest.raises(NoModel, match="the selector needs a language model"):
        evaluate(path, limit=3, out=tmp_path / "run")
    assert not (tmp_path / "run" / "failures.jsonl").exists()


def test_ask_and_tag_refuse_a_server_that_was_never_started_too(tmp_path):
    url = free_address()
    asked = run("ask", "Which?", "--options", "a, b", "--url", url)
    assert asked.code == 2
    assert "HCQR needs a model server and none answers" in asked.err
    tagged = run("tag", "--program", "FHS", "--lm", experiment(tmp_path, url))
    assert tagged.code == 2
    assert "the program 'FHS' needs a model server and none answers" in tagged.err


def test_evaluate_from_python_refuses_it_too_but_only_for_programs_that_ask(tmp_path):
    folder = DataFolder.find()
    facts = folder.facts(FINANCE, "dev")[:2]
    retriever = BM25Retriever(folder.taxonomy(FINANCE))
    asks = FHS(retriever, load_schema(FINANCE.schema))
    with load({"kind": "vllm", "base_url": free_address()}) as models, models.context():
        assert not evaluate({"direct": Direct(retriever)}, facts).rows[0].failed.any()
        with pytest.raises(InputError, match="the row 'FHS' needs a model server and none answers"):
            evaluate({"direct": Direct(retriever), "FHS": asks}, facts)
