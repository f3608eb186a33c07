"""How results are shown: on a screen, escaped in a notebook, as plain JSON; a bad input in one line."""

from __future__ import annotations

import inspect
import json
import pkgutil
from importlib import import_module

import abduce.programs
import dspy
import numpy as np
import pytest
from abduce.asking.answer import Answer
from abduce.data.example import Example
from abduce.data.parts import make_rag_parts
from abduce.eval.experiments.evaluate import evaluate
from abduce.programs import FHS, Selector
from abduce.programs.methods import Parts, build_program
from abduce.programs.presets import spec_named
from abduce.programs.rag.presets import build_rag, rag_spec
from abduce.programs.trace_json import from_json
from abduce.retrievers.base import Hit, Ranking
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.corpus import Corpus, Passage
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.html import html_table
from abduce.signatures.types import Concept, Question
from abduce.tagging.tagger import Tagger

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def ranking():
    parts = {"bm25": np.array([3.0, 2.0, 1.0])}
    return Ranking.of(["a", "b", "c"], [0.9, 0.5, 0.1], components=parts, candidates=7)


def test_a_ranking_is_a_sequence_of_hits(ranking):
    assert ranking[0] == Hit("a", 0.9, 1, {"bm25": 3.0})
    assert ranking[-1] == Hit("c", 0.1, 3, {"bm25": 1.0})
    assert list(ranking) == [ranking[0], ranking[1], ranking[2]]
    assert [h.id for h in reversed(ranking)] == ["c", "b", "a"]
    assert ("b" in ranking, "z" in ranking, ranking[1] in ranking) == (True, False, True)
    with pytest.raises(IndexError):
        ranking[3]


def test_a_slice_of_a_ranking_is_a_ranking(ranking):
    last = ranking[1:]
    assert (last.ids, last.scores.tolist(), last.candidates) == (["b", "c"], [0.5, 0.1], 7)
    assert last.components["bm25"].tolist() == [2.0, 1.0]
    assert last[0].rank == 1
    assert ranking[::-1].ids == ["c", "b", "a"]
    assert len(ranking[5:]) == 0


def test_a_ranking_becomes_a_frame_and_json(ranking):
    frame = ranking.to_pandas()
    assert list(frame.columns) == ["rank", "id", "score", "bm25"]
    assert frame.id.tolist() == ["a", "b", "c"]
    assert list(Ranking.of([]).to_pandas().columns) == ["rank", "id", "score"]
    plain = json.loads(ranking.to_json())
    assert plain["ids"] == ["a", "b", "c"]
    assert plain["components"] == {"bm25": [3.0, 2.0, 1.0]}


def test_a_long_table_says_how_many_rows_are_left_out():
    html = html_table(["n"], ([i] for i in range(45)), "numbers", 45)
    assert html.count("<tr>") == 21
    assert "and 25 more" in html
    assert "more" not in html_table(["n"], [[1]])


@pytest.fixture
def prediction(scripted, using, reply, table_fact, schema):
    """Of FHS with a selector over 300 concepts whose words would run in a browser."""
    concepts = [Concept(id=f"C{i}", label=f"Debt {i} {EVIL}", definition="due") for i in range(300)]
    lm = scripted(
        generator=lambda a: reply(f"debt due {EVIL}", Family=f"debt {EVIL}"),
        verifier=lambda a: {"verdicts": ["ssssss"] * (a.field("candidates").count("\n") + 1)},
        selector=lambda a: {"ids": ["C7"]},
    )
    program = Selector(FHS(BM25Retriever(Taxonomy(concepts, EVIL)), schema), schema)
    with using(lm):
        return program(fact=table_fact)


def test_a_prediction_is_shown_on_a_screen(prediction):
    assert len(repr(prediction)) < 1_000
    assert "Ranking of 200" in repr(prediction)
    assert "5 calls" in repr(prediction)


def test_a_prediction_is_json(prediction):
    plain = json.loads(json.dumps(prediction.toDict()))
    assert plain["ranking"]["ids"] == list(prediction.ranking.ids)
    assert plain["retrieved"]["scores"] == prediction.retrieved.scores.tolist()
    assert from_json(plain["trace"]).final.ids == list(prediction.trace.final.ids)
    assert json.loads(prediction.trace.to_json()) == plain["trace"]


