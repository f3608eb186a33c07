"""Published answers: the counts of the paper's setting, and bad files."""

from __future__ import annotations

import gzip
import json

import pytest
from abduce.eval.report.choosing import choice_tables
from abduce.eval.report.published import predictions_report, predictions_table, read_predictions
from abduce.eval.utility import effect
from abduce.retrievers.errors import InputError

PUBLISHED = {
    ("medqa", "gpt-4-32k"): (1273, 57, 72),
    ("medqa", "gpt-35-turbo-16k"): (1273, 157, 135),
    ("mmlu", "gpt-4-32k"): (1089, 45, 69),
    ("mmlu", "gpt-35-turbo-16k"): (1089, 129, 101),
}


def test_the_published_counts(qa_data):
    answers = read_predictions(qa_data / "predictions_openai.jsonl.gz")
    found = {(a.dataset, a.model): a for a in answers}
    for key, (n, helped, harmed) in PUBLISHED.items():
        counts = effect(found[key].correct, found[key].baseline, found[key].ids).counts
        assert (counts.n, counts.helped, counts.harmed) == (n, helped, harmed)


def write(tmp_path, *rows):
    path = tmp_path / "p.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


ROW = {"dataset": "d", "id": "1", "gold": "A", "pred": {"m|cot": "B", "m|rag": "A"}}


def test_a_missing_answer_is_wrong_and_counted(tmp_path):
    path = write(tmp_path, ROW, ROW | {"id": "2", "pred": {"m|cot": "A", "m|rag": None}})
    [found] = read_predictions(path)
    assert (found.correct, found.baseline, found.missing) == ([1.0, 0.0], [0.0, 1.0], 1)
    table = predictions_table([found])
    assert table.rows[0][0] == "d m, n=2"
    assert table.rows[0][4:6] == [1, 1]
    assert any("1 answers are missing" in note for note in table.notes)


def test_repeated_questions_are_clustered(tmp_path):
    rows = [ROW | {"id": str(i)} for i in range(20)] + [
        ROW | {"id": str(i), "pred": {"m|cot": "A", "m|rag": "B"}} for i in range(20, 40)
    ]
    answers = read_predictions(write(tmp_path, *rows))
    clusters = {"d": {str(i): str(i // 20) for i in range(40)}}
    alone, together = (predictions_table(answers, c).rows[0][2] for c in (None, clusters))
    assert together.high - together.low > alone.high - alone.low


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (ROW | {"pred": {}}, "field 'pred'"),
        (ROW | {"pred": {"m|cot": 3}}, "m|cot: must be a text or null"),
        (ROW | {"pred": {"cot": "A"}}, "is not 'model|setting'"),
        (ROW | {"gold": ""}, "field 'gold': is empty"),
        (ROW | {"pred": {"m|rag": "A"}}, "no m|cot to compare"),
    ],
)
def test_bad_files(row, message, tmp_path):
    with pytest.raises(InputError) as caught:
        read_predictions(write(tmp_path, row))
    assert message in str(caught.value)


def test_an_id_twice(tmp_path):
    with pytest.raises(InputError, match=r"duplicate id .* in d"):
        read_predictions(write(tmp_path, ROW, ROW))


def test_question_sets_beside_the_file_give_the_clusters(tmp_path):
    rows = [ROW | {"dataset": "mmlu", "id": f"x-{i}"} for i in range(4)]
    questions = [
        {"id": f"mmlu-x-{i}", "question": f"Q {i % 2}?", "options": ["a", "b"], "answer": "A"}
        for i in range(3)
    ]
    path = write(tmp_path, *rows)
    assert "No question sets" in predictions_report(path).notes[-1]
    with gzip.open(tmp_path / "mmlu_med_test.jsonl.gz", "wt") as stream:
        stream.write("\n".join(map(json.dumps, questions)))
    assert predictions_report(path).notes[-1].startswith("mmlu-med: 3 question texts are known; 1 repeat")


def answered(tmp_path, *extra):
    """A training set where the other model sides with the right arm, and a test set of six questions."""
    rows = []
    for i in range(40):
        gold, wrong = "A", "ABCD"[1 + i % 3]
        with_ = gold if i % 2 else wrong
        without = wrong if i % 2 else gold
        other = gold if i % 8 else wrong
        pred = {"m|cot": without, "m|rag": with_, "o|x": other, "o|y": other}
        rows.append(
            {"dataset": "medmcqa", "id": f"t{i}", "gold": "ABCD"[i % 4] if i < 4 else gold, "pred": pred}
        )
    for i, (without, with_, other) in enumerate(["AAA", "ABA", "BAA", "ABB", "BAB", "BBB"]):
        pred = {"m|cot": without, "m|rag": with_, "o|x": other, "o|y": other}
        rows.append({"dataset": "medqa", "id": f"q{i}", "gold": "A", "pred": pred})
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in [*rows, *extra]))
    return path


def test_the_arm_that_others_side_with_is_chosen(tmp_path):
    """By hand: of six questions the other model decides four, rightly in the second and third."""
    choice, sure = choice_tables(answered(tmp_path))
    line = next(r for r in choice.rows if r[0].startswith("medqa m,"))
    plain = [getattr(v, "value", v) for v in line]
    assert plain[1:6] == pytest.approx([3 / 6, 3 / 6, 3 / 6, 3 / 6, 5 / 6])
    assert plain[7:9] == [1, 1]  # helped by the third question, harmed by the fourth
    line = next(r for r in sure.rows if r[0].startswith("medqa m,"))
    assert [getattr(v, "value", v) for v in line][2:6] == [2, 0.5, 4, 0.5]


def test_choosing_needs_questions_that_are_not_for_testing(tmp_path):
    path = tmp_path / "predictions.jsonl"
    row = {"dataset": "medqa", "id": "1", "gold": "A", "pred": {"m|cot": "A", "m|rag": "B"}}
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match="nothing but test sets"):
        choice_tables(path)
    path.write_text(json.dumps(row | {"dataset": "own"}) + "\n")
    with pytest.raises(InputError, match="none of the test sets medqa"):
        choice_tables(path)


def test_agreement_separates_the_published_answers(qa_data):
    choice, sure = choice_tables(qa_data / "predictions_openai.jsonl.gz")
    line = next(r for r in sure.rows if r[0].startswith("medqa gpt-4-32k"))
    plain = [getattr(v, "value", v) for v in line]
    assert (plain[2], round(plain[3], 3), plain[4], round(plain[5], 3)) == (1111, 0.897, 162, 0.444)
    bounds = {r[0].split(",")[0]: round(r[5].value, 3) for r in choice.rows}
    assert bounds == {
        "medqa gpt-4-32k": 0.885, "medqa gpt-35-turbo-16k": 0.772,
        "mmlu-med gpt-4-32k": 0.936, "mmlu-med gpt-35-turbo-16k": 0.848,
    }  # fmt: skip
    own = {r[0].split(",")[0]: round(r[3].value, 3) for r in choice.rows}
    assert own == {  # the better arm of the questions of the fit, whatever the other model says
        "medqa gpt-4-32k": 0.840, "medqa gpt-35-turbo-16k": 0.666,
        "mmlu-med gpt-4-32k": 0.894, "mmlu-med gpt-35-turbo-16k": 0.755,
    }  # fmt: skip
