"""Question files: formats, golds, clusters, and every complaint with its place."""

from __future__ import annotations

import json

import pytest
from abduce.data.questions import gold_key, question_cluster, read_questions, same_answer
from abduce.retrievers.errors import InputError


def write(tmp_path, *rows, name="q.jsonl"):
    path = tmp_path / name
    path.write_text("\n".join(json.dumps(r) for r in rows), encoding="utf-8")
    return path


BASE = {"id": "1", "question": "Which?", "options": {"A": "one", "B": "two"}, "answer": "B"}


@pytest.mark.parametrize(
    ("change", "gold", "keys"),
    [
        ({}, "B", ["A", "B"]),
        ({"answer": "two"}, "B", ["A", "B"]),
        ({"answer": "b"}, "B", ["A", "B"]),
        ({"options": ["one", "two", "three"], "answer": 2}, "C", ["A", "B", "C"]),
        ({"options": ["one", "two"], "answer": "one"}, "A", ["A", "B"]),
        (
            {"options": {"yes": "Yes.", "no": "No.", "maybe": "Maybe."}, "answer": "maybe"},
            "maybe",
            ["yes", "no", "maybe"],
        ),
        ({"options": None, "option_a": "one", "option_b": "two", "answer": "A"}, "A", ["A", "B"]),
        ({"options": [str(i) for i in range(10)], "answer": "J"}, "J", list("ABCDEFGHIJ")),
        ({"answer": None}, None, ["A", "B"]),
    ],
)
def test_formats(change, gold, keys, tmp_path):
    [item] = read_questions(write(tmp_path, BASE | change))
    assert item.gold == gold
    assert list(item.question.options) == keys


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"options": {}}, "field 'options': the question has no options"),
        ({"options": None}, "field 'options': the question has no options"),
        ({"options": {"A": "one"}}, "field 'options': has 1 options"),
        ({"options": {str(i): f"t{i}" for i in range(11)}}, "field 'options': has 11 options"),
        ({"options": [f"t{i}" for i in range(12)]}, "field 'options': has 12 options"),
        ({"options": {"A": "same", "B": " same"}}, "field 'options': has the option 'same' twice"),
        ({"options": {"A": "one", "B": ""}}, "field 'options': the option 'B' is empty"),
        ({"options": 5}, "field 'options': must be an object, a list of texts"),
        ({"options": ["one", ["two"]]}, "field 'options': must be texts"),
        ({"answer": "E"}, "field 'answer': 'E' is none of the options"),
        ({"options": ["one", "two"], "answer": 2}, "field 'answer': 2 is none of the options"),
        ({"options": ["one", "two"], "answer": True}, "field 'answer'"),
        ({"question": " "}, "field 'question': is empty"),
        ({"answer": None}, "field 'answer': is missing"),
    ],
)
def test_complaints_name_file_line_and_field(change, message, tmp_path):
    path = write(tmp_path, BASE | {"id": "0"}, BASE | change)
    with pytest.raises(InputError) as caught:
        read_questions(path, need_gold=True)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)
    bad = []
    assert [q.question.question_id for q in read_questions(path, need_gold=True, bad=bad)] == ["0"]
    assert len(bad) == 1


def test_an_id_twice(tmp_path):
    with pytest.raises(InputError, match="duplicate id '1', first in line 1"):
        read_questions(write(tmp_path, BASE, BASE))


def test_no_questions(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text("")
    with pytest.raises(InputError, match="has no questions"):
        read_questions(path)


def test_free_form_questions(tmp_path):
    path = write(tmp_path, {"id": "1", "question": "What?", "answer": "forty-two"})
    [item] = read_questions(path, open_ended=True)
    assert (item.gold, dict(item.question.options)) == ("forty-two", {})


def test_csv_and_parquet(tmp_path):
    path = tmp_path / "q.csv"
    path.write_text("id,question,option_a,option_b,answer\n1,Which?,one,two,B\n")
    assert read_questions(path)[0].gold == "B"
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist([BASE]), tmp_path / "q.parquet")
    assert read_questions(tmp_path / "q.parquet")[0].gold == "B"
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        read_questions(tmp_path / "bad.parquet")


def test_repeated_questions_share_a_cluster():
    assert question_cluster("What  is THIS?") == question_cluster("what is this")
    assert question_cluster("What is this?") != question_cluster("What is that?")


def test_an_ambiguous_text_is_no_gold():
    assert gold_key("x y", {"a": "X y", "b": "X Y "}) is None


def test_options_may_differ_by_case_alone(tmp_path):
    """Genotypes: a text names the option that is written exactly so."""
    row = {"id": "0", "question": "Genotype of a carrier?", "options": ["AA", "Aa", "aa"], "answer": "Aa"}
    [found] = read_questions(write(tmp_path, row))
    assert (dict(found.question.options), found.gold) == ({"A": "AA", "B": "Aa", "C": "aa"}, "B")
    assert gold_key("aa ", found.question.options) == "C"


def test_real_data(qa_data):
    medqa = read_questions(qa_data / "medqa_us_test.jsonl.gz", "medqa", need_gold=True)
    mmlu = read_questions(qa_data / "mmlu_med_test.jsonl.gz", "mmlu-med", need_gold=True)
    assert (len(medqa), len(mmlu)) == (816, 712)
    assert len({q.cluster for q in mmlu}) < len(mmlu)
    assert medqa[0].example().groups["dataset"] == "medqa"


@pytest.mark.parametrize(
    ("given", "gold", "same"),
    [
        ("The Insulin.", "insulin", True),
        ("1.5 mg", "1.5  mg.", True),
        ("1.5 mg", "15 mg", False),
        ("beta-blocker", "Beta blocker", True),
        ("-5", "5", False),
        ("", "", False),
        ("A", "the", False),
    ],
)
def test_free_form_answers_are_compared_after_normalisation(given, gold, same):
    assert same_answer(given, gold) is same
