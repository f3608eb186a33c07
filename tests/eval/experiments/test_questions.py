"""Whole RAG experiments over a stub model: tables, records, judges, resume, failures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from abduce.eval.experiments.evaluate import evaluate
from abduce.eval.experiments.files import bundled_experiments, load_experiment, parse_experiment
from abduce.eval.experiments.questions import usable_judges
from abduce.eval.rejudge import rejudge
from abduce.eval.report.questions import question_tables
from abduce.eval.report.report import load_run, report_tables, result_tables
from abduce.eval.runs.joining import joined
from abduce.retrievers.corpus import Corpus, Passage
from abduce.retrievers.errors import InputError
from abduce.retrievers.settings import in_full
from openai_stub import Status

ROWS = """
[[row]]
name = "No-RAG (CoT)"
program = "No-RAG (CoT)"
[[row]]
name = "Simple RAG"
program = "Simple RAG"
set = { B_max = 2 }
[[row]]
name = "HCQR"
program = "HCQR"
set = { per_query = 1 }
[[row]]
name = "- q1"
base = "HCQR"
set = { drop = "q1" }
"""


@pytest.fixture
def folder(qa_folder):
    return qa_folder


@pytest.fixture
def model(stub_model):
    return stub_model


def text(models="", judges="", rows=ROWS, more=""):
    return f"""
family = "qa"
name = "tiny"
questions = ["mmlu-med-dev"]
baseline = "Simple RAG"
no_rag = "No-RAG (CoT)"
notes = ["A note."]
{more}
[retriever]
kind = "bm25"
{models}
{judges}
{rows}
"""


def served(model, name="", key="judge"):
    head = f'name = "{name}"\n' if name else ""
    return f'{head}lm = {{ kind = "vllm", model = "stub-model", base_url = "{model.url}" }}\n'


def run(toml, folder, **options):
    """The run, and what is shown of it."""
    experiment = parse_experiment(toml, Path("tiny.toml"))
    result = evaluate(experiment, data=str(folder), cache=False, concurrency=4, **options)
    return result, "\n".join([*map(str, result_tables(result)), *result.notes])


def lm(model):
    return {"kind": "vllm", "model": "stub-model", "base_url": model.url}


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


def test_passage_retrievers_have_no_coverage_term_unless_asked():
    corpus = Corpus([Passage("a", "", "text")])

    def full(**settings):
        return in_full(settings, corpus)

    assert full() == full(kind="bm25") == {"kind": "bm25", "w_cov": 0.0}
    assert full(kind="medcpt") == {"kind": "dense", "preset": "medcpt", "w_cov": 0.0}
    assert full(kind="minilm-packaged") == {"kind": "dense", "preset": "minilm-packaged", "w_cov": 0.0}
    assert full(kind="bm25", w_cov=1.0)["w_cov"] == 1.0
    hybrid = full(kind="hybrid", parts=[{"kind": "bm25"}, {"kind": "minilm"}])
    assert [p["w_cov"] for p in hybrid["parts"]] == [0.0, 0.0]


def test_a_measure_of_rankings_is_refused(folder, model):
    with pytest.raises(InputError, match=r"field 'measure': 'nDCG@10' is a measure of rankings"):
        run(text(), folder, lm=lm(model), measures=["nDCG@10"])


PROMPTS = """
[rewrite_by_hypothesis]
instructions = "OWN WORDS for three queries. Turn a working hypothesis into queries."
order = ["options", "question", "working_hypothesis", "discriminating_features", "confirming_evidence",
         "brief_reasoning"]
