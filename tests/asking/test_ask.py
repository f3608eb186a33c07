"""``abduce ask`` and ``abduce data build corpus`` on the command line."""

from __future__ import annotations

import csv
import json
import re

import pytest
from abduce.asking.asker import Answer, Asker
from abduce.cli.ask import read_options
from abduce.data.questions import read_questions
from abduce.retrievers.errors import InputError
from command_line import cli
from openai_stub import Status, completion
from qa_data import rag_reply

QUESTION = "Which hormone lowers blood sugar?"


def ask(folder, *more):
    return cli("ask", QUESTION, "--data", str(folder), *more)


def asked(folder, model, *more):
    found = ask(folder, "--url", model.url, "--model", "stub-model", "--json", *more)
    assert found.code == 0, found.said
    return json.loads(found.out)


def test_hcqr_shows_where_its_evidence_comes_from(folder, model):
    found = asked(folder, model, "--options", "insulin, glucagon, cortisol", "--gold", "A")
    assert (found["answer"], found["answer_text"]) == ("A", "insulin")
    assert [q["name"] for q in found["queries"]] == ["q1", "q2", "q3"]
    assert found["evidence"][0]["id"] == "p1"
    assert found["evidence"][0]["from"][0] == {"query": "q1", "rank": 1}
    assert found["evidence"][0]["url"] == "book/1"
    assert found["plan"]["working_hypothesis"] == "insulin"
    assert found["judge"]["label"] == "Entailed"


def test_the_page(folder, model):
    page = ask(
        folder,
        "--url",
        model.url,
        "--model",
        "stub-model",
        "--options",
        "insulin|glucagon",
        "--gold",
        "glucagon",
    ).out
    for part in ("Answer: A", "(gold)", "Working hypothesis", "q2", "Evidence", "Judge: Not Useful"):
        assert part in page


def test_an_answer_stands_where_the_judge_cannot_be_asked(folder, model):
    answer = model.then
    model.then = lambda body: (
        Status(401) if "Judge what a set" in " ".join(str(body["messages"]).split()) else answer(body)
    )
    options = ("--url", model.url, "--model", "stub-model", "--options", "insulin|glucagon", "--gold", "A")
    found = ask(folder, *options)
    assert found.code == 0
    assert "Answer: A" in found.out
    assert "Judge: could not be asked (LMAuthError" in " ".join(found.out.split())


def test_no_options_are_proposed(folder, model):
    found = asked(folder, model)
    assert found["proposed"]
    assert found["options"] == {"A": "insulin", "B": "glucagon"}
    assert found["answer_text"] == "insulin"


@pytest.mark.parametrize(
    "program", ["No-RAG (CoT)", "simple rag", "Rewriting + options", "HyDE", "MAIN-RAG", "hcqr - q2"]
)
def test_every_program(program, folder, model):
    assert asked(folder, model, "--options", "insulin,glucagon", "--program", program)["answer"] == "A"


def test_retrieval_only_needs_no_model(folder, monkeypatch):
    monkeypatch.delenv("ABDUCE_LM", raising=False)
    found = ask(folder, "--options", "insulin,glucagon", "--no-answer", "--json")
    assert found.code == 0, found.said
    data = json.loads(found.out)
    assert "corpus medical, 4 passages" in found.err
    assert data["answer"] is None
    assert data["evidence"][0]["id"] == "p1"
    assert [(q["name"], q["text"]) for q in data["queries"]] == [
        ("A", "insulin"), ("B", "glucagon"), ("question", QUESTION),
    ]  # fmt: skip


def test_without_a_model_it_is_evidence_and_no_advice(folder, monkeypatch):
    monkeypatch.delenv("ABDUCE_LM", raising=False)
    asking = ("--options", "insulin,glucagon,oxytocin", "--no-answer")
    page, data = ask(folder, *asking).out, ask(folder, *asking, "--json").out
    for word in ("HCQR", "ypothesis"):
        assert word not in page
        assert word not in data
    assert "Evidence only" in page
    assert "+ [1] Insulin lowers blood sugar." in page
    assert "nothing found" in page  # no passage names oxytocin


