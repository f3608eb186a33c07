"""Whether to retrieve, and how sure: rules fitted on a run of a stub model, then used."""

from __future__ import annotations

import json

import pytest
from abduce.asking.asker import Asker
from abduce.cli.main import app
from abduce.eval.experiments.files import parse_experiment
from abduce.eval.experiments.run import run_experiment
from abduce.eval.fit_answers import fit_answers
from abduce.eval.fitting import sureness
from abduce.eval.report.questions import question_tables
from abduce.programs.rag.either import answer_evidence, prefers_retrieval
from abduce.programs.rag.rule import AnswerRules, Rule
from abduce.retrievers.errors import InputError
from openai_stub import completion
from qa_data import lines, reply
from typer.testing import CliRunner

N = 48


def question(i):
    text = f"Number {i}: which hormone lowers sugar?"
    return {"id": f"q{i}", "question": text, "options": ["insulin", "glucagon"], "answer": "A"}


def scripted(body):
    """A is right. Of even numbers the arm without retrieval knows it, of odd ones HCQR, of every eighth
    neither; the hypothesis always does."""
    words = " ".join("\n".join(str(m["content"]) for m in body["messages"]).split())
    i = int(words.rsplit("Number ", 1)[1].split(":")[0])
    found = reply(words)
    if "multiple-choice question" in words:
        retrieves = "with the help of the documents" in words
        right = i % 8 != 0 and retrieves == bool(i % 2)
        found = {"step_by_step_thinking": "", "answer_choice": "A" if right else "B"}
    return completion(body, json.dumps({"answer": found}))


@pytest.fixture
def finished(qa_folder, stub_model, tmp_path):
    """A run of "HCQR or CoT" over questions of one's own, its folder and the model's table."""
    stub_model.then = scripted
    (tmp_path / "own.jsonl").write_text(lines(*map(question, range(N))))
    lm = {"kind": "vllm", "model": "stub-model", "base_url": stub_model.url}
    out = tmp_path / "run"
    experiment = parse_experiment(toml(tmp_path), tmp_path / "x.toml")
    run = run_experiment(experiment, data=qa_folder, lm=lm, cache=False, out=out, concurrency=4)
    return run, out, lm


def toml(tmp_path, more=""):
    return f"""
family = "qa"
name = "own"
questions = ["{tmp_path}/own.jsonl"]
[retriever]
kind = "bm25"
[[row]]
name = "HCQR or CoT"
program = "HCQR or CoT"
{more}
"""


def test_without_a_rule_the_hypothesis_is_the_third_vote(finished):
    """The hypothesis is always A, which one arm says where the arms disagree: then A is taken."""
    run, _, _ = finished
    both_wrong = sum(i % 8 == 0 for i in range(N))
    assert run["HCQR or CoT"].mean("Acc")[0] == pytest.approx(1 - both_wrong / N)
    assert run["HCQR or CoT"].costs["llm_calls"].mean() == 4  # three of HCQR's, one without retrieval
    record = next(r for r in run.records("HCQR or CoT") if r["id"] == "q2")
    table = next(t for t in question_tables(run) if t.title == "With or without retrieval")
    line = [getattr(v, "value", v) for v in table.rows[0]]
    # 6 of 48 agree (both wrong); of 24 odd and 18 even ones A is taken, once from each arm
    assert line[:4] == ["HCQR or CoT", 48, 6, 24]
    assert line[4:8] == pytest.approx([18 / 48, 24 / 48, 42 / 48, 42 / 48])
    assert line[8:] == [24, 0, 18, 0]
    choice = record["trace"]["notes"]["choice"]
    assert (choice["without"], choice["with"], choice["taken"]) == ("A", "B", "without")
    assert choice["left"]["hypothesis_is_cot"] == 1.0


def test_fitted_judged_written_and_used(finished, tmp_path, qa_folder):
    _, folder, lm = finished
    out = tmp_path / "rules.json"
    command = ["calibrate", str(folder), "--row", "HCQR or CoT", "--out", str(out), "--data", str(qa_folder)]
    done = CliRunner().invoke(app, [*command, "--check", str(folder)])
    assert done.exit_code == 0, done.output
    printed = " ".join(done.output.split())
    assert "against the arm without retrieval, out of fold: helped 24, harmed 0" in printed
    assert "against the arm with retrieval, out of fold: helped 18, harmed 0" in printed
    rules = AnswerRules.load(out)
    assert rules.row == "HCQR or CoT"
    assert rules.choice.n == 42
    set_ = f'set = {{ rule = "{out}" }}'
    again = parse_experiment(toml(tmp_path, set_), tmp_path / "x.toml")
    run = run_experiment(again, data=qa_folder, lm=lm, cache=False, limit=10, concurrency=4)
    assert run["HCQR or CoT"].mean("Acc")[0] >= 0.8
    with Asker(lm=lm, data=qa_folder, program="HCQR or CoT", rules=out) as asker:
        right = asker.ask("Number 1: which hormone lowers sugar?", ["insulin", "glucagon"])
        wrong = asker.ask("Number 8: which hormone lowers sugar?", ["insulin", "glucagon"])
    assert right.answer == "A"
    assert 0 <= wrong.confidence < right.confidence <= 1
    assert (right.sure_for, wrong.sure_for) == (0.95, None)  # what is wrong here says B, not the hypothesis
    with pytest.raises(InputError, match="fitted for the row"):
        Asker(lm=lm, data=qa_folder, program="HCQR", rules=out)


