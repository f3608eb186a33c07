"""How options are shown, and how a model's choice is read back."""

from __future__ import annotations

import pytest
from abduce.signatures.answer import Answer
from abduce.signatures.judge import ContextUtility
from abduce.signatures.options import Choices, restricted
from hypothesis import given
from hypothesis import strategies as st

BACTERIA = Choices.of(
    {"A": "E. coli", "B": "Staphylococcus aureus", "C": "C. difficile", "D": "None of the above"}
)


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("A", "A"),
        (" b ", "B"),
        ("(B)", "B"),
        ("B.", "B"),
        ("B) Staphylococcus aureus", "B"),
        ("B. Staphylococcus aureus, because of the clumps", "B"),
        ("Option D", "D"),
        ("The correct answer is: C", "C"),
        ("staphylococcus aureus.", "B"),
        ("C. difficile", "C"),
        ("A. E. coli", "A"),
        ("none of the above", "D"),
        ("C. difficile colitis", None),  # a species, and no option's text
        ("D. melanogaster", None),
        ("A patient with fever", None),
        ("E", None),
        ("", None),
    ],
)
def test_letters_are_read_from_many_spellings(reply, letter):
    assert BACTERIA.letter(reply) == letter


def test_a_species_is_not_a_letter():
    shown = Choices.of({"A": "Aspirin", "B": "Ibuprofen", "C": "Insulin"})
    assert shown.letter("C. difficile") is None
    assert shown.named("C. difficile") is None
    assert shown.named("insulin") == "C"


keys = st.dictionaries(
    st.text(min_size=1, max_size=5), st.text("abc xyz", min_size=1), min_size=2, max_size=10
)


@given(keys)
def test_every_option_is_found_by_its_letter(options):
    shown = Choices.of(options)
    assert len(set(shown.letters)) == len(options)
    for key, letter in zip(options, shown.letters, strict=True):
        assert shown.key(letter) == key
        assert shown.letter_of(key) == letter


def test_more_than_ten():
    with pytest.raises(ValueError, match="11 options"):
        Choices.of({str(i): str(i) for i in range(11)})
    with pytest.raises(KeyError):
        BACTERIA.letter_of("Z")


def test_the_schema_names_the_questions_letters_only():
    model = restricted(Answer, "answer_choice", ("A", "B"))
    schema = model.model_json_schema()
    assert schema["properties"]["answer_choice"]["enum"] == ["A", "B"]
    assert list(schema["properties"]) == ["step_by_step_thinking", "answer_choice"]
    assert (
        model.model_validate({"step_by_step_thinking": "", "answer_choice": "(b) x"}).answer_choice == "(b) x"
    )


def test_every_text_of_a_reply_is_bounded():
    from abduce.signatures import answer, hcqr, judge
    from pydantic import BaseModel

    def unbounded(schema, root):
        if "$ref" in schema:
            schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
        if schema.get("type") == "string":
            return [] if "maxLength" in schema or "enum" in schema or "const" in schema else [schema]
        parts = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
        found = [] if schema.get("type") != "array" or "maxItems" in schema else [schema]
        return found + [s for p in parts for s in unbounded(p, root)]

    models = [
        v
        for m in (answer, hcqr, judge)
        for v in vars(m).values()
        if isinstance(v, type) and issubclass(v, BaseModel) and v.__module__ == m.__name__
        and not hasattr(v, "instructions") and v.model_fields
    ]  # fmt: skip
    assert len(models) >= 9
    for model in models:
        schema = model.model_json_schema()
        assert unbounded(schema, schema) == [], model.__name__
    assert list(ContextUtility.model_fields) == ["selected_answer", "label"]


LYMPHOMA = Choices.of({"A": "D-dimer", "B": "CT of the chest", "C": "ct of the chest", "D": "Biopsy"})


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("B-cell lymphoma", None),
        ("D-dimer", "A"),
        ("D-dimer test", None),
        ("CT of the chest", "B"),
        ("ct of the chest", "C"),
        ("CT OF THE CHEST", None),
        ("D - Biopsy", "D"),
    ],
)
def test_a_word_that_begins_with_a_letter_is_not_that_option(reply, letter):
    assert LYMPHOMA.letter(reply) == LYMPHOMA.letter(reply, alone=True) == letter


@pytest.mark.parametrize(
    ("reply", "letter", "alone"),
    [
        ("D.", "D", "D"),
        ("D. Biopsy of the node", "D", "D"),
        ("D, since imaging is normal", "D", None),
        ("A, D", "A", None),
        ("D. CT of the chest", "D", None),
    ],
)
def test_a_reply_that_must_be_one_option(reply, letter, alone):
    assert LYMPHOMA.letter(reply) == letter
    assert LYMPHOMA.letter(reply, alone=True) == alone


def test_an_option_alone_in_a_list_is_that_option():
    for model in (Answer, restricted(Answer, "answer_choice", ("A", "B"))):
        assert (
            model.model_validate({"step_by_step_thinking": "", "answer_choice": ["B"]}).answer_choice == "B"
        )
        with pytest.raises(ValueError):
            model.model_validate({"step_by_step_thinking": "", "answer_choice": ["A", "B"]})
