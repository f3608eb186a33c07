"""Whole RAG experiments over a stub model: tables, records, judges, resume, failures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from abduce.eval.experiments.evaluate import evaluate
from abduce.eval.experiments.files import bundled_experiments, load_experiment, parse_experiment
from abduce.eval.experiments.questions import usable_judges
from abduce.eval.report.questions import question_tables
from abduce.eval.report.report import load_run, report_tables
from abduce.retrievers.errors import InputError
from made_qa_experiment import lm, run, served, text
from openai_stub import Status


@pytest.mark.parametrize("name", [n for n in bundled_experiments() if n.startswith("hcqr-")])
def test_bundled_experiments_resolve_and_rerun(name):
    experiment = load_experiment(name)
    again = parse_experiment(experiment.toml("data", 1), experiment.file)
    assert again.rows == experiment.rows or [r.spec.resolve() for r in again.rows] == [
        r.spec.resolve() for r in experiment.rows
    ]
    assert again.table.models() == experiment.table.models()
    if name not in ("hcqr-smoke", "hcqr-no-model", "hcqr-worked-example"):
        assert len(experiment.table.models()) == 4
        assert list(experiment.table.questions) == ["medqa", "mmlu-med"]
        assert experiment.retriever["kind"] == "medcpt"


def test_a_run_by_hand(folder, model, tmp_path):
    judge = f"[[judge]]\n{served(model, 'stub judge')}"
    result, printed = run(text(judges=judge), folder, lm=lm(model), out=tmp_path / "run")
    # the stub always says insulin, which is right for two of four questions
    assert {r.name: r.mean("Acc")[0] for r in result.rows} == {
        "No-RAG (CoT)": 0.5, "Simple RAG": 0.5, "HCQR": 0.5, "- q1": 0.5,
    }  # fmt: skip
    assert result["HCQR"].mean("DUR")[0] == 0.5
    assert "DUR" not in result["No-RAG (CoT)"].values
    assert result["HCQR"].costs["llm_calls"].mean() == 3  # formulator, rewriter, answer; not the judge
    assert result["HCQR"].costs["retrievals"].mean() == 3
    assert "A note." in printed
    assert "Helped and harmed against No-RAG" in printed
    assert result.bootstrap.n_clusters == 3  # two questions have the same text
    records = {r["id"]: r for r in result.records("HCQR")}
    assert records["q0"]["plan"]["hypothesis_key"] == "A"
    assert records["q0"]["utility"][0]["label"] == "Entailed"
    assert records["q1"]["utility"][0]["label"] == "Not Useful"
    assert records["q0"]["ranking"]["ids"][0] == "p1"
    assert records["q0"]["covered"] == {"A": True, "B": True, "C": False}


def test_the_generator_is_not_told_the_gold_answer(folder, model):
    run(text(), folder, lm=lm(model))
    for body in model.bodies:
        assert "gold" not in json.dumps(body["messages"]).lower()


def test_a_report_of_the_finished_run(folder, model, tmp_path):
    judge = f"[[judge]]\n{served(model, 'one')}[[judge]]\n{served(model, 'two')}"
    run(text(judges=judge), folder, lm=lm(model), out=tmp_path / "run")
    found = load_run(tmp_path / "run")
    titles = [t.title for t in report_tables(found)]
    for part in (
        "Acc by subject",
        "Cost per example",
        "Context utility",
        "Helped and harmed against No-RAG (CoT)",
        "Accuracy by label, and same-subset gain over No-RAG (CoT)",
        "Judges",
        "Agreement of one and two",
    ):
        assert part in titles, titles
    tables = {t.title: t for t in question_tables(found)}
    labels = {row[0]: [getattr(v, "value", v) for v in row[1:]] for row in tables["Context utility"].rows}
    assert labels["mmlu-med-dev: HCQR"] == [4, 0.5, 0.0, 0.5, 0.0, 0.5]
    gain = next(
        r for r in tables["Accuracy by label, and same-subset gain over No-RAG (CoT)"].rows if "HCQR" in r[0]
    )
    assert [gain[1], gain[2].value, gain[3].value] == [2, 1.0, 0.0]  # both Entailed are right, as without
    agreed = tables["Agreement of one and two"].rows[-1]
    assert (agreed[0], agreed[1], agreed[2].value) == ("all", 12, 1.0)


def test_resume_calls_nothing_again(folder, model, tmp_path):
    first, _ = run(text(), folder, lm=lm(model), out=tmp_path / "run")
    asked = len(model.bodies)
    second, _ = run(text(), folder, lm=lm(model), out=tmp_path / "run")
    assert len(model.bodies) == asked
    assert second.summary() == first.summary()


def test_several_models_make_cells_and_averages(folder, model):
    models = "".join(f"[[model]]\n{served(model, name)}" for name in ("small", "large"))
    result, printed = run(text(models=models), folder)
    assert [r.name for r in result.rows][:4] == [
        "No-RAG (CoT) [small]", "Simple RAG [small]", "HCQR [small]", "- q1 [small]",
    ]  # fmt: skip
    assert len(result.rows) == 8
    assert "Accuracy by question set and model" in printed
    table = next(t for t in question_tables(result) if t.title.startswith("Accuracy by question"))
    assert table.columns == ["row", "mmlu-med-dev small", "mmlu-med-dev large", "mmlu-med-dev avg."]
    assert [v.value for v in table.rows[0][1:]] == [0.5, 0.5, 0.5]


def test_a_broken_judge_is_counted_and_loses_nothing(folder, model, tmp_path):
    answer = model.then

    def broken(body):
        whole = answer(body)
        message = whole["choices"][0]["message"]
        if "Entailed" in message["content"]:
            message["content"] = message["content"].replace("Entailed", "Superb")
        return whole

    model.then = broken
    judge = f"[[judge]]\n{served(model, 'stub judge')}"
    result, _ = run(text(judges=judge), folder, lm=lm(model), out=tmp_path / "run")
    assert result["HCQR"].mean("Acc")[0] == 0.5
    assert not result["HCQR"].failed.any()
    table = next(t for t in question_tables(result) if t.title == "Context utility")
    row = next(r for r in table.rows if r[0].endswith("HCQR"))
    assert (row[1], row[-2].value) == (4, 0.5)  # questions, unjudged


def test_a_judge_whose_server_goes_away_costs_no_answer(folder, model, tmp_path):
    answer = model.then

    def gone(body):
        if "Judge what a set" in " ".join(str(body["messages"]).split()):
            return Status(401)
        return answer(body)

    model.then = gone
    judge = f"[[judge]]\n{served(model, 'stub judge')}"
    out = tmp_path / "run"
    first, printed = run(text(judges=judge), folder, lm=lm(model), out=out)
    assert {r.name: r.mean("Acc")[0] for r in first.rows}["HCQR"] == 0.5
    assert not any(row.failed.any() for row in first.rows)
    assert "12 judgements failed" in printed  # three rows with retrieval, four questions
    [entry] = next(iter(first.records("HCQR")))["utility"]
    assert entry["label"] is None
    assert "LMAuthError" in entry["error"]
    table = next(t for t in question_tables(first) if t.title == "Context utility")
    assert next(r for r in table.rows if r[0].endswith("HCQR"))[-2].value == 1.0

    model.then = lambda body: Status(401)  # now nobody answers: what there is stays
    worse, printed = run(text(judges=judge), folder, lm=lm(model), out=out, retry_failed=True)
    assert {r.name: r.mean("Acc")[0] for r in worse.rows}["HCQR"] == 0.5
    assert not any(row.failed.any() for row in worse.rows)
    assert "12 judgements failed" in printed

    model.then = answer
    again, printed = run(text(judges=judge), folder, lm=lm(model), out=out, retry_failed=True)
    assert "judgements failed" not in printed
    assert again["HCQR"].mean("DUR")[0] == 0.5
    assert again["HCQR"].mean("Acc")[0] == 0.5


def test_without_a_model(folder):
    rows = """
