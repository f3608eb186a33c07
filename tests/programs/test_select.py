"""The shared listwise selector: what it sees, and that it never invents or loses an id."""

from __future__ import annotations

import dspy
import numpy as np
import pytest
from abduce.programs import Direct, Selector
from abduce.programs.select import promote
from abduce.retrievers.base import Ranking
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.types import Concept
from hypothesis import given
from hypothesis import strategies as st

RANKED = ["Cash", "DebtCurrent", "Goodwill", "Revenues"]


@pytest.fixture
def run(table_retriever, tiny, schema, using, scripted, table_fact):
    def go(ids, ranked=RANKED, taxonomy=None):
        lm = scripted(selector=ids if isinstance(ids, str) else {"ids": ids})
        index = table_retriever(taxonomy or tiny, default=ranked)
        with using(lm):
            return Selector(Direct(index), schema)(fact=table_fact), lm

    return go


def test_selected_ids_stand_above_the_rest_in_their_order(run):
    prediction, _ = run(["Revenues", "DebtCurrent"])
    assert list(prediction.ranking.ids) == ["Revenues", "DebtCurrent", "Cash", "Goodwill"]
    assert list(prediction.retrieved.ids) == RANKED
    assert prediction.trace.selected == ["Revenues", "DebtCurrent"]
    # every concept keeps its first-stage score
    assert prediction.ranking.scores.tolist() == [1.0, 3.0, 4.0, 2.0]


def test_invented_ids_are_dropped_and_counted(run):
    prediction, _ = run(["NoSuchConcept", "Goodwill", "LeaseExpense"])  # the last is no candidate
    assert list(prediction.ranking.ids) == ["Goodwill", "Cash", "DebtCurrent", "Revenues"]
    assert prediction.trace.counters["selector_invented_ids"] == 2
    assert prediction.trace.notes["invented"] == ["NoSuchConcept", "LeaseExpense"]


def test_a_namespace_and_a_repetition_are_forgiven(run):
    prediction, _ = run(["us-gaap:Goodwill", " Goodwill ", "Cash"])
    assert prediction.trace.selected == ["Goodwill", "Cash"]
    assert prediction.trace.counters["selector_invented_ids"] == 0


@pytest.mark.parametrize("reply", ["nonsense", '{"ids": "Cash"}', '{"choice": []}'])
def test_if_the_call_fails_the_ranking_stands_and_it_is_counted(run, reply):
    prediction, lm = run(reply)
    assert list(prediction.ranking.ids) == RANKED
    assert prediction.trace.counters["selector_failed"] == 1
    assert prediction.trace.selected is None
    assert len(lm.asked) == 2


def test_a_list_that_is_too_long_for_the_server_loses_its_definitions_then_stands(
    table_retriever, schema, using, scripted, table_fact
):
    concepts = [Concept(id=i, label=i, definition="d" * 300) for i in RANKED]
    lengths = []

    def small(request):
        lengths.append(request.user.count("d" * 100))
        raise dspy.ContextWindowExceededError(model="m", message="too long")

    index = table_retriever(Taxonomy(concepts), default=RANKED)
    with using(scripted(selector=small)):
        prediction = Selector(Direct(index), schema)(fact=table_fact)
    assert list(prediction.ranking.ids) == RANKED
    assert prediction.trace.counters["selector_failed"] == 1
    assert prediction.trace.counters["selector_backoffs"] == 4
    assert [lengths[i] for i in (0, -1)] == [len(RANKED) * 3, 0]


def test_an_empty_choice_leaves_the_ranking(run):
    prediction, _ = run([])
    assert list(prediction.ranking.ids) == RANKED
    assert prediction.trace.selected == []
    assert prediction.trace.counters["selector_failed"] == 0


def test_an_empty_ranking_is_not_asked_about(run):
    prediction, lm = run(["Cash"], ranked=[])
    assert lm.asked == []
    assert len(prediction.ranking) == 0


def test_it_sees_value_datatype_context_and_every_candidate(run, table_fact):
    _, lm = run(["Cash"])
    (asked,) = lm.asked
    assert asked.field("value") == "1,204"
    assert asked.field("datatype") == "monetaryItemType"
    assert asked.field("row_header") is None
    assert asked.field("source_context") == "2024 Debt | Long-term 1,204"
    lines = asked.field("candidates").split("\n")
    assert lines[0] == "1. Cash | monetaryItemType | Cash | Amount of cash on hand."
    assert len(lines) == len(RANKED)
    assert asked.config["temperature"] == 0.0


@pytest.mark.parametrize(("length", "shown"), [(50, 50), (500, 240), (1000, 120), (3000, 0)])
def test_definitions_are_cut_until_the_prompt_fits(run, length, shown):
    """30,000 tokens at 3 characters each, less 1,500 of instructions and the evidence: about 85,400
    characters for 200 candidates of ``length`` more characters than their definition."""
    pad = {50: 1, 500: 100, 1000: 250, 3000: 400}[length]
    concepts = [Concept(id=f"C{i:03d}", label="l" * pad, definition="d" * length) for i in range(200)]
    prediction, lm = run(["C001"], ranked=[c.id for c in concepts], taxonomy=Taxonomy(concepts))
    assert prediction.trace.counters["selector_cut_definitions"] == (length > 320)
    first = lm.asked[0].field("candidates").split("\n")[0]
    assert first.count("d") == shown
    assert len(lm.asked[0].field("candidates").split("\n")) == 200


def test_a_program_without_a_schema_needs_one(table_retriever, tiny):
    with pytest.raises(ValueError, match="no dimension schema"):
        Selector(Direct(table_retriever(tiny)))


ids = st.lists(st.sampled_from([f"c{i}" for i in range(30)]), unique=True, min_size=1, max_size=30)


@given(ids, st.data())
def test_no_id_is_lost_or_added(ranked, data):
    selected = data.draw(st.lists(st.sampled_from(ranked), unique=True, max_size=20))
    ranking = Ranking.of(ranked, components={"x": np.arange(len(ranked), dtype=float)})
    promoted = promote(ranking, selected)
    assert sorted(promoted.ids) == sorted(ranked)
    assert list(promoted.ids[: len(selected)]) == selected
    rest = [c for c in ranked if c not in selected]
    assert list(promoted.ids[len(selected) :]) == rest
    before = {h.id: (h.score, h.components) for h in ranking}
    assert {h.id: (h.score, h.components) for h in promoted} == before
