"""Dimension schemas: unresolved spellings, normalisation, category profiles, the match operator."""

from __future__ import annotations

from typing import ClassVar

import pytest
from abduce.signatures.dimensions import (
    UNRESOLVED_SPELLINGS,
    DimensionSchema,
    Features,
    half_overlap,
    is_unresolved,
    load_schema,
)
from abduce.signatures.types import Concept, Judgement
from hypothesis import given
from hypothesis import strategies as st

SMALL = """
name = "small"
[[dimension]]
name = "Family"
match = "vocabulary"
description = "the family"
[dimension.categories]
debt = ["notes payable"]
tax = []
plan = []
fair_value = []
[[dimension]]
name = "Role"
match = "overlap"
description = "the role"
"""


@pytest.fixture
def small():
    return DimensionSchema.from_toml(SMALL)


class TestUnresolved:
    @pytest.mark.parametrize(
        "spelling",
        [
            "",
            "na",
            "n/a",
            "none",
            "null",
            "unknown",
            "unsupported",
            "unresolved",
            "not specified",
            "not applicable",
        ],
    )
    def test_the_release_s_spellings_are_unresolved_whatever_their_case(self, spelling):
        assert is_unresolved(spelling)
        assert is_unresolved(f"  {spelling.upper()} ")
        assert spelling in UNRESOLVED_SPELLINGS

    def test_none_underscores_and_a_full_stop_are_forgiven(self):
        assert is_unresolved(None)
        assert is_unresolved("NOT_SPECIFIED")
        assert is_unresolved("Unresolved.")

    @pytest.mark.parametrize("value", ["debt", "no tax", "unknown debt", "nullified", "0"])
    def test_a_real_value_is_resolved(self, value):
        assert not is_unresolved(value)

    def test_the_schema_drops_them_from_a_hypothesis(self, small):
        hypothesis = small.hypothesis({"Family": "N/A", "Role": " not  specified "}, " a query ")
        assert hypothesis.values == {}
        assert hypothesis.categories == {}
        assert hypothesis.retrieval_query == "a query"


class TestNormalisation:
    def test_a_value_takes_every_category_whose_trigger_occurs(self, small):
        assert small["Family"].categories_in("notes payable under the plan") == ("debt", "plan")

    def test_a_phrase_occurs_with_all_its_tokens_in_any_place(self, small):
        assert small["Family"].categories_in("payable on the note") == ("debt",)
        assert small["Family"].categories_in("payable") == ()

    def test_a_category_s_name_is_a_phrase_with_underscores_as_spaces(self, small):
        assert small["Family"].categories_in("at fair value") == ("fair_value",)

    def test_a_trigger_inside_a_longer_word_does_not_count(self, small):
        assert small["Family"].categories_in("planet taxonomy") == ()

    def test_camel_case_ids_are_read_as_words(self, small):
        assert small["Family"].categories_in("NotesPayableFairValueDisclosure") == ("debt", "fair_value")

    def test_a_value_outside_the_vocabulary_is_kept_for_the_query_and_reported(self, small):
        before = small.model_dump()
        hypothesis = small.hypothesis({"Family": "crypto tokens", "Role": "balance"})
        assert hypothesis.values == {"Family": "crypto tokens", "Role": "balance"}
        assert hypothesis.categories == {"Family": ()}
        assert small.unnormalised(hypothesis) == {"Family": "crypto tokens"}
        assert small.model_dump() == before

    def test_a_normalised_value_is_not_reported(self, small):
        assert small.unnormalised(small.hypothesis({"Family": "tax", "Role": "crypto"})) == {}

    def test_a_key_that_is_no_dimension_is_refused(self, small):
        with pytest.raises(KeyError, match="no dimension 'Colour'"):
            small.hypothesis({"Colour": "red"})

    def test_values_stand_in_canonical_order_with_single_spaces(self, small):
        hypothesis = small.hypothesis({"Role": "a\n  b", "Family": "tax"})
        assert list(hypothesis.values.items()) == [("Family", "tax"), ("Role", "a b")]


class TestProfiles:
    def test_a_profile_has_one_category_tuple_a_vocabulary_dimension(self, small):
        concept = Concept(id="TaxPlan", label="Tax plan", definition="A note that is payable.")
        assert small.profile(concept) == (("debt", "tax", "plan"),)

    def test_id_label_definition_and_datatype_all_count(self, small):
        assert small.profile(Concept(id="TaxX", label="x")) == (("tax",),)
        assert small.profile(Concept(id="x", label="tax")) == (("tax",),)
        assert small.profile(Concept(id="x", label="x", definition="tax")) == (("tax",),)
        assert small.profile(Concept(id="x", label="x", datatype="taxItemType")) == (("tax",),)

    def test_a_metadata_field_decides_where_the_schema_names_one(self):
        schema = DimensionSchema.from_toml(
            """
            name = "by-field"
            [[dimension]]
            name = "Temporal"
            match = "vocabulary"
            description = "when"
            field = "period_type"
            categories = { instant = ["balance sheet date"], duration = ["during"] }
            values = { instant = ["instant"], duration = ["duration", "period"] }
            """
        )
        held = Concept(id="x", label="during", metadata={"period_type": "instant"})
        assert schema.profile(held) == (("instant",),)
        assert schema.profile(held.model_copy(update={"metadata": {"period_type": "period"}})) == (
            ("duration",),
        )
        assert schema.profile(Concept(id="x", label="during")) == ((),)
        # a hypothesis's value is still read by its words
        assert schema.hypothesis({"Temporal": "at the balance sheet date"}).categories == {
            "Temporal": ("instant",)
        }