[[row]]
name = "rules"
program = "HCQR-rules"
set = { answer = false }
"""
    toml = text(rows=rows).replace('baseline = "Simple RAG"', "").replace('no_rag = "No-RAG (CoT)"', "")
    result, _ = run(toml, folder)
    assert "Acc" not in result["rules"].values
    assert result["rules"].mean("GoldTok")[0] == 1.0


def test_fall_backs_are_shown_with_the_costs(folder, model, tmp_path):
    rows = """
[[row]]
name = "MAIN-RAG"
program = "MAIN-RAG"
set = { B_max = 2 }
[[row]]
name = "HyDE"
program = "HyDE"
"""
    toml = text(rows=rows).replace('baseline = "Simple RAG"', "").replace('no_rag = "No-RAG (CoT)"', "")
    answer = model.then
    model.then = lambda body: answer({k: v for k, v in body.items() if k != "logprobs"})
    result, _ = run(toml, folder, lm=lm(model), out=tmp_path / "run")
    assert result["MAIN-RAG"].costs["main_rag_no_logprobs"].mean() == 1  # the stub gives none
    assert result["HyDE"].costs["lexical_hyde"].mean() == 1
    (costs,) = (t for t in report_tables(load_run(tmp_path / "run")) if t.title == "Cost per example")
    assert {"main rag no logprobs", "lexical hyde"} <= set(costs.columns)


def test_free_form_questions(folder, model, tmp_path):
    path = tmp_path / "free.jsonl"
    path.write_text(
        json.dumps({"id": "1", "question": "What lowers sugar?", "answer": "Insulin."})
        + "\n"
        + json.dumps({"id": "2", "question": "What raises sugar?", "answer": "glucagon"})
    )
    rows = """
