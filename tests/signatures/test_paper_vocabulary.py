"""The finance vocabularies of the authors' release: its phrases and its matching rule, by hand."""

from __future__ import annotations

import pytest
from abduce.signatures.dimensions import Dimension, load_schema
from abduce.signatures.types import Concept

PAPER = load_schema("us-gaap-paper")
MODEL_FREE = ("finance-no-model", "finance-precedents", "finance-trained")
"""Experiments of abduce's own, which reproduce no table."""


def test_the_categories_are_those_of_abduces_own_vocabulary(schema):
    assert PAPER.names == schema.names
    for name in PAPER.names:
        assert list(PAPER[name].categories) == list(schema[name].categories)
    assert PAPER.fingerprint != schema.fingerprint


@pytest.mark.parametrize(
    ("dimension", "text", "found"),
    [
        ("Qualifier", "Sales by department", ("component",)),  # "part" inside a word
        ("Qualifier", "line of an item", ("component",)),  # all tokens of "line item"
        ("Qualifier", "Debt, net of tax", ("net", "aftertax")),
        ("Qualifier", "noncurrent", ("current", "noncurrent")),  # "current" inside a word
        ("Family", "Notes payable", ("debt", "liability")),  # tokens of "note payable"; "payable"
        ("Family", "Securities", ("investment",)),  # the tokens' plural rule: "security"
        ("Family", "Accounts receivable", ("receivable",)),
        ("Temporal", "As of the closing", ("instant",)),  # function words count as text
        ("Temporal", "Year 1", ()),  # listed are "year one", "first year", ...
        ("Temporal", "In year one", ("year_1",)),
        ("Temporal", "year ended", ("duration",)),
        ("Scope", "a planet", ("plan",)),
        ("Scope", "the reportable segments", ("segment",)),
    ],
)
def test_by_hand(dimension, text, found):
    assert PAPER[dimension].categories_in(text) == found


def test_a_candidates_text_is_id_label_documentation_and_datatype():
    concept = Concept(
        id="DebtCurrent",
        label="Owed",
        definition="Items of a line, of the parent.",
        datatype="sharesItemType",
    )
    # Family: "debt" in the id, "share" in the datatype; Qualifier: the tokens of "line item"
    # in the definition; Temporal: "current"; Scope: "parent".
    assert PAPER.profile(concept) == (
        ("debt", "equity"),
        ("component", "current"),
        ("parent",),
        ("current",),
    )
    assert {"debt", "owed", "line", "sharesitemtype"} <= PAPER.text_tokens(concept)


def test_tokens_alone_do_not_say_what_stands_inside_a_word():
    with pytest.raises(TypeError, match="inside a longer word"):
        PAPER["Family"].categories_in(frozenset({"debt"}))


def test_a_blank_phrase_is_refused():
    with pytest.raises(ValueError, match="function words only"):
        Dimension(name="A", match="substring", description="", categories={"a": (" ",)})


def test_a_row_with_the_papers_vocabulary_uses_it_throughout(tiny, tiny_index, schema):
    from abduce.programs.methods import Parts, build_program
    from abduce.programs.presets import PRESETS

    parts = Parts(lambda _: tiny_index, tiny, schema)
    spec = PRESETS["FHS"].changed({"vocabulary": "paper", "verifier": "symbolic"})
    one, other = build_program(spec, parts), build_program(spec, parts)
    for schema_ in (one.schema, one.generator.schema, one.verifier.schema, one.profiles.schema):
        assert schema_.fingerprint == PAPER.fingerprint
    assert one.profiles is other.profiles
    assert build_program(PRESETS["FHS"], parts).schema is schema
    with pytest.raises(ValueError, match="no schema 'us-gaap-odd'"):
        build_program(PRESETS["FHS"].changed({"vocabulary": "odd"}), parts)


def test_every_experiment_that_reproduces_the_finance_tables_uses_it():
    from abduce.eval.experiments.files import bundled_experiments, load_experiment

    for name in bundled_experiments():
        if name.startswith("finance") and name not in MODEL_FREE:
            rows = load_experiment(name).rows
            own = [r.name for r in rows if r.spec.vocabulary != "paper"]
            assert own in ([], ["FHS, abduce's vocabulary"])
            assert all(r.spec.prompts == "paper" for r in rows)