def cites(*evidence, thinking="see [1] and [9]"):
    def answer(body):
        words = " ".join(str(body["messages"]).split())
        if "list as evidence the sentences" not in words:
            return rag_reply(body)
        reply = {"step_by_step_thinking": thinking, "evidence": list(evidence), "answer_choice": "A"}
        return completion(body, json.dumps({"answer": reply}))

    return answer


def citation(document, option, stance, sentence):
    return {"document": document, "option": option, "stance": stance, "sentence": sentence}


def test_citations_are_checked_against_the_context(folder, model):
    model.then = cites(
        citation(1, "A", "for", "insulin lowers blood sugar"),
        citation(2, "B", "Against", "Glucagon raises the blood sugar."),  # not word for word
        citation(7, "B", "for", "Glucagon raises blood sugar."),  # no such document
        citation(2, "C", "for", "Cows give milk."),  # no such sentence
        citation(1, "Z", "for", "Insulin lowers blood sugar."),  # no such option
    )
    options = ("--options", "insulin,glucagon,cortisol", "--program", "Simple RAG")
    found = asked(folder, model, *options)
    assert found["statements"]["A"] == [
        {"document": 1, "stance": "for", "sentence": "Insulin lowers blood sugar.", "by": "model"}
    ]
    assert [(s["document"], s["stance"], s["by"]) for s in found["statements"]["B"]] == [
        (2, "against", "model")
    ]
    assert found["statements"]["C"] == []
    assert found["cited"] == [1, 2]
    assert found["counters"]["invented_citations"] == 3  # [9], document 7, option Z
    assert found["counters"]["unfound_sentences"] == 1
    page = ask(folder, "--url", model.url, "--model", "stub-model", *options).out
    assert "rests on [1], [2]" in page
    assert "- [2] Glucagon raises blood sugar." in page


def test_the_papers_prompt_on_request(folder, model):
    table = {"kind": "openai", "model": "stub-model", "base_url": model.url}
    with Asker(lm=table, data=folder, cite=False) as asker:
        found = asker.ask(QUESTION, ["insulin", "glucagon"])
    assert found.answer == "A"
    assert not any("list as evidence" in str(body["messages"]) for body in model.bodies)
    assert {s.by for statements in found.statements.values() for s in statements} == {"words"}


def test_a_prompt_that_is_too_long_to_cite_is_asked_without(folder, model):
    """The prompt that asks for citations is refused at any length; the shorter one is answered."""
    answer = model.then

    def small(body):
        if "list as evidence" in " ".join(str(body["messages"]).split()):
            said = {"message": "maximum context length is 10 tokens", "code": "context_length_exceeded"}
            return Status(400, {"error": said})
        return answer(body)

    model.then = small
    found = asked(folder, model, "--options", "insulin,glucagon", "--program", "Simple RAG")
    assert found["answer"] == "A"
    assert found["counters"]["context_backoffs"] > 0
    assert {s["by"] for own in found["statements"].values() for s in own} == {"words"}


QUESTIONS_CSV = """id,question,option_a,option_b,answer
q1,Which hormone lowers blood sugar?,insulin,glucagon,A
q2,Which hormone raises blood sugar?,insulin,glucagon,B
q3,What lowers blood sugar?,,,The Insulin.
"""


def test_a_file_of_questions(folder, model, tmp_path):
    """Two with options, and an open-ended one that is right but for case, article and full stop."""
    path, out = tmp_path / "questions.csv", tmp_path / "answers.csv"
    path.write_text(QUESTIONS_CSV)
    command = ["ask", str(path), "--data", str(folder), "--url", model.url, "--model", "stub-model"]
    done = cli(*command, "--out", str(out))
    assert done.code == 0, done.said
    assert re.search(r"note: \d+ model calls", done.said)
    rows = list(csv.DictReader(out.open()))
    assert [(r["id"], r["answer_text"], r["right"], r["exact"]) for r in rows] == [
        ("q1", "insulin", "True", "True"), ("q2", "insulin", "False", "False"),
        ("q3", "insulin", "True", "False"),
    ]  # fmt: skip
    assert rows[0]["passages"].split()[0] == "p1"
    lines = cli(*command, "--json").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["q1", "q2", "q3"]
    page = cli(*command).out
    assert "2 of 3 right, 1 of them letter for letter" in " ".join(page.split())