class TestHalfOverlap:
    def test_half_of_the_content_tokens_is_enough(self):
        assert half_overlap("vested units", "units granted")
        assert half_overlap("weighted average vested units", "vested units")

    def test_less_than_half_is_not(self):
        assert not half_overlap("weighted average vested units", "units granted")

    def test_function_words_do_not_count_and_an_empty_value_matches_nothing(self):
        assert half_overlap("the balance of the", "balance")
        assert not half_overlap("of the", "of the")


class TestSymbolicCheck:
    """Each branch of the "program-driven score"."""

    def judge(self, schema, values, concept):
        return schema.judge(
            schema.hypothesis(values), [Features(schema.profile(concept), schema.text_tokens(concept))]
        )[0]

    def test_category_sets_that_meet_support(self, small):
        concept = Concept(id="c", label="tax plan")
        assert self.judge(small, {"Family": "plan or note payable"}, concept)["Family"] is Judgement.SUPPORT

    def test_disjoint_sets_do_not(self, small):
        concept = Concept(id="c", label="tax")
        assert self.judge(small, {"Family": "plan"}, concept)["Family"] is Judgement.NO_SUPPORT

    def test_sets_on_one_side_only_do_not(self, small):
        crypto = Concept(id="c", label="crypto")
        tax = Concept(id="c", label="tax")
        assert self.judge(small, {"Family": "plan"}, crypto)["Family"] is Judgement.NO_SUPPORT
        assert self.judge(small, {"Family": "crypto"}, tax)["Family"] is Judgement.NO_SUPPORT

    def test_with_none_on_either_side_half_of_the_tokens_decide(self, small):
        held = Concept(id="c", label="crypto", definition="held tokens")
        assert self.judge(small, {"Family": "crypto tokens"}, held)["Family"] is Judgement.SUPPORT
        assert self.judge(small, {"Family": "crypto coin wallet"}, held)["Family"] is Judgement.NO_SUPPORT

    def test_an_overlap_dimension_reads_label_and_definition_not_the_id(self, small):
        concept = Concept(id="Balance", label="x", definition="the ending amount")
        assert self.judge(small, {"Role": "amount"}, concept)["Role"] is Judgement.SUPPORT
        assert self.judge(small, {"Role": "balance"}, concept)["Role"] is Judgement.NO_SUPPORT

    def test_an_unresolved_dimension_abstains(self, small):
        assert set(self.judge(small, {}, Concept(id="c", label="tax")).values()) == {Judgement.ABSTAIN}

    @given(st.lists(st.sampled_from(["debt", "tax", "fair value", "crypto", "N/A", ""]), max_size=3))
    def test_a_dimension_abstains_exactly_where_it_is_unresolved(self, words):
        schema = DimensionSchema.from_toml(SMALL)
        hypothesis = schema.hypothesis({"Family": " ".join(words)})
        judged = self.judge(schema, {"Family": " ".join(words)}, Concept(id="c", label="tax"))
        assert (judged["Family"] is Judgement.ABSTAIN) == (not hypothesis.values)


class TestFinanceVocabularies:
    """The categories are the paper's."""

    CATEGORIES: ClassVar = {
        "Family": "cash debt equity revenue expense asset liability tax lease inventory receivable "
        "derivative insurance investment",
        "Qualifier": "gross net total component current noncurrent pretax aftertax weighted_average basic "
        "diluted fair_value carrying_amount accumulated accrued deferred allowance impairment",
        "Scope": "segment geography class plan subsidiary consolidated parent",
        "Temporal": "instant duration current noncurrent prior future year_1 year_2 year_3 year_4 year_5",
    }

    def test_dimensions_in_canonical_order(self, schema):
        assert schema.names == ("Family", "Role", "Event", "Qualifier", "Scope", "Temporal")

    def test_categories(self, schema):
        for name, words in self.CATEGORIES.items():
            assert list(schema[name].categories) == words.split()
            assert schema[name].match == "vocabulary"
        assert [schema[n].match for n in ("Role", "Event")] == ["overlap", "overlap"]

    def test_every_category_s_own_name_normalises_to_it(self, schema):
        for name in self.CATEGORIES:
            for category in schema[name].categories:
                assert category in schema[name].categories_in(category.replace("_", " "))

    def test_the_fingerprint_follows_the_content_also_of_a_changed_copy(self, schema):
        assert schema.fingerprint == load_schema("us-gaap").fingerprint
        assert schema.model_copy(update={"evidence": "other"}).fingerprint != schema.fingerprint


class TestLoading:
    def test_an_unknown_name_lists_the_known_ones(self):
        with pytest.raises(ValueError, match=r"no schema 'nope'; there are .*us-gaap"):
            load_schema("nope")

    def test_a_file_of_the_user_s_own(self, tmp_path):
        path = tmp_path / "mine.toml"
        path.write_text(SMALL)
        assert load_schema(str(path)).names == ("Family", "Role")

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("name = ", "not TOML"),
            ('name = "x"', "needs 'dimension'"),
            ("name = 'x'\n[[dimension]]\nname = 'A'\nmatch = 'guess'\ndescription = ''", "0.match"),
            (
                "name = 'x'\n[[dimension]]\nname = 'A'\nmatch = 'vocabulary'\ndescription = ''\n"
                "categories = { instant = ['as of'] }",
                "function words only",
            ),
            (
                "name = 'x'\ncolour = 1\n[[dimension]]\nname = 'A'\nmatch = 'overlap'\ndescription = ''",
                "colour",
            ),
        ],
    )
    def test_what_is_no_schema_is_refused_in_one_line(self, text, says):
        with pytest.raises(ValueError) as caught:
            DimensionSchema.from_toml(text)
        assert says in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(ValueError, match="no schema file"):
            load_schema(str(tmp_path / "none.toml"))
