"""Prompt sets: order, placeholders, fall-back to the default set, and what does not fit."""

from __future__ import annotations

import pytest
from abduce.signatures.fhs import EVIDENCE, generator_signature, verifier_signature
from abduce.signatures.grounding import (
    critique_signature,
    decompose_signature,
    describe_signature,
    feedback_signature,
    revise_signature,
    varied_signature,
)
from abduce.signatures.prompting import build_signature, fingerprint, load_prompts
from abduce.signatures.replies import Description
from abduce.signatures.select import selector_signature

PAPER = ["value", "datatype", "input_type", "row_header", "column_header", "source_context"]
MAKERS = {
    "generator": generator_signature,
    "describe": describe_signature,
    "describe_varied": varied_signature,
    "decompose": decompose_signature,
    "critique": critique_signature,
    "feedback": feedback_signature,
    "revise": revise_signature,
    "selector": selector_signature,
}


def inputs(signature):
    return list(signature.input_fields)


def test_the_paper_set_shows_the_evidence_in_the_paper_s_order(schema):
    assert list(EVIDENCE) == PAPER
    assert inputs(generator_signature(schema, "paper")) == PAPER
    for form in ("compact", "spelled", "graded"):
        shown = inputs(verifier_signature(schema, 10, form, "paper"))
        assert [n for n in shown if n in PAPER] == PAPER
        assert set(shown) - set(PAPER) == {"hypothesis", "candidates"}


def test_every_generator_sees_the_whole_evidence(schema):
    makes = (describe_signature, varied_signature, critique_signature, feedback_signature)
    for make in (*makes, generator_signature, decompose_signature, revise_signature):
        for name in ("paper", "default"):
            assert set(PAPER) <= set(inputs(make(schema, name)))


def test_one_pass_free_text_alone_sees_no_headers(schema):
    for name in ("paper", "default"):
        shown = inputs(describe_signature(schema, name, headers=False))
        assert set(shown) == set(PAPER) - {"row_header", "column_header"}


def test_generators_see_no_candidates(schema):
    for make in (generator_signature, describe_signature, varied_signature, decompose_signature):
        for name in ("paper", "default"):
            assert not {"candidates", "taxonomy"} & set(inputs(make(schema, name)))


def test_the_selector_sees_value_datatype_context_and_candidates(schema):
    for name in ("paper", "default"):
        assert set(inputs(selector_signature(schema, name))) == {
            "value",
            "datatype",
            "source_context",
            "candidates",
        }


def test_the_default_set_puts_shared_parts_first(schema):
    assert inputs(generator_signature(schema))[0] == "source_context"
    shown = inputs(verifier_signature(schema, 10))
    assert shown[:2] == ["source_context", "candidates"]
    assert shown[-1] == "hypothesis"


@pytest.mark.parametrize("prompts", ["default", "paper"])
def test_placeholders_are_filled_from_the_schema(schema, prompts):
    signatures = [make(schema, prompts) for make in MAKERS.values()]
    signatures += [verifier_signature(schema, 3, form, prompts) for form in ("compact", "spelled", "graded")]
    for signature in signatures:
        text = signature.instructions
        assert "{" not in text, signature.__name__
        assert schema.evidence in text
    generator = generator_signature(schema, prompts).instructions
    for dimension in schema.dimensions:
        assert f"- {dimension.name}: {dimension.description}" in generator
    assert schema.concept in generator


@pytest.mark.parametrize("prompts", ["default", "paper"])
def test_both_sets_say_the_same_and_differ_in_order_only(prompts):
    default, paper = load_prompts("default"), load_prompts("paper")
    assert default.keys() == paper.keys()
    for name, prompt in default.items():
        assert sorted(prompt.order) == sorted(paper[name].order)


def write(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_set_of_the_user_s_own_takes_what_it_lacks_from_the_default(tmp_path, schema):
    mine = write(tmp_path, '[describe]\ninstructions = "Describe {evidence} in French."\n')
    assert describe_signature(schema, mine).instructions == f"Describe {schema.evidence} in French."
    lacking = generator_signature(schema, mine)
    assert lacking.instructions == generator_signature(schema).instructions
    assert inputs(lacking) == inputs(generator_signature(schema))


def test_descriptions_of_inputs_may_be_reworded(tmp_path):
    mine = write(tmp_path, '[p]\ninstructions = "x"\n[p.fields]\nvalue = "the number"\n')
    signature = build_signature("p", {"value": "as shown"}, Description, mine)
    assert signature.input_fields["value"].json_schema_extra["desc"] == "the number"


@pytest.mark.parametrize(
    "order", ['["value"]', '["value", "datatype", "colour"]', '["value", "value", "datatype"]']
)
def test_a_wrong_order_is_refused(tmp_path, order):
    mine = write(tmp_path, f'[p]\ninstructions = "x"\norder = {order}\n')
    with pytest.raises(ValueError, match=r"\[p\] must order exactly \['datatype', 'value'\]"):
        build_signature("p", {"value": "", "datatype": ""}, Description, mine)


def test_a_description_of_no_input_is_refused(tmp_path):
    mine = write(tmp_path, '[p]\ninstructions = "x"\n[p.fields]\ncolour = "red"\n')
    with pytest.raises(ValueError, match="must order exactly"):
        build_signature("p", {"value": ""}, Description, mine)


def test_a_prompt_for_another_signature_is_refused(tmp_path):
    inputs = {"value": "as shown"}
    right = fingerprint(inputs, Description)
    fits = write(tmp_path, f'[p]\ninstructions = "x"\nfingerprint = "{right}"\n')
    assert build_signature("p", inputs, Description, fits).instructions == "x"
    other = tmp_path / "other.toml"
    other.write_text('[p]\ninstructions = "x"\nfingerprint = "0123456789abcdef"\n')
    with pytest.raises(ValueError, match=r"\[p\] was written for another signature"):
        build_signature("p", inputs, Description, str(other))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[p", "not TOML"),
        ("[p]\n", "instructions"),
        ('[p]\ninstructions = ""\n', "instructions"),
        ('[p]\ninstructions = "x"\ncolour = 1\n', "colour"),
    ],
)
def test_what_is_no_prompt_set_is_refused_in_one_line(tmp_path, text, says):
    path = write(tmp_path, text)
    with pytest.raises(ValueError) as caught:
        load_prompts(path)
    assert says in str(caught.value)
    assert path in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_sets_and_predictors(tmp_path):
    with pytest.raises(ValueError, match=r"no prompt set 'nope'; there are .*default.*paper"):
        load_prompts("nope")
    with pytest.raises(ValueError, match="no prompt set file"):
        load_prompts(str(tmp_path / "none.toml"))
    with pytest.raises(ValueError, match=r"no table \[nope\]"):
        build_signature("nope", {"value": ""}, Description, "default")
