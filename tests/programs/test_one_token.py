"""The selector in one token per round: windows, orders worked out by hand, and what it falls back to."""

from __future__ import annotations

import math

import pytest
from abduce.lm import load
from abduce.programs.direct import Direct
from abduce.programs.one_token import OneTokenSelector, window_starts
from abduce.programs.select import Selector
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.types import Concept
from hypothesis import given
from hypothesis import strategies as st
from openai_stub import Stub

LETTERS = "ABCDEFGHIJKLMNOPQRST"
IDS = [f"C{i:03d}" for i in range(45)]


def options(token, **chances):
    tops = [{"token": t, "logprob": math.log(p)} for t, p in chances.items()]
    return {"content": [{"token": token, "logprob": math.log(chances.get(token, 1)), "top_logprobs": tops}]}


def preferring(wanted):
    """A model that is surest of the candidates first in ``wanted``, then of those first in the window."""

    def probabilities(asked, content):
        shown = [line.split(". ", 1)[1].split(" | ")[0] for line in asked.field("candidates").split("\n")]
        ranked = sorted(shown, key=lambda c: wanted.index(c) if c in wanted else len(wanted))
        mass = {LETTERS[shown.index(c)]: 1 / (2 + i) ** 2 for i, c in enumerate(ranked)}
        return options("A", **mass)

    return probabilities


@pytest.fixture
def run(table_retriever, schema, using, scripted, table_fact):
    def go(n, logprobs=None, **replies):
        taxonomy = Taxonomy([Concept(id=i, label=i.lower()) for i in IDS])
        program = OneTokenSelector(Direct(table_retriever(taxonomy, default=IDS[:n])), schema)
        lm = scripted(logprobs=logprobs, **replies)
        with using(lm):
            return program(fact=table_fact), lm

    return go


@pytest.mark.parametrize(
    ("n", "starts"),
    [(0, []), (1, [0]), (20, [0]), (21, [1, 0]), (45, [25, 15, 5, 0]), (200, list(range(180, -1, -10)))],
)
def test_windows_from_the_end_to_the_top(n, starts):
    assert window_starts(n) == starts


def test_one_round_is_ordered_by_the_first_token(run):
    prediction, lm = run(4, lambda a, c: options("B", **{"B": 0.4, " D": 0.2, "D": 0.3, '"A': 0.1}))
    assert list(prediction.ranking.ids) == ["C003", "C001", "C000", "C002"]  # D .5, B .4, A .1, C none
    assert prediction.trace.selected == ["C003", "C001", "C000", "C002"]
    (asked,) = lm.asked
    assert (asked.config["max_tokens"], asked.config["top_logprobs"]) == (1, 20)
    assert asked.field("candidates").split("\n")[3] == "D. C003 | c003"
    assert "JSON" not in asked.prompt
    assert list(prediction.retrieved.ids) == IDS[:4]


def test_a_good_candidate_at_the_end_rises_to_the_top(run):
    prediction, lm = run(45, preferring(["C044", "C030", "C007"]))
    assert len(lm.asked) == 4
    assert list(prediction.ranking.ids[:3]) == ["C044", "C030", "C007"]
    assert len(prediction.trace.selected) == 20
    assert sorted(prediction.ranking.ids) == IDS


@given(st.permutations(range(30)), st.integers(1, 30))
def test_no_id_is_lost_or_added(order, n):
    # The windows alone, without a model: any reordering of each keeps the list's ids.
    ids = list(range(n))
    for start in window_starts(n):
        window = ids[start : start + 20]
        ids[start : start + 20] = sorted(window, key=order.index)
    assert sorted(ids) == list(range(n))
    if n <= 30:
        assert ids[0] == min(range(n), key=order.index)


def test_without_log_probabilities_the_letter_stands_first_and_it_is_counted(run):
    prediction, _ = run(4, None, letter="C")
    assert list(prediction.ranking.ids) == ["C002", "C000", "C001", "C003"]
    assert prediction.trace.counters["selector_no_logprobs"] == 1


@pytest.mark.parametrize("said", ["no letter", "T"])
def test_a_round_that_fails_leaves_the_ranking_and_is_counted(run, said):
    prediction, lm = run(4, None, letter=said)
    assert list(prediction.ranking.ids) == IDS[:4]
    assert prediction.trace.selected is None
    assert prediction.trace.counters["selector_failed"] == 1
    assert len(lm.asked) == (2 if said == "no letter" else 1)


def test_an_empty_ranking_is_not_asked_about(run):
    prediction, lm = run(0)
    assert lm.asked == []
    assert prediction.trace.selected == []


@pytest.mark.parametrize("said", ["C", " C", '"C"', "(C)", "C. C002", "c"])
def test_how_a_letter_may_be_written(run, said):
    prediction, _ = run(4, None, letter=said)
    assert (prediction.ranking.ids[0] == "C002") == (said != "c")  # "c" may be the article of a sentence


def test_a_row_may_name_it(tiny, tiny_index, schema):
    from abduce.programs.methods import Parts, build_program
    from abduce.programs.presets import PRESETS

    parts = Parts(lambda _: tiny_index, tiny, schema)
    assert type(build_program(PRESETS["FHS, one-token selector"], parts)) is OneTokenSelector
    assert type(build_program(PRESETS["FHS"].changed({"selector": True}), parts)) is Selector
    with pytest.raises(ValueError, match="selector"):
        PRESETS["FHS"].changed({"selector": "two-token"})


def test_over_the_wire_a_round_is_one_token(schema, table_retriever, table_fact):
    taxonomy = Taxonomy([Concept(id=i, label=i.lower()) for i in IDS])
    program = OneTokenSelector(Direct(table_retriever(taxonomy, default=IDS)), schema)
    with (
        Stub() as stub,
        load({"kind": "vllm", "base_url": stub.url}, cache=False) as models,
        models.context(),
    ):
        trace = program(fact=table_fact).trace
    assert [c.ok for c in trace.calls] == [True] * 4
    assert {c.completion_tokens for c in trace.calls} == {1}
    assert all(body["max_tokens"] == 1 and "response_format" not in body for body in stub.bodies)
    assert trace.counters["selector_no_logprobs"] == 0
    assert len(trace.selected) == 20
