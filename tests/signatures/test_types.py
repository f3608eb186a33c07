"""The evidence model: what a fact and a hypothesis may be."""

from __future__ import annotations

import pytest
from abduce.signatures.types import Fact, Hypothesis, SourceContext
from pydantic import ValidationError

CONTEXT = SourceContext(context_id="c", text="owed 75 million")


def test_a_fact_carries_no_gold():
    with pytest.raises(ValidationError, match="gold"):
        Fact(fact_id="f", value="75", context=CONTEXT, gold="Debt")
    assert "gold" not in Fact.model_fields


@pytest.mark.parametrize("value", ["", "   "])
def test_a_value_is_not_empty(value):
    with pytest.raises(ValidationError, match="value"):
        Fact(fact_id="f", value=value, context=CONTEXT)


@pytest.mark.parametrize("span", [(5, 16), (-1, 4), (7, 7), (7, 5), (5, None), (None, 7)])
def test_a_span_lies_inside_its_context(span):
    with pytest.raises(ValidationError, match="outside its context"):
        Fact(fact_id="f", value="75", context=CONTEXT, mention_start=span[0], mention_end=span[1])


def test_the_end_of_a_span_is_exclusive():
    fact = Fact(fact_id="f", value="million", context=CONTEXT, mention_start=8, mention_end=15)
    assert fact.context.text[fact.mention_start : fact.mention_end] == "million"


def test_facts_and_hypotheses_are_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        Fact(fact_id="f", value="75", context=CONTEXT).value = "76"
    with pytest.raises(ValidationError, match="frozen"):
        Hypothesis().retrieval_query = "q"
