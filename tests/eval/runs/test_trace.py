"""The trace schema: JSON there and back, and rankings recomputed to the last digit."""

from __future__ import annotations

import json

import pytest
from abduce.eval.runs.recompute import recompute
from abduce.programs.config import FHSConfig
from abduce.programs.methods import Parts, build_program
from abduce.programs.presets import PRESETS, scopes, spec_named
from abduce.programs.trace_json import from_json

FOCI = ("entity_and_family", "temporal", "measurement_and_qualifiers", "aggregation_and_structure")

ALONE = [name for name, spec in PRESETS.items() if not scopes(spec)]
"""Presets that need no already-tagged facts; the others are tested with the precedents."""


@pytest.fixture
def model(scripted, reply):
    """Different samples, different descriptions, verdicts that differ by candidate and hypothesis."""

    def verdicts(asked):
        n = len(asked.field("candidates").split("\n"))
        shift = len(asked.field("hypothesis"))
        if "chance in percent" in asked.prompt:
            return {"verdicts": [[(37 * i + shift) % 102 - 1 for _ in range(6)] for i in range(n)]}
        return {"verdicts": ["".join("snx"[(i * d + shift) % 3] for d in range(6)) for i in range(n)]}

    texts = ("debt due after one year", "lease cost of the period", "deferred tax", "cash on hand")
    said = lambda a: {"description": texts[a.sample % 100 % 4]}  # noqa: E731
    revised = lambda a: {"critique": "vague", "description": texts[len(a.user) % 4]}  # noqa: E731
    return scripted(
        generator=lambda a: reply(texts[a.sample % 100 % 4], Family="debt", Role=texts[a.sample % 100 % 4]),
        describe=said,
        varied=said,
        decompose=dict(zip(FOCI, texts, strict=True)),
        critique=revised,
        feedback=revised,
        verifier=verdicts,
        revise={"value": "lease", "retrieval_query": texts[1]},
        selector={"ids": ["Cash", "Nonsense"]},
    )


@pytest.fixture
def run(tiny, tiny_index, schema, using, model):
    def go(name, fact, **changes):
        spec = spec_named(name).changed(changes)
        gold = {"gold": "DebtNoncurrent"} if spec.needs_gold else {}
        with using(model):
            return build_program(spec, Parts(lambda _: tiny_index, tiny, schema))(fact=fact, **gold)

    return go


def same(one, other):
    assert list(one.ids) == list(other.ids)
    assert one.scores.tolist() == other.scores.tolist()  # to the last digit
    assert one.components.keys() == other.components.keys()
    for name, values in one.components.items():
        assert values.tolist() == other.components[name].tolist()
    assert (one.candidates, one.fell_back) == (other.candidates, other.fell_back)


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("modality", ["table", "text"])
def test_a_trace_goes_to_JSON_and_back(name, modality, run, table_fact, text_fact):
    trace = run(name, table_fact if modality == "table" else text_fact).trace
    text = json.dumps(trace.toDict())
    back = from_json(json.loads(text))
    assert json.dumps(back.toDict()) == text
    assert back.queries == trace.queries
    assert back.hypotheses == trace.hypotheses
    assert back.judged == trace.judged
    assert back.calls == trace.calls
    assert back.counters == trace.counters
    assert back.selected == trace.selected
    same(back.final, trace.final)


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("modality", ["table", "text"])
def test_the_ranking_is_recomputed_to_the_last_digit(name, modality, run, table_fact, text_fact):
    prediction = run(name, table_fact if modality == "table" else text_fact)
    record = json.loads(json.dumps(prediction.trace.toDict()))
    found = recompute(from_json(record))
    own = prediction.get("retrieved", prediction.ranking)
    assert list(found.ids) == list(own.ids)
    assert found.scores.tolist() == own.scores.tolist()


def test_under_another_beta_it_is_what_that_beta_would_have_ranked(run, table_fact):
    logged = run("FHS", table_fact).trace
    other = run("FHS", table_fact, beta=0.2)
    found = recompute(logged, FHSConfig(beta=0.2))
    assert found.ids == other.ranking.ids
    assert found.scores.tolist() == other.ranking.scores.tolist()
    assert found.scores.tolist() != logged.final.scores.tolist()


def test_the_selector_is_kept_apart_from_the_method_s_ranking(run, table_fact):
    prediction = run("FHS", table_fact, selector=True)
    back = from_json(prediction.trace.toDict())
    assert back.selected == prediction.trace.selected
    same(back.final, prediction.retrieved)
    assert back.counters["selector_invented_ids"] == 1


def test_the_schema_s_keys_are_those_of_its_page(run, table_fact):
    import abduce.programs.trace_json as page

    documented = {line.split("``")[1] for line in page.__doc__.splitlines() if line.startswith("``")}
    record = run("FHS", table_fact).trace.toDict()
    assert documented <= record.keys()
    assert record.keys() - documented <= {"version", "seconds", "notes"}


@pytest.mark.parametrize("name", ["FHS", "- ensemble", "parallel sampling", "decomposed", "FHS-Seq"])
def test_a_direct_fall_back_is_recomputed_too(name, run, table_fact, model):
    model.replies |= dict.fromkeys(("generator", "describe", "decompose"), "?")
    trace = run(name, table_fact).trace
    assert trace.counters["direct_fallback"] == 1
    assert recompute(from_json(trace.toDict())).scores.tolist() == trace.final.scores.tolist()


def test_a_dropped_verification_survives(run, table_fact, model):
    model.replies["verifier"] = "?"
    trace = run("FHS", table_fact).trace
    back = from_json(json.loads(json.dumps(trace.toDict())))
    assert [j.verdicts for j in back.judged] == [None, None]
    assert recompute(back).scores.tolist() == trace.final.scores.tolist()


def test_another_version_is_refused(run, table_fact):
    record = run("direct", table_fact).trace.toDict() | {"version": 99}
    with pytest.raises(ValueError, match="version 99"):
        from_json(record)
