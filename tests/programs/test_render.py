"""Hypotheses to queries: which forms are issued, in what order, with what prefix (paper: 4.2, B.2)."""

from __future__ import annotations

import pytest
from abduce.programs.render import label_form, prefixed, render
from abduce.programs.trace import Query
from abduce.signatures.types import Hypothesis

FIRST = {"Family": "deferred taxes", "Role": "the balance of assets", "Temporal": "as of year end"}


def hypotheses(schema):
    return [schema.hypothesis(FIRST, "tax assets at year end"), schema.hypothesis({}, "an asset")]


def test_the_label_form_is_the_resolved_values_in_canonical_order_through_tok(schema):
    hypothesis = Hypothesis(values=dict(reversed(FIRST.items())))
    # tok gives the runs and then their camel-case split, per value; function words drop, plurals shorten
    assert label_form(hypothesis, schema) == (
        "deferred taxe deferred taxe balance asset balance asset year end year end"
    )


def test_none_resolved_no_label_query(schema):
    assert label_form(Hypothesis(retrieval_query="q"), schema) == ""


def test_a_value_of_function_words_only_gives_no_label_query(schema, table_fact):
    hypothesis = schema.hypothesis({"Role": "of the"}, "q")
    assert [q.form for q in render(table_fact, "id", [hypothesis], schema)] == ["definition"]


def test_a_table_fact_issues_both_forms_of_each_hypothesis(schema, table_fact):
    queries = render(table_fact, "1,204 monetaryItemType", hypotheses(schema), schema)
    label = label_form(hypotheses(schema)[0], schema)
    assert queries == [
        Query("1,204 monetaryItemType tax assets at year end", "definition", 0, 0),
        Query(f"1,204 monetaryItemType {label}", "label", 0, 0),
        Query("1,204 monetaryItemType an asset", "definition", 1, 0),
    ]


def test_a_text_fact_issues_the_definition_form_only(schema, text_fact):
    queries = render(text_fact, "75 monetaryItemType", hypotheses(schema), schema)
    assert [(q.form, q.hypothesis) for q in queries] == [("definition", 0), ("definition", 1)]
    assert queries[0].text == "75 monetaryItemType tax assets at year end"


def test_an_ablated_form_is_not_issued(schema, table_fact, text_fact):
    said = hypotheses(schema)
    assert [q.form for q in render(table_fact, "", said, schema, ("label",))] == ["label"]
    assert [q.form for q in render(table_fact, "", said, schema, ("definition",))] == ["definition"] * 2
    assert render(text_fact, "", said, schema, ("label",)) == []  # no query: a miss


def test_later_rounds_number_their_hypotheses(schema, table_fact):
    (query,) = render(table_fact, "", hypotheses(schema)[1:], schema, round_=2, first=4)
    assert (query.hypothesis, query.round) == (4, 2)


@pytest.mark.parametrize(("identifier", "text"), [("75", "q"), ("", "q"), ("75", "")])
def test_the_prefix_stands_in_front_with_one_space(identifier, text):
    assert prefixed(identifier, text) == " ".join(p for p in (identifier, text) if p)
