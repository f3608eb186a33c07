"""A method of anybody's as a row: in a spec, in an experiment file, and on the command line."""

from __future__ import annotations

import pytest
from abduce.eval.experiments.files import parse_experiment
from abduce.eval.experiments.run import run_experiment
from abduce.eval.runs.code_version import code_version
from abduce.programs.methods import Parts, build_program
from abduce.programs.presets import spec_named
from abduce.programs.rag.presets import RAGParts, build_rag, rag_spec
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.corpus import Corpus, Passage
from abduce.retrievers.errors import InputError
from abduce.signatures.types import Question

SOURCE = '''
from abduce.programs.base import Program
from abduce.programs.config import SearchConfig
from abduce.programs.fhs import FHS
from abduce.programs.rag.base import RAG
from abduce.programs.rag.context import fuse_queries
from abduce.programs.trace import Query


class Words(SearchConfig):
    most: int = 3


class FirstWords(Program):
    """The first words of the row header are the query."""

    model_free = True
    config: Words

    def __init__(self, retriever, serializer=None, taxonomy=None, config=None, suffix=""):
        super().__init__(retriever, serializer, taxonomy, config)
        self.suffix = suffix

    async def aforward(self, fact):
        """The top K concepts for the first words."""
        trace = self.start()
        text = " ".join((fact.row_header or "").split()[: self.config.most]) + self.suffix
        (ranking,) = self.search(fact, [Query(text, "first words")], trace)
        return self.answer(ranking, trace)


class Quiet(FHS):
    def __init__(self, retriever, loud=False, **more):
        super().__init__(retriever, **more)
        self.loud = loud


class OnlyOptions(RAG):
    """The texts of the options are the query."""

    model_free = True

    def __init__(self, retriever, passages, config=None, first=True):
        super().__init__(retriever, passages, config)
        self.first = first

    async def retrieve(self, question, trace):
        found = self.search({"options": " ".join(question.options.values())}, 2, trace)
        return fuse_queries(found, self.passages, self.config.B_max)


class Spoken(Program):
    """Gives no prediction."""

    model_free = True

    def forward(self, fact):
        return "cash"


class Nothing:
    pass
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The name of an importable module of a user's own."""
    name = f"mine_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


@pytest.fixture
def parts(tiny, schema):
    index = BM25Retriever(tiny)
    return Parts(lambda _: index, tiny, schema)


def test_a_class_is_built_with_the_parts_that_it_names_and_its_options(mine, parts, table_fact):
    spec = spec_named(f"{mine}:FirstWords").changed({"most": 1, "options.suffix": " due"})
    assert (spec.needs_model, spec.needs_gold) == (False, False)
    assert spec.resolve().most == 1
    prediction = build_program(spec, parts)(fact=table_fact)
    assert [q.text for q in prediction.trace.queries] == ["Debt due"]
    assert prediction.trace.settings["most"] == 1


def test_a_subclass_of_fhs_takes_fhs_s_settings_and_parts(mine, parts, table_fact):
    spec = spec_named(f"{mine}:Quiet").changed(
        {"generator": "rules", "verifier": "symbolic", "options.loud": True}
    )
    assert not spec.needs_model
    assert spec_named(f"{mine}:Quiet").needs_model
    program = build_program(spec.changed({"J": 1}), parts)
    assert program.loud
    assert len(program(fact=table_fact).ranking)


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("nowhere_at_all:Class", {}, "cannot be imported"),
        ("{mine}:Missing", {}, "has no class 'Missing'"),
        ("{mine}:Nothing", {}, "is no subclass of abduce.programs.base.Program"),
        ("{mine}:OnlyOptions", {}, "is no subclass of abduce.programs.base.Program"),
        (":Class", {}, "cannot be imported"),
        ("{mine}:FirstWords", {"options.prefix": 1}, "has no option 'prefix'; it has: suffix"),
        ("{mine}:FirstWords", {"options.retriever": 1}, "has no option 'retriever'"),
        ("{mine}:FirstWords", {"J": 2}, "J"),
        ("{mine}:FirstWords", {"most": "many"}, "most"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(mine, parts, name, changes, says):
    with pytest.raises((ValueError, InputError), match=says) as caught:
        build_program(spec_named(name.format(mine=mine)).changed(changes), parts)
    assert "\n" not in str(caught.value)


def test_a_method_for_questions(mine):
    corpus = Corpus(
        [Passage("a", "Insulin", "Insulin lowers sugar."), Passage("b", "Iron", "Iron is a metal.")]
    )
    index = BM25Retriever(corpus)
    spec = rag_spec(f"{mine}:OnlyOptions").changed({"answer": False, "options.first": False})
    program = build_rag(spec, RAGParts(lambda _: index, corpus))
    question = Question(question_id="q", text="Which?", options={"A": "insulin", "B": "cortisol"})
    assert program(question=question).ranking.ids == ["a"]
    assert not program.first
    with pytest.raises(ValueError, match=r"no subclass of abduce\.programs\.rag\.base\.QuestionProgram"):
        rag_spec(f"{mine}:FirstWords")
    with pytest.raises(ValueError, match="has no option 'first'"):
        build_rag(rag_spec("Simple RAG").changed({"options.first": 1}), RAGParts(lambda _: index, corpus))


def experiment(mine, tmp_path, suffix=""):
    text = f'''
