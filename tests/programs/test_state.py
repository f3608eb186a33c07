"""Saved program state: instructions come back, and only into the signature they were made for."""

import json
import re

import dspy
import pytest
from abduce.programs import FHS, Selector
from abduce.programs.parallel import Parallel
from abduce.programs.state import FINGERPRINTS
from abduce.signatures.induce import induce_schema


def reworded(program, text):
    for _, predictor in program.named_predictors():
        predictor.signature = predictor.signature.with_instructions(text)
    return program


def test_instructions_survive_a_file(tiny_index, schema, tmp_path):
    program = reworded(Selector(FHS(tiny_index, schema)), "Say it otherwise.")
    program.save(str(tmp_path / "p.json"))
    fresh = Selector(FHS(tiny_index, schema))
    fresh.load(str(tmp_path / "p.json"))
    assert {p.signature.instructions for _, p in fresh.named_predictors()} == {"Say it otherwise."}
    assert set(json.loads((tmp_path / "p.json").read_text())[FINGERPRINTS]) == {
        "program.generator.generate",
        "program.verifier.verify",
        "select",
    }


def test_a_reworded_verifier_is_asked_in_the_new_words(
    tiny_index, schema, scripted, using, reply, table_fact
):
    program = reworded(
        FHS(tiny_index, schema), "You check candidate things. State one reading of the located value."
    )
    lm = scripted(generator=reply("debt", Family="debt"), verifier=lambda a: "{}")
    with using(lm):
        prediction = program(fact=table_fact)
    assert prediction.trace.counters["failed_verifications"] == 0 or lm.asked  # both stages share the words
    assert all("You check candidate things" in a.prompt for a in lm.asked)


def test_a_state_of_another_program_is_refused(tiny_index, schema):
    state = FHS(tiny_index, schema).dump_state()
    other = Parallel(tiny_index, schema)
    with pytest.raises(ValueError, match="another program"):
        other.load_state(state)


def test_a_state_of_another_signature_is_refused_and_changes_nothing(tiny_index, schema, tiny):
    state = reworded(FHS(tiny_index, induce_schema(tiny)), "Other words.").dump_state()
    program = FHS(tiny_index, schema)
    before = [p.signature.instructions for _, p in program.named_predictors()]
    with pytest.raises(ValueError, match=r"another signature of the predictor 'generator\.generate'"):
        program.load_state(state)
    assert [p.signature.instructions for _, p in program.named_predictors()] == before


def test_a_foreign_state_is_refused(tiny_index, schema):
    with pytest.raises(ValueError, match="no fingerprints"):
        FHS(tiny_index, schema).load_state({"generator.generate": {}})


def test_optimizers_copy_a_program_and_share_its_index(tiny_index, schema):
    copy = FHS(tiny_index, schema).deepcopy()
    assert copy.retriever is tiny_index
    assert copy.taxonomy is tiny_index.taxonomy


LM = {"_dspy_lm_class": "dspy.clients.lm.LM", "model": "openai/x", "api_base": "http://elsewhere/v1"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"lm": LM}, "never chooses a server"),
        ({"lm": {}}, "never chooses a server"),
        ({"lm": "openai/x"}, "never chooses a server"),
        ({"demos": "none"}, "demos"),
        ({"demos": [1]}, "demos"),
        ({"demos": [{"value": 5}]}, "demonstration 1: value: must be a text, not int"),
        ({"demos": [{"answer": {"no": "such"}}]}, "demonstration 1: answer"),
        ({"signature": {"instructions": 7, "fields": []}}, "signature.instructions"),
        ({"signature": {"instructions": "x", "fields": []}}, "not as many as it has"),
        ({"signature": None}, "signature"),
        ({"forward": "print"}, "forward"),
        ({"__class__": "x"}, "__class__"),
        (None, "Input should be"),
    ],
)
def test_a_state_holds_words_and_demonstrations_and_nothing_else(tiny_index, schema, change, why):
    program = FHS(tiny_index, schema)
    state = json.loads(json.dumps(program.dump_state()))
    name = "generator.generate"
    state[name] = None if change is None else state[name] | change
    before = [p.signature.instructions for _, p in program.named_predictors()]
    with pytest.raises(ValueError, match=re.escape(why)):
        program.load_state(state)
    assert [p.signature.instructions for _, p in program.named_predictors()] == before
    assert all(p.lm is None for _, p in program.named_predictors())


def test_a_saved_program_does_not_say_which_model_it_had(tiny_index, schema, tmp_path):
    program = FHS(tiny_index, schema)
    program.set_lm(dspy.LM("openai/x", api_base="http://elsewhere/v1", api_key="sk-secret"))
    program.save(str(tmp_path / "p.json"))
    assert "elsewhere" not in (tmp_path / "p.json").read_text()
    fresh = FHS(tiny_index, schema)
    fresh.load(str(tmp_path / "p.json"))
    assert all(p.lm is None for _, p in fresh.named_predictors())
