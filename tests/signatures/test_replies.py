"""Types of model answers: strict on the wire, forgiving of case and spelling."""

from __future__ import annotations

import pytest
from abduce.signatures.replies import Selection, hypothesis_answer, judgements, verdicts_answer
from abduce.signatures.types import Judgement
from pydantic import ValidationError

S, N, X = Judgement.SUPPORT, Judgement.NO_SUPPORT, Judgement.ABSTAIN


def test_compact_verdicts_are_one_letter_a_dimension(schema):
    answer = verdicts_answer(schema, 2, "compact").model_validate({"verdicts": ["snxsnx", "ssssss"]})
    hard, chances = judgements(schema, answer.verdicts[0])
    assert list(hard.items()) == list(zip(schema.names, [S, N, X, S, N, X], strict=True))
    assert chances == {}


def test_case_and_spaces_are_forgiven(schema):
    answer = verdicts_answer(schema, 1, "compact").model_validate({"verdicts": [" S N X S N X"]})
    assert answer.verdicts == ["snxsnx"]


@pytest.mark.parametrize("verdicts", [["snxsn"], ["snxsnxs"], ["abcdef"], ["snxsnx", "snxsnx"], []])
def test_another_length_or_letter_is_refused(schema, verdicts):
    with pytest.raises(ValidationError):
        verdicts_answer(schema, 1, "compact").model_validate({"verdicts": verdicts})


def test_the_schema_on_the_wire_has_the_bounds(schema):
    wire = verdicts_answer(schema, 3, "compact").model_json_schema()["properties"]["verdicts"]
    assert (wire["minItems"], wire["maxItems"]) == (3, 3)
    assert wire["items"]["pattern"] == "^[snx]{6}$"
    assert hypothesis_answer(schema).model_json_schema()["properties"]["Family"]["maxLength"] == 200


def test_spelled_verdicts_forgive_spelling_and_keep_the_enum(schema):
    said = ["Support", "no support", "NO_SUPPORT", "abstain", "N/A", "yes"]
    item = dict(zip(schema.names, said, strict=True))
    form = verdicts_answer(schema, 1, "spelled")
    hard, _ = judgements(schema, form.model_validate({"verdicts": [item]}).verdicts[0])
    assert list(hard.values()) == [S, N, N, X, X, S]
    (wire,) = (d for d in form.model_json_schema()["$defs"].values())
    assert wire["properties"]["Family"]["enum"] == ["support", "no_support", "abstain"]


def test_a_spelling_that_means_nothing_is_refused(schema):
    item = dict.fromkeys(schema.names, "support") | {"Role": "maybe"}
    with pytest.raises(ValidationError):
        verdicts_answer(schema, 1, "spelled").model_validate({"verdicts": [item]})


def test_graded_verdicts_are_chances_with_minus_one_for_abstain(schema):
    answer = verdicts_answer(schema, 1, "graded").model_validate({"verdicts": [[100, 50, 49, 0, -1, 75]]})
    hard, chances = judgements(schema, answer.verdicts[0])
    assert list(hard.values()) == [S, S, N, N, X, S]
    assert chances == {
        "Family": (1.0, 0.0, 0.0),
        "Role": (0.5, 0.5, 0.0),
        "Event": (0.49, 0.51, 0.0),
        "Qualifier": (0.0, 1.0, 0.0),
        "Temporal": (0.75, 0.25, 0.0),
    }


def test_a_hypothesis_needs_every_dimension_and_a_query_and_nothing_else(schema, reply):
    answer = hypothesis_answer(schema)
    assert answer.model_validate(reply("q", Family="debt")).Family == "debt"
    assert answer.model_validate(reply("q") | {"Role": None}).Role == "UNRESOLVED"
    for bad in (
        {k: v for k, v in reply("q").items() if k != "Event"},
        reply("") | {"retrieval_query": ""},
        reply("q") | {"operators": "sum"},
    ):
        with pytest.raises(ValidationError):
            answer.model_validate(bad)


def test_a_selection_has_at_most_20_ids():
    assert len(Selection.model_validate({"ids": ["a"] * 20}).ids) == 20
    assert len(Selection.model_validate({"ids": ["a"] * 21}).ids) == 20  # cut, not refused


def test_what_is_longer_than_the_wire_allows_is_cut_not_lost(schema):
    from abduce.signatures.replies import MAX_QUERY, MAX_VALUE, Description, Selection

    assert len(Description(description="x" * 900).description) == MAX_QUERY
    assert Selection(ids=[f"c{i}" for i in range(25)]).ids == [f"c{i}" for i in range(20)]
    values = dict.fromkeys(schema.names, "y" * 900)
    answer = hypothesis_answer(schema)(**values, retrieval_query="z" * 900)
    assert {len(getattr(answer, n)) for n in schema.names} == {MAX_VALUE}
    wire = Selection.model_json_schema()["properties"]["ids"]
    assert wire["maxItems"] == 20
