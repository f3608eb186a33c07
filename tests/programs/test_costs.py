"""Model calls and retrievals of every method, counted by the model and the index."""

from __future__ import annotations

import pytest
from abduce.programs.methods import Parts, build_program
from abduce.programs.presets import PRESETS, scopes, spec_named

# method: (calls, retrievals) for a table fact, a text fact, and a table fact of which nothing is resolved
TABLE = {
    "direct": ((0, 1), (0, 1), (0, 1)),
    "locus": ((0, 1), (0, 1), (0, 1)),
    "one-pass free-text": ((1, 1), (1, 1), (1, 1)),
    "one-pass structured": ((1, 2), (1, 1), (1, 1)),
    "parallel sampling": ((2, 2), (2, 2), (2, 2)),
    "parallel sampling (forced variation)": ((2, 2), (2, 2), (2, 2)),
    "decomposed": ((1, 4), (1, 4), (1, 4)),
    "intrinsic refinement": ((4, 4), (4, 4), (4, 4)),
    "feedback refinement": ((4, 4), (4, 4), (4, 4)),
    "FHS": ((4, 4), (4, 2), (4, 2)),
    "FHS-Seq": ((19, 10), (19, 5), (4, 2)),
    "probe: label": ((0, 1), (0, 1), (0, 1)),
    "probe: label + definition": ((0, 1), (0, 1), (0, 1)),
    "oracle best single": ((4, 4), (4, 2), (4, 2)),
    "stochastic samples": ((4, 4), (4, 4), (4, 4)),
    "diversity-prompted": ((1, 4), (1, 4), (1, 4)),
    "dimensions assigned": ((1, 4), (1, 4), (1, 4)),
    "verifier picks one": ((4, 4), (4, 2), (4, 2)),
    "- ensemble": ((4, 4), (4, 2), (4, 2)),
    "- ensemble (hypothesis 0)": ((3, 2), (3, 1), (3, 1)),
    "- ensemble (hypothesis 1)": ((3, 2), (3, 1), (3, 1)),
    "- factorization": ((2, 2), (2, 2), (2, 2)),
    "- label form": ((4, 2), (4, 2), (4, 2)),
    "- definition form": ((4, 2), (2, 0), (2, 0)),
    "- verifier": ((2, 4), (2, 2), (2, 2)),
    "mean RRF": ((4, 4), (4, 2), (4, 2)),
    "raw fused scores": ((4, 4), (4, 2), (4, 2)),
    "- label coverage": ((4, 4), (4, 2), (4, 2)),
    "abstain as no support": ((4, 4), (4, 2), (4, 2)),
    "program-driven score": ((2, 4), (2, 2), (2, 2)),
    "Kv = 5": ((4, 4), (4, 2), (4, 2)),
    "Kv = 20": ((4, 4), (4, 2), (4, 2)),
    "J = 1": ((2, 2), (2, 1), (2, 1)),
    "J = 3": ((6, 6), (6, 3), (6, 3)),
    "J = 4": ((8, 8), (8, 4), (8, 4)),
    "beta = 0": ((2, 4), (2, 2), (2, 2)),
    **{f"beta = {beta}": ((4, 4), (4, 2), (4, 2)) for beta in ("0.2", "0.4", "0.8", "1")},
    "verifier on, selector on": ((5, 4), (5, 2), (5, 2)),
    "verifier on, selector off": ((4, 4), (4, 2), (4, 2)),
    "verifier off, selector on": ((3, 4), (3, 2), (3, 2)),
    "verifier off, selector off": ((2, 4), (2, 2), (2, 2)),
    "FHS-rules": ((0, 2), (0, 1), (0, 2)),
    "FHS-rules - verifier": ((0, 2), (0, 1), (0, 2)),
    "FHS-phrases": ((0, 1), (0, 1), (0, 1)),  # one more where text stands above the table
    "FHS + locus": ((4, 5), (4, 3), (4, 3)),
    "FHS graded verdicts": ((4, 4), (4, 2), (4, 2)),
    "FHS soft verdicts": ((4, 4), (4, 2), (4, 2)),
    "FHS, one-token selector": ((5, 4), (5, 2), (5, 2)),
    "FHS, shared evidence": ((4, 4), (4, 2), (4, 2)),  # of a fact that is by itself
    "FHS, table": ((4, 4), (4, 2), (4, 2)),
}


def replies(reply, resolved):
    """Every stage's reply; the verifier finds no support anywhere, so that FHS-Seq goes on to the end."""
    values = {"Family": "debt", "Role": "balance"} if resolved else {}

    def verdicts(asked):
        n = len(asked.field("candidates").split("\n"))
        graded = "chance in percent" in asked.prompt
        return {"verdicts": [[0] * 6 if graded else "nnnnnn"] * n}

    description = {"description": "alpha"}
    foci = ("entity_and_family", "temporal", "measurement_and_qualifiers", "aggregation_and_structure")
    return {
        "generator": reply("alpha", **values),
        "describe": description,
        "varied": description,
        "decompose": dict.fromkeys(foci, "alpha"),
        "critique": {"critique": "vague"} | description,
        "feedback": {"critique": "vague"} | description,
        "verifier": verdicts,
        "revise": {"value": "lease", "retrieval_query": "beta"},
        "selector": {"ids": ["Cash"]},
    }


@pytest.fixture
def spent(scripted, using, reply, table_retriever, tiny, schema):
    """(model calls, retrievals) of one preset over one fact, as the model and the index counted them."""

    def count(name, fact, resolved=True, **changes):
        lm = scripted(**replies(reply, resolved))
        index = table_retriever(tiny, default=["Cash", "DebtCurrent", "Goodwill"])
        spec = spec_named(name).changed(changes)
        gold = {"gold": "Cash"} if spec.needs_gold else {}
        with using(lm):
            trace = build_program(spec, Parts(lambda _: index, tiny, schema))(fact=fact, **gold).trace
        assert trace.counters["llm_calls"] == len(lm.asked) == len(trace.calls)
        assert trace.counters["retrievals"] == len(index.asked)
        return len(lm.asked), len(index.asked)

    return count


def test_the_table_has_every_preset():
    own = {name for name, spec in PRESETS.items() if not scopes(spec)}
    missing = own - set(TABLE)
    assert not missing, f"add the costs of {missing}"


@pytest.mark.parametrize("name", TABLE)
def test_a_table_fact(name, spent, table_fact):
    assert spent(name, table_fact) == TABLE[name][0]


@pytest.mark.parametrize("name", TABLE)
def test_a_text_fact(name, spent, text_fact):
    assert spent(name, text_fact) == TABLE[name][1]


@pytest.mark.parametrize("name", TABLE)
def test_an_all_unresolved_hypothesis(name, spent, table_fact):
    assert spent(name, table_fact, resolved=False) == TABLE[name][2]


@pytest.mark.parametrize("J", [1, 2, 3, 4])
def test_FHS_takes_2J_calls_and_2J_retrievals(J, spent, table_fact, text_fact):
    assert spent("FHS", table_fact, J=J) == (2 * J, 2 * J)
    assert spent("FHS", text_fact, J=J) == (2 * J, J)


@pytest.mark.parametrize("Kv", [5, 10, 20])
def test_the_window_does_not_change_the_calls(Kv, spent, table_fact):
    assert spent("FHS", table_fact, Kv=Kv) == (4, 4)


@pytest.mark.parametrize("name", ["direct", "FHS", "FHS-rules"])
def test_the_selector_is_one_call_more(name, spent, table_fact):
    calls, retrievals = TABLE[name][0]
    assert spent(name, table_fact, selector=True) == (calls + 1, retrievals)
