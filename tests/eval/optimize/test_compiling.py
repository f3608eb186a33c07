"""FHS at J = 2 under every optimizer of DSPy; ended runs go on; what was skipped or fell back is counted."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager

import dspy
import pytest
from abduce.data.example import Example
from abduce.eval.optimize import optimize as module
from abduce.eval.optimize.metrics import TaxonomyMetric, to_dspy
from abduce.eval.optimize.optimize import optimize_row
from abduce.eval.optimize.rollouts import Rollouts
from abduce.programs import FHS, FHSConfig, Selector
from openai_stub import Stub

WORDS = {
    "State one reading of the located value": "State one reading of the located value. Be exact.",
    "You check candidate": "You check candidate concepts. Be exact.",
    "from a ranked list of candidates": "Choose from a ranked list of candidates. Be exact.",
}


def proposal(messages):
    """What a proposer of instructions is answered: better words of the predictor that it speaks of."""
    text = "\n".join(m["content"] for m in messages)
    words = next((new for old, new in WORDS.items() if old in " ".join(text.split())), "Be exact.")
    fields = re.findall(r"\[\[ ## (\w+) ## \]\]", messages[-1]["content"].partition("Respond with")[2])
    if not fields:
        return f"```\n{words}\n```"
    return "\n\n".join(f"[[ ## {name} ## ]]\n{words}" for name in fields if name != "completed")


@pytest.fixture
def model(scripted, reply):
    """A scripted model that answers optimizers too."""

    class Model(scripted):
        def forward(self, prompt=None, messages=None, **kwargs):
            messages = messages or [{"role": "user", "content": prompt}]
            head = " ".join(messages[0]["content"].split())
            if any(words in head for words in WORDS) and "proposed" not in head:
                return super().forward(messages=messages, **kwargs)
            from types import SimpleNamespace

            said = SimpleNamespace(message=SimpleNamespace(content=proposal(messages)), finish_reason="stop")
            return SimpleNamespace(choices=[said], usage={}, model="scripted")

    def verdicts(asked):
        n = asked.field("candidates").count("\n") + 1
        return {"verdicts": ["ssssss" if "exact" in asked.prompt else "nnnnnn"] * n}

    return Model(
        generator=lambda a: reply(f"{a.field('row_header')} {a.sample}", Family="debt"),
        verifier=verdicts,
        selector=lambda a: {"ids": []},
    )


@pytest.fixture
def examples(table_fact):
    rows = {"Debt due within one year": "DebtCurrent", "Goodwill": "Goodwill", "Inventory": "InventoryNet"}
    facts = {
        h: table_fact.model_copy(
            update={
                "fact_id": h,
                "row_header": h,
                "context": table_fact.context.model_copy(update={"context_id": h}),
            }
        )
        for h in (*rows, "Cash", "Revenue recognised", "Lease expense")
    }
    golds = rows | {"Cash": "Cash", "Revenue recognised": "Revenues", "Lease expense": "LeaseExpense"}
    return [Example(h, {"fact": fact}, golds[h], cluster=h) for h, fact in facts.items()]


def gepa(**more):
    return lambda metric, lm: dspy.GEPA(
        metric=metric, max_metric_calls=25, reflection_lm=lm, num_threads=1, **more
    )


def bare(metric):
    return module._bare_numbers(metric)


OPTIMIZERS = {
    "LabeledFewShot": lambda metric, lm: dspy.LabeledFewShot(k=2),
    "BootstrapFewShot": lambda metric, lm: dspy.BootstrapFewShot(metric=metric, max_labeled_demos=0),
    "BootstrapFewShotWithRandomSearch": lambda metric, lm: dspy.BootstrapFewShotWithRandomSearch(
        metric=bare(metric), max_labeled_demos=0, num_candidate_programs=1, num_threads=1
    ),
    "COPRO": lambda metric, lm: dspy.COPRO(metric=bare(metric), breadth=2, depth=1),
    "MIPROv2": lambda metric, lm: dspy.MIPROv2(
        metric=bare(metric),
        auto=None,
        num_candidates=2,
        num_threads=1,
        max_bootstrapped_demos=1,
        max_labeled_demos=0,
    ),
    "SIMBA": lambda metric, lm: dspy.SIMBA(
        metric=lambda e, p: bare(metric)(e, p), bsize=2, num_candidates=1, max_steps=1, num_threads=1
    ),
    "GEPA": gepa(),
}
COMPILE = {
    "LabeledFewShot": {},
    "COPRO": {"eval_kwargs": {"num_threads": 1, "display_progress": False}},
    "MIPROv2": {"num_trials": 2, "minibatch": False},
}
VALIDATES = ("BootstrapFewShotWithRandomSearch", "MIPROv2", "GEPA")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_fhs_is_compiled_at_two_hypotheses(name, tiny_index, schema, model, using, examples, tmp_path):
    if name == "MIPROv2":
        pytest.importorskip("optuna")
    program = Selector(FHS(tiny_index, schema, FHSConfig(J=2)), schema)
    metric = TaxonomyMetric("MRR", program.program.profiles, demo_at=0.1)
    trainset, more = to_dspy(examples[:3]), dict(COMPILE.get(name, {}))
    if name in VALIDATES:
        more["valset"] = to_dspy(examples[3:])
    rollouts = Rollouts(program)
    with using(model), dspy.context(callbacks=[rollouts]):
        compiled = OPTIMIZERS[name](metric, model).compile(program, trainset=trainset, **more)
        prediction = compiled(fact=examples[0].inputs["fact"])
    assert len(prediction.trace.hypotheses) == 2
    assert not prediction.trace.lost_replies
    assert not rollouts.skipped
    state = json.loads(json.dumps(compiled.dump_state()))
    fresh = Selector(FHS(tiny_index, schema, FHSConfig(J=2)), schema)
    fresh.load_state(state)
    if name == "BootstrapFewShot":
        assert compiled.program.generator.generate.demos
        assert rollouts.made > 1
    with using(model):
        assert fresh(fact=examples[0].inputs["fact"]).ranking.ids == prediction.ranking.ids


def test_rollouts_that_failed_or_fell_back_are_counted(tiny_index, schema, model, using, examples):
    def generator(asked):
        if asked.field("row_header") == "Goodwill":
            return ValueError("no")
        return "?" if asked.field("row_header") == "Inventory" else reply_of(asked)

    reply_of = model.replies["generator"]
    model.replies["generator"] = generator
    program = FHS(tiny_index, schema, FHSConfig(J=2))
    rollouts = Rollouts(program)
    optimizer = dspy.BootstrapFewShot(metric=TaxonomyMetric("R@1", demo_at=2.0), max_labeled_demos=0)
    with using(model), dspy.context(callbacks=[rollouts]):
        optimizer.compile(program, trainset=to_dspy(examples))
    assert (rollouts.made, rollouts.lost, dict(rollouts.skipped)) == (6, 1, {"ValueError": 1})
    assert str(rollouts) == (
        "6 rollouts; 1 skipped (ValueError 1); 1 fell back in part: replies of the model were no use"
    )
    assert rollouts.unusable == pytest.approx(2 / 6)


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def server():
    with Stub() as stub:
        yield stub


KILLS = 3
BUDGETS = {"bootstrap": "light", "gepa": "12", "mipro": "2"}


@pytest.mark.parametrize("optimizer", ["bootstrap", "gepa", "mipro"])
def test_a_run_that_was_ended_asks_for_nothing_twice(optimizer, server, tmp_path, monkeypatch):
    if optimizer == "mipro":
        pytest.importorskip("optuna")
    from abduce.lm.engine import Served

    original, left = Served.complete, [0]

    def complete(self, request):
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        return original(self, request)

    monkeypatch.setattr(Served, "complete", complete)
    lm = {"kind": "vllm", "model": "stub-model", "base_url": server.url}
    given = {
        "train": 4,
        "check": 2,
        "threads": 1,
        "lm": lm,
        "optimizer": optimizer,
        "budget": BUDGETS[optimizer],
    }
    left[0] = 10**9
    optimize_row("hcqr-smoke", "HCQR", tmp_path / "whole.json", **given)
    whole = len(server.bodies)
    server.bodies.clear()
    asked = []
    for _ in range(KILLS):
        before, left[0] = len(server.bodies), 4
        with pytest.raises(Killed):
            optimize_row("hcqr-smoke", "HCQR", tmp_path / "x.json", **given)
        asked.append(len(server.bodies) - before)
    assert asked == [4] * KILLS  # each went on where the last one was
    left[0] = 10**9
    done = optimize_row("hcqr-smoke", "HCQR", tmp_path / "x.json", **given)
    assert done.rollouts.made >= 4
    if optimizer == "gepa":  # it goes on by its own notes, and may draw other examples then
        bodies = [json.dumps(body, sort_keys=True) for body in server.bodies]
        assert len(bodies) == len(set(bodies))
    else:
        assert len(server.bodies) == whole
        assert (tmp_path / "x.json").read_text() == (tmp_path / "whole.json").read_text()
    before = len(server.bodies)
    optimize_row("hcqr-smoke", "HCQR", tmp_path / "x.json", **given)
    assert len(server.bodies) == before


def test_the_command_tells_of_rollouts_and_cost(stub_model, tmp_path, cli):
    table = tmp_path / "lm.toml"
    table.write_text(f'[lm]\nkind = "vllm"\nmodel = "stub-model"\nbase_url = "{stub_model.url}"\n')
    words = ["optimize", "hcqr-smoke", "--row", "HCQR", "--lm", table, "--out", tmp_path / "x.json"]
    words += ["--train", 3, "--check", 0]
    ran = cli(*words)
    assert ran.code == 0, ran.err
    assert re.search(r"note: \d+ rollouts", ran.err)
    assert re.search(r"note: [\d,]+ model calls \(0 from the cache\)", ran.err)


def test_a_model_of_no_use_ends_with_1(cli, tmp_path, monkeypatch, model, reply):
    model.replies["generator"] = "?"

    @contextmanager
    def models_for(*args, **kwargs):
        with dspy.context(lm=model):
            yield None

    monkeypatch.delenv("ABDUCE_DATA", raising=False)
    monkeypatch.setattr(module, "models_for", models_for)
    words = [
        "optimize",
        "finance-main",
        "--row",
        "FHS",
        "--out",
        tmp_path / "x.json",
        "--train",
        2,
        "--check",
        0,
    ]
    ran = cli(*words)
    assert (ran.code, "most of the rollouts failed or lack a reply" in ran.err) == (1, True), ran.err
    assert cli(*words, "--allow-fallback").code == 0