[[row]]
name = "open"
program = "HCQR"
set = { open_ended = true }
"""
    toml = text(rows=rows).replace('baseline = "Simple RAG"', "").replace('no_rag = "No-RAG (CoT)"', "")
    result, _ = run(toml, folder, lm=lm(model), split=str(path))
    assert result["open"].values["Acc"].tolist() == [[1.0, 0.0]]
    closed = toml.replace("open_ended = true", "open_ended = false")
    with pytest.raises(InputError, match="has no options"):
        run(closed, folder, lm=lm(model), split=str(path))


def test_bundled_data_need_no_folder(monkeypatch):
    monkeypatch.delenv("ABDUCE_DATA", raising=False)
    result = evaluate("hcqr-no-model", rows=["question", "question + options"], limit=20)
    assert "from the data bundled with abduce" in result.data
    assert len(result.examples) == 20
    assert result["question + options"].mean("GoldTok")[0] >= result["question"].mean("GoldTok")[0]


def test_bundled_questions_and_passages():
    from abduce.data.corpora import load_corpus
    from abduce.data.folder import DataFolder
    from abduce.data.questions import BUNDLED, named_questions

    bundled = DataFolder(DataFolder.find().root, bundled=True)
    assert len(named_questions(bundled, BUNDLED)) == 60
    corpus = load_corpus("medical", bundled)
    assert len(corpus) == 3000
    assert all(p.metadata["url"] and p.metadata["source"] for p in corpus)


def test_split_limit_and_rows(folder, model):
    result, _ = run(text(), folder, lm=lm(model), limit=2, rows=["HCQR"], split="mmlu-med-dev")
    assert [r.name for r in result.rows] == ["HCQR"]
    assert len(result.examples) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('program = "HCQR"', 'program = "HCQR9"'), "no program 'HCQR9'"),
        (('drop = "q1"', 'drop = "q4"'), "drop"),
        (('drop = "q1"', "dropp = 1"), "no setting 'dropp'"),
        (('base = "HCQR"', 'base = "later"'), "no earlier row 'later'"),
        (('name = "- q1"', 'name = "HCQR"'), "duplicate name"),
        (('baseline = "Simple RAG"', 'baseline = "x"'), "field 'baseline': is no row"),
        (('kind = "bm25"', 'kind = "bm52"'), "bm52"),
        (('kind = "bm25"', "kind = 'bm25'\nk9 = 3"), "k9"),
        (('questions = ["mmlu-med-dev"]', 'questions = ["nowhere"]'), "no question set 'nowhere'"),
        (('questions = ["mmlu-med-dev"]', 'questions = ["medqa"]'), "no such file"),
        (('family = "qa"', 'family = "qa"\ncorpus = "nowhere"'), "no corpus 'nowhere'"),
        (('family = "qa"', 'family = "qa"\nbogus = 1'), "field 'bogus'"),
        (("[[row]]", "[[row"), "is not TOML"),
    ],
)
def test_bad_experiments(change, message, folder, model):
    with pytest.raises(InputError) as caught:
        run(text().replace(*change, 1), folder, lm=lm(model))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_questions_are_skipped_where_asked_for(folder, model):
    path = folder / "qa" / "mmlu_med_devval.jsonl"
    path.write_text(
        path.read_text() + json.dumps({"id": "bad", "question": "Q?", "options": ["a"]}) + "\n{\n"
    )
    with pytest.raises(InputError, match="has 1 options"):
        run(text(), folder, lm=lm(model))
    result, _ = run(text(), folder, lm=lm(model), skip_bad=True, rows=["Simple RAG"])
    assert [e.id for e in result.examples] == ["q0", "q1", "q2", "q3"]


def test_no_model(folder):
    with pytest.raises(InputError, match=r"the row 'No-RAG \(CoT\)' needs a language model"):
        run(text(), folder)


def test_an_empty_corpus(folder, model):
    (folder / "qa" / "medical_corpus.jsonl").write_text("")
    with pytest.raises(InputError, match="has no passages"):
        run(text(), folder, lm=lm(model))


def test_an_unreachable_model_fails_questions_not_the_run(folder, model, tmp_path):
    gone = lm(model) | {"patience": 0.0, "tries": 1, "probe": False}
    model.stop()
    result, printed = run(text(), folder, lm=gone, out=tmp_path / "run", rows=["HCQR"])
    assert result["HCQR"].failed.all()
    assert result["HCQR"].mean("Acc")[0] == 0
    assert "Failures" in printed


def test_a_judge_without_its_key():
    table = """
[[judge]]
name = "far"
optional = {optional}
lm = {{ kind = "openai", model = "m", base_url = "http://127.0.0.1:9/v1", api_key_env = "NO_SUCH_KEY" }}
"""
    notes = []
    optional = parse_experiment(text(judges=table.format(optional="true")), Path("t.toml"))
    assert usable_judges(optional, notes.append, {}) == []
    assert "NO_SUCH_KEY" in notes[0]
    assert len(usable_judges(optional, notes.append, {"NO_SUCH_KEY": "x"})) == 1
    needed = parse_experiment(text(judges=table.format(optional="false")), Path("t.toml"))
    with pytest.raises(InputError, match="NO_SUCH_KEY"):
        usable_judges(needed, notes.append, {})
