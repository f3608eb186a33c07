"""No prompt of any row holds what a reader of the page could not see: gold, filing, company, year."""

import pytest
from abduce.programs.methods import Parts, build_program
from abduce.programs.presets import PRESETS, scopes
from abduce.programs.profiles import Profiles

FOCI = ("entity_and_family", "temporal", "measurement_and_qualifiers", "aggregation_and_structure")
HIDDEN = {"filing_id": "HIDDENFILING", "company": "HIDDENCOMPANY", "taxonomy_year": "1888"}
ROWS = [n for n, s in PRESETS.items() if s.needs_model and not scopes(s) and not s.needs_gold]


@pytest.fixture
def lm(scripted, reply):
    said = {"description": "amount of debt", "critique": "too wide"}

    def verdicts(asked):
        n = asked.field("candidates").count("\n") + 1
        if "chance in percent" in asked.prompt:
            return {"verdicts": [[50] * 6] * n}
        return {"verdicts": ["nsnsns"] * n}

    return scripted(
        generator=reply("amount of debt", Family="debt", Role="current"),
        verifier=verdicts,
        selector={"ids": ["Cash"]},
        describe={"description": "amount of debt"},
        varied={"description": "amount of debt"},
        critique=said,
        feedback=said,
        decompose=dict.fromkeys(FOCI, "debt"),
        revise={"value": "tax", "retrieval_query": "income tax"},
    )


@pytest.mark.parametrize("prompts", ["paper", "default"])
@pytest.mark.parametrize("name", ROWS)
def test_provenance_is_in_no_prompt(
    name, prompts, lm, using, tiny, tiny_index, schema, table_fact, text_fact
):
    parts = Parts(lambda _: tiny_index, tiny, schema, profiles=Profiles(schema, tiny))
    program = build_program(PRESETS[name].changed({"selector": True, "prompts": prompts}), parts)
    with using(lm):
        for fact in (table_fact, text_fact):
            program(fact=fact.model_copy(update=HIDDEN))
    assert lm.asked
    for asked in lm.asked:
        assert not [word for word in HIDDEN.values() if word in asked.prompt], asked.stage


@pytest.mark.parametrize("name", ROWS)
def test_generators_see_no_taxonomy(name, lm, using, tiny, tiny_index, schema, table_fact):
    parts = Parts(lambda _: tiny_index, tiny, schema, profiles=Profiles(schema, tiny))
    with using(lm):
        build_program(PRESETS[name], parts)(fact=table_fact)
    for stage in ("generator", "describe", "varied", "diverse", "directed", "decompose", "critique"):
        for asked in lm.of(stage):
            assert "DebtNoncurrent" not in asked.prompt, stage


def test_the_paper_s_order_of_the_evidence(lm, using, tiny, tiny_index, schema, table_fact):
    parts = Parts(lambda _: tiny_index, tiny, schema, profiles=Profiles(schema, tiny))
    with using(lm):
        build_program(PRESETS["FHS"].changed({"prompts": "paper"}), parts)(fact=table_fact)
    order = ("value", "datatype", "input_type", "row_header", "column_header", "source_context")
    for asked in lm.asked:
        places = [asked.user.index(f"[[ ## {name} ## ]]") for name in order]
        assert places == sorted(places), asked.stage


@pytest.mark.parametrize("prompts", ["paper", "default"])
@pytest.mark.parametrize("name", ROWS)
def test_every_call_but_the_selectors_and_one_pass_free_text_sees_the_headers(
    name, prompts, lm, using, tiny, tiny_index, schema, table_fact
):
    """A value may stand twice in its table: without headers a prompt cannot say which cell is meant."""
    parts = Parts(lambda _: tiny_index, tiny, schema, profiles=Profiles(schema, tiny))
    with using(lm):
        build_program(PRESETS[name].changed({"selector": True, "prompts": prompts}), parts)(fact=table_fact)
    asked = [a for a in lm.asked if a.stage != "selector"]
    assert asked
    shown = {(a.field("row_header"), a.field("column_header")) for a in asked}
    assert shown == {(None, None) if name == "one-pass free-text" else ("Debt | Long-term", "2024")}