def test_a_model_of_no_use_for_most_questions_ends_with_1(folder, model, tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text(QUESTIONS_CSV)
    model.then = "no JSON"
    command = ["ask", str(path), "--data", str(folder), "--url", model.url, "--model", "stub-model"]
    done = cli(*command)
    assert done.code == 1
    assert "3 of 3 questions fell back in part" in done.said
    assert "most of the questions failed or lack a reply of the model" in done.said
    assert cli(*command, "--allow-fallback").code == 0


def test_one_question_tells_its_cost(folder, model):
    command = ["ask", "Which hormone lowers sugar?", "--options", "insulin,glucagon", "--data", str(folder)]
    done = cli(*command, "--url", model.url, "--model", "stub-model")
    assert done.code == 0, done.said
    assert re.search(r"note: \d+ model calls", done.said)


def test_one_failed_question_of_many_is_its_own(folder, model, tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text(QUESTIONS_CSV)
    answer = model.then
    model.then = lambda body: (
        Status(400) if "Which hormone raises" in str(body["messages"][-1]) else answer(body)
    )
    table = {"kind": "openai", "model": "stub-model", "base_url": model.url}
    done = []
    with Asker(lm=table, data=folder, program="Simple RAG") as asker:
        found = asker.ask_all(path, progress=lambda *at: done.append(at))
    assert [a.answer for a in found] == ["A", None, None]
    assert "LM" in found[1].error
    assert "only HCQR" in found[2].error  # open-ended
    assert done == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--options", "a,b"], "is for a single question"),
        (["--gold", "a"], "is for a single question"),
        (["--out", "answers.txt", "--no-answer"], "must end in .jsonl or .csv"),
        (["--out", "nowhere/answers.csv", "--no-answer"], "no such folder"),
    ],
)
def test_bad_calls_with_a_file(more, message, folder, tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text(QUESTIONS_CSV)
    done = cli("ask", str(path), "--data", str(folder), *more)
    assert message in done.err


def test_a_folder_of_the_users_own_texts(tmp_path, folder):
    notes = tmp_path / "notes"
    (notes / "sub").mkdir(parents=True)
    (notes / "gout.md").write_text("# Gout\n\nUric acid forms crystals in a joint.")
    (notes / "sub" / "lease.txt").write_text("The tenant signs the lease. The landlord keeps a copy.")
    question = ("ask", "Who signs the lease?", "--data", str(folder), "--no-answer", "--json")
    found = cli(*question, "--corpus", str(notes))
    assert found.code == 0, found.said
    evidence = json.loads(found.out)["evidence"]
    assert [(e["id"], e["source"]) for e in evidence] == [("sub/lease_0", "lease.txt")]
    alone = cli(*question, "--corpus", str(notes / "gout.md"))
    assert json.loads(alone.out)["evidence"] == []  # not a word of the question: nothing is found


def test_a_file_names_the_model(folder, model, tmp_path, monkeypatch):
    file = tmp_path / "lm.toml"
    file.write_text(f'[lm]\nkind = "vllm"\nmodel = "stub-model"\nbase_url = "{model.url}"\n')
    assert ask(folder, "--options", "a,b", "--lm", str(file), "--program", "Simple RAG").code == 0
    monkeypatch.setenv("ABDUCE_LM", str(file))
    assert ask(folder, "--options", "a,b", "--program", "Simple RAG").code == 0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--options", "a"], "has 1 options"),
        (["--options", "a,b,a"], "'a' twice"),
        (["--options", "a,,b"], "empty"),
        (["--options", ",".join("abcdefghijk")], "has 11 options"),
        (["--options", "a,b", "--option", "c"], "either --options or --option"),
        (["--options", "a,b", "--gold", "z", "--no-answer"], "'z' is none of the options"),
        (["--options", "a,b"], "calls a language model"),
        (["--options", "a,b", "--program", "nope"], "no program 'nope'"),
        (["--out", "x.csv", "--no-answer"], "is for a file of questions"),
        (["--options", "a,b", "--program", "HyDE", "--no-answer"], "plans its retrieval with a model"),
        (["--options", "a,b", "--no-answer", "--corpus", "nope"], "no corpus 'nope'"),
        (["--options", "a,b", "--no-answer", "--retriever", "nope"], "nope"),
        (["--options", "a,b", "--lm", "no.toml"], "no.toml"),
    ],
)
def test_bad_input(more, message, folder, monkeypatch):
    monkeypatch.delenv("ABDUCE_LM", raising=False)
    found = ask(folder, *more)
    assert found.code == 2, found.said
    assert message in found.err


