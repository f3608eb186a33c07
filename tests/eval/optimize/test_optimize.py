"""Compiling a row: what is refused, and a state that a row then uses."""

import json

import pytest
from abduce.eval.optimize.metrics import TaxonomyMetric, to_dspy
from abduce.eval.optimize.optimize import optimize_row
from abduce.eval.runs.state import load_state
from abduce.programs import FHS, FHSConfig
from abduce.retrievers.errors import InputError


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"split": "test"}, "nothing is tuned"),
        ({"name": "finance-no-model", "row": "locus"}, "no language model"),
        ({"row": "none"}, "no row 'none'"),
        ({"optimizer": "luck"}, "no optimizer"),
        ({"train": 1}, "at least 2"),
        ({"budget": "little"}, "a number, not 'little'"),
        ({"budget": "0"}, "a number, not '0'"),
        ({"name": "hcqr-smoke", "row": "HCQR", "split": "medqa"}, "nothing is tuned on the test set"),
        ({"name": "hcqr-smoke", "row": "HCQR", "measure": "R@10"}, "compiled for Acc"),
        ({"name": "hcqr-main", "row": "HCQR"}, "give one with --lm"),
    ],
)
def test_what_cannot_be_compiled_is_refused(changes, says, tmp_path):
    given = {"name": "finance-main", "row": "FHS", "out": tmp_path / "x.json"} | changes
    with pytest.raises(InputError, match=says):
        optimize_row(**given)
    assert not (tmp_path / "x.json").exists()


def test_demonstrations_are_bootstrapped_saved_and_loaded(
    tiny_index, schema, scripted, using, reply, table_fact, tmp_path
):
    import dspy

    lm = scripted(
        generator=reply("amount of debt due within one year", Family="debt"),
        verifier=lambda a: {"verdicts": ["ssssss"] * (a.field("candidates").count("\n") + 1)},
    )
    from abduce.data.example import Example

    trainset = to_dspy([Example("a", {"fact": table_fact}, "DebtCurrent")])
    metric = TaxonomyMetric("R@10")
    student = FHS(tiny_index, schema, FHSConfig(J=1))
    with using(lm):
        compiled = dspy.BootstrapFewShot(metric=metric, max_labeled_demos=0).compile(
            student, trainset=trainset
        )
    demos = {name: len(p.demos) for name, p in compiled.named_predictors()}
    assert demos == {"generator.generate": 1, "verifier.verify": 1}
    path = tmp_path / "state.json"
    path.write_text(json.dumps(compiled.dump_state()))
    fresh = FHS(tiny_index, schema, FHSConfig(J=1))
    load_state(fresh, path)
    with using(lm):
        asked = len(lm.asked)
        fresh(fact=table_fact)
    assert "amount of debt due within one year" in lm.asked[asked].prompt  # the demonstration is shown


@pytest.mark.parametrize(
    ("text", "says"),
    [(None, "no such file"), ("{", "not JSON"), ("[]", "x.json"), ("{}", "no fingerprints")],
)
def test_a_bad_state_file_is_refused_in_one_line(text, says, tiny_index, schema, tmp_path):
    path = tmp_path / "x.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=says) as caught:
        load_state(FHS(tiny_index, schema), path)
    assert "\n" not in str(caught.value)


def test_a_row_is_compiled_and_its_gain_measured_on_other_contexts(scripted, reply, tmp_path, monkeypatch):
    from contextlib import contextmanager

    import dspy
    from abduce.eval.optimize import optimize as module

    lm = scripted(
        generator=lambda a: reply(a.field("row_header") or a.field("value")),
        verifier=lambda a: {"verdicts": ["ssssss"] * (a.field("candidates").count("\n") + 1)},
        selector=lambda a: {"ids": []},
    )

    @contextmanager
    def models_for(*args, **kwargs):
        with dspy.context(lm=lm):
            yield None

    monkeypatch.delenv("ABDUCE_DATA", raising=False)
    monkeypatch.setattr(module, "models_for", models_for)
    path = tmp_path / "fhs.json"
    got = optimize_row("finance-main", "FHS", path, train=4, check=3, measure="R@200", threads=2)
    assert got.gain is not None
    assert (got.gain.a, got.gain.b, got.gain.differences["R@200"].n) == ("after", "before", 3)
    assert (got.row, got.state, got.examples, got.split) == ("FHS", path, 4, "dev")
    state = json.loads(path.read_text())
    assert any(key.endswith("generator.generate") for key in state)


def test_a_row_of_the_question_family_is_compiled_and_used(stub_model, tmp_path):
    """BootstrapFewShot on bundled questions; a row of a file then shows the demonstrations."""
    lm = {"kind": "vllm", "model": "stub-model", "base_url": stub_model.url}
    out = tmp_path / "hcqr.json"
    done = optimize_row("hcqr-smoke", "HCQR", out, train=6, check=0, lm=lm, threads=2)
    assert (done.noun, done.examples) == ("questions", 6)
    state = json.loads(out.read_text())
    assert state["generator.answer"]["demos"]
    from abduce.eval.experiments.files import parse_experiment
    from abduce.eval.experiments.run import run_experiment

    text = f"""
family = "qa"
questions = ["mmlu-med-dev"]
[retriever]
kind = "bm25"
[[row]]
name = "compiled"
program = "HCQR"
set = {{ state = "{out}" }}
"""
    before = len(stub_model.bodies)
    run = run_experiment(parse_experiment(text, tmp_path / "x.toml"), limit=1, lm=lm, cache=False)
    assert not run["compiled"].failed.any()
    shown = [b for b in stub_model.bodies[before:] if "multiple-choice question" in str(b["messages"])]
    assert len(shown[0]["messages"]) > 2  # the demonstrations stand between instructions and question
    wrong = text.replace('program = "HCQR"', 'program = "Rewriting"')
    with pytest.raises(InputError, match="of another program"):
        run_experiment(parse_experiment(wrong, tmp_path / "x.toml"), limit=1, lm=lm, cache=False)