family = "taxonomy"
domain = "finance"
[[row]]
name = "mine"
program = "{mine}:FirstWords"
set = {{ most = 2, "options.suffix" = "{suffix}" }}
[[row]]
name = "locus"
program = "locus"
'''
    return parse_experiment(text, tmp_path / "mine.toml")


def test_an_experiment_file_names_it_and_resumes_it_under_its_source(mine, tmp_path, folder, monkeypatch):
    out, seen = tmp_path / "run", []
    given = {"data": str(folder.path), "split": "dev", "on_progress": lambda p: seen.append(p.resumed)}
    run = run_experiment(experiment(mine, tmp_path), out=out, **given)
    assert not run["mine"].failed.any()
    assert f'program = "{mine}:FirstWords"' in (out / "resolved.toml").read_text()
    seen.clear()
    run_experiment(experiment(mine, tmp_path), out=out, **given)
    assert seen[-1] == 4
    before = code_version(mine)
    (tmp_path / f"{mine}.py").write_text(SOURCE + "\n# another version\n")
    assert code_version(mine) != before
    seen.clear()
    run_experiment(experiment(mine, tmp_path), out=out, **given)
    assert seen[-1] == 2  # the other row's alone


def test_the_command_line_takes_it_with_options(mine, tmp_path, folder, cli):
    out = tmp_path / "tags.csv"
    facts = tmp_path / "facts.jsonl"
    facts.write_text(
        '{"fact_id": "f1", "value": "5", "row_header": "Goodwill of the company", "column_header": "2024", '
        '"datatype": "monetaryItemType", "context_id": "c1", "source_context": "<table></table>"}\n'
    )
    words = ["tag", facts, "--taxonomy", folder.file("concepts.jsonl"), "--program", f"{mine}:FirstWords"]
    ran = cli(*words, "--out", out, "--program-option", 'suffix=" cash"')
    assert ran.code == 0, ran.err
    assert "Goodwill" in out.read_text()
    assert cli(*words, "--program-option", "prefix=1").code == 2
    assert cli(*words, "--program-option", "suffix").code == 2


def test_a_class_that_gives_no_prediction_fails_on_each_fact_in_one_line(mine, tmp_path, folder, cli):
    facts = folder.file("facts_dev.jsonl")
    words = ["tag", facts, "--taxonomy", folder.file("concepts.jsonl"), "--program", f"{mine}:Spoken"]
    ran = cli(*words, "--out", tmp_path / "tags.csv")
    assert ran.code == 1
    assert "the program gave a str without ranking" in ran.said
    assert "Traceback" not in ran.said


def test_a_question_program_takes_options_on_the_command_line(mine, tmp_path, cli):
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": "a", "title": "Insulin", "content": "Insulin lowers sugar."}\n')
    words = ["ask", "Which?", "--options", "insulin,iron", "--corpus", corpus, "--no-answer"]
    words += ["--program", f"{mine}:OnlyOptions"]
    ran = cli(*words, "--program-option", "first=false")
    assert ran.code == 0, ran.err
    assert "Insulin lowers sugar" in ran.out
    refused = cli(*words, "--program-option", "last=1")
    assert refused.code == 2
    assert "has no option 'last'; it has: first" in refused.err
