"""The ICD-10-CM schema: sizes, normalisation, and categories from a code's metadata."""

from __future__ import annotations

import pytest
from abduce.signatures.dimensions import Dimension, DimensionSchema, Features, load_schema
from abduce.signatures.types import Concept, Judgement

SCHEMA = load_schema("icd10cm")

FRACTURE = Concept(
    id="S52.101R",
    label="Unspecified fracture of right radius, subsequent encounter for open fracture with malunion",
    definition="left acute chronic neoplasm",
    datatype="diagnosis",
    metadata={
        "chapter": "19",
        "laterality": ["right"],
        "encounter": ["subsequent_encounter", "malunion"],
        "modifiers": ["open", "unspecified"],
    },
)


def test_the_papers_sizes() -> None:
    sizes = {d.name: len(d.categories) for d in SCHEMA.dimensions}
    assert sizes == {"Family": 21, "Role": 9, "Event": 0, "Qualifier": 21, "Scope": 5, "Temporal": 12}
    assert SCHEMA["Event"].match == "overlap"


def test_every_chapter_has_one_family_and_one_role() -> None:
    for chapter in map(str, range(1, 22)):
        concept = Concept(id="x", label="x", metadata={"chapter": chapter})
        assert len(SCHEMA["Family"].categories_of(concept)) == 1
        assert len(SCHEMA["Role"].categories_of(concept)) == 1


def test_a_codes_profile_comes_from_its_metadata_alone() -> None:
    assert SCHEMA.profile(FRACTURE) == (
        ("injury_poisoning",),
        ("injury",),
        ("open", "unspecified"),
        ("right",),
        ("subsequent_encounter", "malunion"),
    )


@pytest.mark.parametrize(
    ("dimension", "value", "categories"),
    [
        ("Family", "Diseases of the digestive system", ("digestive",)),
        ("Family", "metastatic lung cancer", ("neoplasms", "respiratory")),
        ("Role", "malignant neoplasm", ("neoplasm",)),
        ("Qualifier", "acute on chronic", ("acute", "chronic")),
        ("Qualifier", "carcinoma in situ", ("in_situ",)),
        ("Scope", "both sides", ("bilateral",)),
        ("Scope", "Right", ("right",)),
        ("Temporal", "follow-up, delayed healing", ("subsequent_encounter", "delayed_healing")),
        ("Temporal", "last Tuesday", ()),
    ],
)
def test_free_form_values_normalise(dimension: str, value: str, categories: tuple[str, ...]) -> None:
    assert SCHEMA.hypothesis({dimension: value}).categories[dimension] == categories


def test_the_symbolic_check_of_a_code() -> None:
    hypothesis = SCHEMA.hypothesis(
        {"Family": "injury", "Scope": "left", "Event": "fracture of the radius", "Temporal": "UNRESOLVED"}
    )
    (judged,) = SCHEMA.judge(hypothesis, [Features(SCHEMA.profile(FRACTURE), SCHEMA.text_tokens(FRACTURE))])
    assert judged["Family"] is Judgement.SUPPORT
    assert judged["Scope"] is Judgement.NO_SUPPORT
    assert judged["Event"] is Judgement.SUPPORT
    assert judged["Temporal"] is Judgement.ABSTAIN


def test_a_concept_without_the_field_has_no_category() -> None:
    bare = Concept(id="x", label="acute right fracture", definition="chronic left")
    assert set(SCHEMA.profile(bare)) == {()}


def test_field_values_default_to_the_categories_names() -> None:
    d = Dimension(name="S", match="vocabulary", description="", categories={"a": (), "b": ()}, field="f")
    assert d.categories_of(Concept(id="x", label="x", metadata={"f": ["b", "z"]})) == ("b",)
    assert d.categories_of(Concept(id="x", label="x", metadata={"f": "a"})) == ("a",)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('field = "f"\nvalues = { c = ["1"] }', "has no category 'c'"),
        ('values = { a = ["1"] }', "declares no field"),
    ],
)
def test_values_must_fit(line: str, message: str) -> None:
    text = 'name = "t"\n[[dimension]]\nname = "D"\nmatch = "vocabulary"\ndescription = ""\n'
    text += f"categories = {{ a = [] }}\n{line}\n"
    with pytest.raises(ValueError, match=message):
        DimensionSchema.from_toml(text)
