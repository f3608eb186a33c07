"""A schema induced from an inventory that nobody wrote one for."""

import pytest
from abduce.signatures.dimensions import DimensionSchema
from abduce.signatures.induce import induce_schema
from abduce.signatures.types import Concept


def concept(id_, label, **metadata):
    return Concept(id=id_, label=label, metadata=metadata)


ANIMALS = [
    concept("1", "Wolf, adult", habitat="forest", source="a/b:1"),
    concept("2", "Wolf, juvenile", habitat="forest", source="a/b:2"),
    concept("3", "Otter, adult", habitat="river", source="a/b:3"),
    concept("4", "Otter, juvenile", habitat="river", source="a/b:3"),
]


def test_topics_cover_the_labels_and_tails_qualify_them():
    schema = induce_schema(ANIMALS, "animals")
    assert isinstance(schema, DimensionSchema)
    assert list(schema["Topic"].categories) == ["adult", "juvenile"]  # two words cover all four labels
    assert list(schema["Qualifier"].categories) == ["otter", "wolf"]
    assert {d.name for d in schema.dimensions if d.match == "overlap"} == {"Role", "Event"}


def test_a_metadata_field_with_few_values_is_a_dimension_matched_by_the_field():
    schema = induce_schema(ANIMALS)
    assert schema["Habitat"].categories_of(ANIMALS[0]) == ("forest",)
    assert schema["Habitat"].categories_in("seen by the river") == ("river",)
    assert "Source" not in schema.names  # paths are no categories


def test_the_profile_tells_concepts_apart():
    schema = induce_schema(ANIMALS)
    assert len({schema.profile(c) for c in ANIMALS}) == 4


def test_it_is_deterministic_and_order_free():
    assert induce_schema(ANIMALS) == induce_schema(ANIMALS[::-1])


def test_nothing_to_induce_from():
    with pytest.raises(ValueError, match="no concepts"):
        induce_schema([])


def test_the_real_inventory_gives_a_schema_that_fills_profiles(us_gaap):
    schema = induce_schema(us_gaap, "us-gaap-induced")
    assert {"Topic", "Role", "Event", "Qualifier"} <= set(schema.names)
    some = [us_gaap[i] for i in ("AssetsCurrent", "InterestExpense", "IncomeTaxExpenseBenefit")]
    assert len({schema.profile(c) for c in some}) == 3