def test_an_empty_question(folder):
    found = cli("ask", " ", "--data", str(folder), "--no-answer")
    assert found.code == 2


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a, b|c", ["a, b", "c"]),
        ("1,000 mg, 500 mg", ["1,000 mg", "500 mg"]),
        ("1,5 mg,2,5 mg", ["1,5 mg", "2,5 mg"]),
        ("10,20,30", ["10", "20", "30"]),
        ("vitamin B1,2 mg", ["vitamin B1", "2 mg"]),
    ],
)
def test_how_options_are_separated(text, options):
    assert [t.strip() for t in read_options(text)] == options


def test_options_that_differ_by_case_are_three(folder):
    """Genotypes; a text names the option that is written exactly so."""
    asker = Asker(data=folder, answer=False)
    found = asker.ask("Genotype of a carrier?", ["AA", "Aa", "aa"])
    assert found.options == {"A": "AA", "B": "Aa", "C": "aa"}


def test_from_python_as_from_the_command_line(folder, model):
    options = ("--options", "insulin,glucagon,cortisol", "--gold", "insulin")
    table = {"kind": "openai", "model": "stub-model", "base_url": model.url}
    with Asker("medical", lm=table, data=folder) as asker:
        found = asker.ask(QUESTION, ["insulin", "glucagon", "cortisol"], gold="insulin")
        again = asker.ask(QUESTION, {"x": "insulin", "y": "glucagon"})
    assert found.model_dump() == asked(folder, model, *options)
    assert Answer.model_validate(found.model_dump()) == found
    assert (again.answer, again.answer_text, again.judge) == ("x", "insulin", None)


def test_the_callers_own_model_is_asked(folder, model):
    import dspy

    lm = dspy.LM("openai/stub-model", api_base=model.url, api_key="none", cache=False)
    asker = Asker(data=folder, program="Simple RAG", answer=False)
    assert asker.ask(QUESTION, ["insulin", "glucagon"]).answer is None
    with pytest.raises(InputError, match="calls a language model"):
        Asker(data=folder)
    with dspy.context(lm=lm):
        found = Asker(data=folder).ask(QUESTION, ["insulin", "glucagon"], gold="A")
    assert (found.answer, found.judge.label) == ("A", "Entailed")


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("question,options,answer", "Which?,alpha|beta,beta"),
        ("question,options,answer", 'Which?,"alpha, beta",B'),
        ("question,A,B,answer", "Which?,alpha,beta,B"),
        ("question,Option A,Option B,answer", "Which?,alpha,beta,B"),
        ("question,option_a,option_b,option_c,answer", "Which?,alpha,beta,,B"),
    ],
)
def test_options_in_the_columns_that_people_write(tmp_path, head, row):
    path = tmp_path / "q.csv"
    path.write_text(f"{head}\n{row}\n", encoding="utf-8")
    (found,) = read_questions(path)
    assert dict(found.question.options) == {"A": "alpha", "B": "beta"}
    assert found.gold == "B"


def test_the_page_of_an_open_question_shows_the_nearest_sentence(tmp_path):
    (tmp_path / "a.txt").write_text("Rent is due monthly. Maria Gomez signs the lease.", encoding="utf-8")
    done = cli("ask", "Who signs the lease?", "--corpus", str(tmp_path), "--no-answer")
    assert done.code == 0
    shown = " ".join(done.out.replace("│", " ").split())
    assert "Maria Gomez signs the lease." in shown
    assert "Rent is due" not in shown