def test_a_prediction_of_each_kind_is_json(tiny, schema, scripted, using, reply, table_fact):
    lm = scripted(
        generator=lambda a: reply("debt due"),
        verifier=lambda a: {"verdicts": ["ssssss"] * (a.field("candidates").count("\n") + 1)},
    )
    program = build_program(spec_named("- ensemble"), Parts(lambda _: BM25Retriever(tiny), tiny, schema))
    with using(lm):
        plain = json.loads(json.dumps(program(fact=table_fact).toDict()))
    assert len(plain["alternatives"]) == 2
    corpus = Corpus([Passage("p1", "Iron", "Iron is a metal."), Passage("p2", "Insulin", "It lowers sugar.")])
    spec = rag_spec("Evidence per option").changed({"answer": False})
    question = Question(question_id="q", text="Which?", options={"A": "iron", "B": "insulin"})
    found = build_rag(spec, make_rag_parts(corpus, {"kind": "bm25"}, {}))(question=question)
    plain = json.loads(json.dumps(found.toDict()))
    assert {c["id"] for c in plain["context"]} == {"p1", "p2"}


def answer():
    fields = dict.fromkeys(Answer.model_fields)
    lists = {name: [] for name in ("queries", "evidence", "cited", "left_out")}
    about = {"id": "q", "question": EVIL, "options": {"A": EVIL}, "proposed": False, "program": "HCQR"}
    return Answer(
        **fields | lists | {"statements": {}, "counters": {}} | about | {"answer": "A", "answer_text": EVIL}
    )


def shown(prediction, tmp_path, table_fact):
    taxonomy = Taxonomy([Concept(id="a", label=EVIL)], "tiny")
    with Tagger(taxonomy, program="locus") as tagger:
        tags = tagger.tag([table_fact.model_copy(update={"row_header": EVIL, "value": EVIL})])
    module = dspy.Module()
    module.forward = lambda text: dspy.Prediction(ranking=Ranking.of(["a"]))
    run = evaluate(
        {EVIL: lambda text: dspy.Prediction(ranking=Ranking.of(["a"]))}, [Example("x", {"text": "t"}, "a")]
    )
    evil = Ranking.of([EVIL], [1.0], components={EVIL: np.array([1.0])})
    return {
        "ranking": evil,
        "trace": prediction.trace,
        "taxonomy": taxonomy,
        "tags": tags,
        "run": run,
        "answer": answer(),
    }


@pytest.mark.parametrize("kind", ["ranking", "trace", "taxonomy", "tags", "run", "answer"])
def test_a_notebook_shows_it_escaped_and_it_is_json(kind, prediction, tmp_path, table_fact):
    thing = shown(prediction, tmp_path, table_fact)[kind]
    html = thing._repr_html_()
    assert "<table>" in html
    assert "&lt;script&gt;" in html
    assert EVIL not in html
    json.loads(thing.to_json())
    assert len(repr(thing)) < 1_000


def test_an_input_of_another_type_is_refused_in_one_line(tiny, schema):
    program = FHS(BM25Retriever(tiny), schema)
    for wrong in (program, Selector(program, schema)):
        with pytest.raises(TypeError, match=r"^fact must be a Fact, got str$"):
            wrong(fact="Debt")
        with pytest.raises(TypeError, match=r"^fact must be a Fact, got NoneType$"):
            wrong(None)
    parts = make_rag_parts(Corpus([Passage("p1", "Iron", "Iron.")]), {"kind": "bm25"}, {})
    for name in ("HCQR", "No-RAG (CoT)", "HCQR or CoT"):
        with pytest.raises(TypeError, match=r"^question must be a Question, got str$"):
            build_rag(rag_spec(name), parts)(question="What?")


def modules():
    for found in pkgutil.walk_packages(abduce.programs.__path__, "abduce.programs."):
        for name, cls in vars(import_module(found.name)).items():
            if isinstance(cls, type) and issubclass(cls, dspy.Module) and cls.__module__ == found.name:
                yield name, cls


def test_parts_of_another_type_are_refused_in_one_line(tiny_index, schema):
    with pytest.raises(TypeError, match=r"^retriever must be a Retriever, got str$"):
        FHS("bm25", schema)
    with pytest.raises(TypeError, match=r"^schema must be a DimensionSchema, got str$"):
        FHS(tiny_index, "us-gaap")


def test_every_forward_says_what_it_does():
    silent = [
        f"{name}.{method}"
        for name, cls in modules()
        for method in ("forward", "aforward")
        if method in vars(cls) and not inspect.getdoc(vars(cls)[method])
    ]
    assert silent == []
