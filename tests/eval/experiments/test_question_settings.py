"""Retrievers, prompts, models and judges of an experiment over questions."""

from __future__ import annotations

import pytest
from abduce.eval.rejudge import rejudge
from abduce.eval.report.questions import question_tables
from abduce.eval.report.report import load_run
from abduce.eval.runs.joining import joined
from abduce.retrievers.corpus import Corpus, Passage
from abduce.retrievers.errors import InputError
from abduce.retrievers.settings import in_full
from made_qa_experiment import lm, run, served, text

PROMPTS = """
[rewrite_by_hypothesis]
instructions = "OWN WORDS for three queries. Turn a working hypothesis into queries."
order = ["options", "question", "working_hypothesis", "discriminating_features", "confirming_evidence",
         "brief_reasoning"]
fields = { question = "the OWN QUESTION" }
[verifier]
instructions = "of another family"
"""


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