fields = { question = "the OWN QUESTION" }
[verifier]
instructions = "of another family"
"""


def one_row(setting):
    rows = f'[[row]]\nname = "HCQR"\nprogram = "HCQR"\nset = {{ {setting} }}\n'
    return text(rows=rows).replace('baseline = "Simple RAG"\nno_rag = "No-RAG (CoT)"\n', "")


def test_prompts_are_swapped_by_declaration(folder, model, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(PROMPTS)
    run(one_row(f'prompts = "{path}"'), folder, lm=lm(model))
    asked = [" ".join(str(b["messages"]).split()) for b in model.bodies]
    rewriting = [p for p in asked if "OWN WORDS" in p]
    assert len(rewriting) == 4
    assert rewriting[0].index("[[ ## options ## ]]") < rewriting[0].index("[[ ## question ## ]]")
    assert any("Plan what to look up" in p for p in asked)  # what the set lacks stays


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[nothing]\ninstructions = 'x'", "none of its tables is one of"),
        ("[formulate]\ninstructions = 'x'\norder = ['question']", "must order exactly"),
        ("[formulate]\ninstructions = 'x'\nfingerprint = 'ab'", "another signature"),
        ("[formulate]\nwords = 'x'", "formulate"),
    ],
)
def test_prompts_that_do_not_fit(table, message, folder, model, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(table)
    with pytest.raises(InputError, match=message):
        run(one_row(f'prompts = "{path}"'), folder, lm=lm(model))


def test_only_the_model_that_is_asked_must_be_up(folder, model, tmp_path):
    """One GPU runs one model after the other; the runs are joined, each model with its own baseline."""
    down = 'lm = { kind = "vllm", model = "other", base_url = "http://127.0.0.1:9/v1", patience = 0.0 }'
    models = f'[[model]]\n{served(model, "small")}[[model]]\nname = "large"\n{down}\n'
    toml = text(models=models)
    result, _ = run(toml, folder, model="small", out=tmp_path / "small")
    assert [r.name for r in result.rows][:2] == ["No-RAG (CoT) [small]", "Simple RAG [small]"]
    with pytest.raises(InputError, match="the model 'large'"):
        run(toml, folder, model="large", out=tmp_path / "large")
    with pytest.raises(InputError, match="no model 'huge'; it has small, large"):
        run(toml, folder, model="huge")
    again = toml.replace(down, served(model).strip())
    run(again, folder, model="large", out=tmp_path / "large")
    both = joined([load_run(tmp_path / "small"), load_run(tmp_path / "large")])
    tables = {t.title: t for t in question_tables(both)}
    names = [row[0] for row in tables["Helped and harmed against No-RAG (CoT)"].rows]
    methods = ("Simple RAG", "HCQR", "- q1")
    assert names == [f"mmlu-med-dev: {m} [{x}]" for x in ("small", "large") for m in methods]
    assert "mmlu-med-dev over Simple RAG" in tables["Gains in accuracy, averaged over models"].columns


def test_the_answer_stage_has_its_own_decoding(folder, model):
    run(text(), folder, lm=lm(model) | {"answer": {"max_tokens": 77}})
    asked = [(" ".join(str(b["messages"]).split()), b["max_tokens"]) for b in model.bodies]
    limits = {"multiple-choice question" in words: n for words, n in asked}
    assert limits == {True: 77, False: 2048}
    with pytest.raises(InputError, match="answerer"):
        run(text(), folder, lm=lm(model) | {"answerer": {"max_tokens": 77}})


def test_a_finished_run_is_judged_again(folder, model, tmp_path):
    """The first judge finds everything Not Useful; the second reads the context. No method is asked again."""
    answer = model.then

    def strict(body):
        whole = answer(body)
        message = whole["choices"][0]["message"]
        message["content"] = message["content"].replace("Entailed", "Not Useful")
        return whole

    model.then = strict
    judge = f"[[judge]]\n{served(model, 'strict')}"
    first, _ = run(text(judges=judge), folder, lm=lm(model), out=tmp_path / "run")
    assert first["HCQR"].mean("DUR")[0] == 0.0
    model.then, asked = answer, len(model.bodies)
    new = rejudge(tmp_path / "run", tmp_path / "again", lm(model), name="kind", data=folder, cache=False)
    assert all("Judge what a set" in " ".join(str(b["messages"]).split()) for b in model.bodies[asked:])
    assert len(model.bodies) - asked == 12  # three rows with retrieval, four questions
    assert new["HCQR"].mean("DUR")[0] == 0.5
    assert new["HCQR"].mean("Acc") == first["HCQR"].mean("Acc")
    assert new["HCQR"].costs["llm_calls"].tolist() == first["HCQR"].costs["llm_calls"].tolist()
    read = load_run(tmp_path / "again")
    agreement = next(t for t in question_tables(read) if t.title == "Agreement of kind and strict")
    assert agreement.rows[-1][:2] == ["all", 12]
    assert agreement.rows[-1][2].value == 0.5
    with pytest.raises(InputError, match="give another folder"):
        rejudge(tmp_path / "run", tmp_path / "run", lm(model), data=folder)


def test_a_run_whose_questions_are_gone_is_not_judged(folder, model, tmp_path):
    run(text(), folder, lm=lm(model), out=tmp_path / "run")
    (folder / "qa" / "mmlu_med_devval.jsonl").unlink()
    with pytest.raises(InputError, match="4 of its questions are not in the data folder"):
        rejudge(tmp_path / "run", tmp_path / "again", lm(model), data=folder)