def test_nothing_is_fitted_on_a_test_set(qa_folder, stub_model, tmp_path):
    (tmp_path / "own.jsonl").write_text(lines(*(question(i) | {"dataset": "medqa"} for i in range(2))))
    lm = {"kind": "vllm", "model": "stub-model", "base_url": stub_model.url}
    experiment = parse_experiment(toml(tmp_path), tmp_path / "x.toml")
    run_experiment(experiment, data=qa_folder, lm=lm, cache=False, out=tmp_path / "run")
    with pytest.raises(InputError, match="the test set 'medqa'"):
        fit_answers(tmp_path / "run", "HCQR or CoT", data=qa_folder)


@pytest.mark.parametrize(
    ("more", "message"),
    [([], "name the row"), (["--row", "nope"], "no row 'nope'")],
)
def test_bad_calls(more, message, finished, qa_folder):
    _, folder, _ = finished
    done = CliRunner().invoke(app, ["calibrate", str(folder), *more, "--data", str(qa_folder)])
    assert message in str(done.exception)


def test_a_majority_of_three_votes():
    left = {"hypothesis_is_cot": 0.0, "hypothesis_is_hcqr": 0.0, "support": 0.0}
    assert prefers_retrieval(left, None)
    assert not prefers_retrieval(left | {"support": -1.0}, None)
    assert not prefers_retrieval(left | {"hypothesis_is_cot": 1.0, "support": 3.0}, None)
    assert prefers_retrieval(left | {"hypothesis_is_hcqr": 1.0, "support": -3.0}, None)


def test_a_rule_by_hand(tmp_path):
    rule = Rule(about="x", features=("a",), mean=(1.0,), scale=(2.0,), weights=(4.0,), bias=0.0)
    assert rule.probability({"a": 1.0}) == 0.5
    assert rule.probability({"a": 2.0}) == pytest.approx(1 / (1 + 2.718281828459045**-2))
    rules = AnswerRules(row="r", confidence=rule, thresholds={"0.90": 0.8, "0.95": 0.9})
    rules.save(tmp_path / "r.json")
    assert AnswerRules.load(tmp_path / "r.json") == rules
    assert [rules.accuracy(p) for p in (0.95, 0.85, 0.5)] == [0.95, 0.9, None]
    with pytest.raises(ValueError, match="one length"):
        Rule(about="x", features=("a", "b"), mean=(1.0,), scale=(2.0,), weights=(4.0,), bias=0.0)
    (tmp_path / "bad.json").write_text('{"row": "r"}')
    with pytest.raises(InputError, match="confidence"):
        AnswerRules.load(tmp_path / "bad.json")
    with pytest.raises(InputError, match="no such file"):
        AnswerRules.load(tmp_path / "none.json")


def test_what_confidence_rests_on():
    notes = {"choice": {"without": "A", "with": "A"}, "plan": {"hypothesis_key": "A"},
             "probabilities": {"A": 0.7, "B": 0.3}, "overlap": 0.2}  # fmt: skip
    full = {"agree": 1.0, "kept": 1.0, "probability": 0.7, "measured": 1.0, "overlap": 0.2}
    assert answer_evidence("A", notes) == full
    assert answer_evidence("B", notes) == full | {"agree": 0.0, "kept": 0.0, "probability": 0.3}
    assert answer_evidence("", {}) == dict.fromkeys(full, 0.0)


def test_risk_and_coverage_by_hand():
    found = sureness([0.9, 0.9, 0.8, 0.2], [True, False, True, False])
    assert found.curve == ((0.5, 0.5), (0.75, 2 / 3), (1.0, 0.5))
    assert [a.coverage for a in found.accepted] == [0.0, 0.0]
    assert found.error == pytest.approx((abs(1.8 - 1) + abs(0.8 - 1) + 0.2) / 4)
