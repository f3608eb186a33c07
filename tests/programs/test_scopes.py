"""Whose already-tagged facts a row uses, and the same row with another scope."""

import pytest
from abduce.programs.methods import Parts, build_program
from abduce.programs.precedents import Demonstrations
from abduce.programs.presets import PRESETS, name_of, scoped, scopes, spec_named
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.precedents.index import Precedents, Tagged
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.dimensions import load_schema
from abduce.signatures.types import Concept
from made_facts import cell

TAXONOMY = Taxonomy(
    Concept(id=i, label=i, datatype="monetaryItemType") for i in ("Mine", "Theirs", "Goodwill")
)


def fact(id_, filing, company):
    return cell(id_, "Net sales", filing=filing, company=company)


@pytest.fixture(scope="module")
def parts():
    retriever = BM25Retriever(TAXONOMY)
    index = Precedents([Tagged(fact("m", "A", "ALPHA"), "Mine"), Tagged(fact("t", "B", "BETA"), "Theirs")])
    return Parts(lambda changes: retriever, TAXONOMY, load_schema("us-gaap"), precedents=lambda: index)


def near(program):
    """The precedents that a program rested on."""
    trace = program(fact=fact("q", "Q", "ALPHA")).trace
    return {n["fact_id"] for n in trace.notes["precedents"]}


def test_scopes_of_presets():
    assert scopes(spec_named("precedents (others), locus")) == {"others"}
    assert scopes(spec_named("precedents (own)")) == {"own"}
    assert scopes(spec_named("FHS-rules + precedents (others)")) == {"others"}
    assert scopes(spec_named("FHS-rules + precedents (own)")) == {"own"}
    assert scopes(spec_named("FHS, precedents shown")) == {"others"}
    assert scopes(spec_named("precedents")) == {"others"}
    assert scopes(spec_named("FHS-rules")) == frozenset()


@pytest.mark.parametrize("name", [n for n, s in PRESETS.items() if scopes(s)])
@pytest.mark.parametrize("scope", ["others", "own"])
def test_every_row_with_precedents_has_both_scopes(name, scope):
    changed = scoped(spec_named(name), scope)
    assert scopes(changed) == {scope}
    if scopes(spec_named(name)) == {scope}:
        assert changed == spec_named(name)
    else:
        assert changed.resolve() != spec_named(name).resolve() or changed.generator.endswith("-own")


def test_the_twins_by_name():
    assert name_of(scoped(spec_named("precedents (others)"), "own")) == "precedents (own)"
    fused = scoped(spec_named("FHS-rules + precedents (others)"), "own")
    assert name_of(fused) == "FHS-rules + precedents (own)"
    assert name_of(scoped(fused, "others")) == "FHS-rules + precedents (others)"


def test_a_row_without_precedents_has_no_scope():
    with pytest.raises(ValueError, match="uses no already-tagged facts"):
        scoped(spec_named("locus"), "own")


def test_a_companion_without_a_twin_is_said():
    spec = spec_named("FHS-rules").changed({"companions": {"precedents (others), locus": 1.0}})
    with pytest.raises(ValueError, match="no twin"):
        scoped(spec, "own")


@pytest.mark.parametrize("name", ["precedents (others)", "precedents (others), locus"])
def test_the_vote_of_each_scope(parts, name):
    assert near(build_program(scoped(spec_named(name), "others"), parts)) == {"t"}
    assert near(build_program(scoped(spec_named(name), "own"), parts)) == {"m", "t"}


def test_the_companion_of_each_scope(parts):
    spec = spec_named("FHS-rules + precedents (others)")
    query = fact("q", "Q", "ALPHA")
    others = build_program(scoped(spec, "others"), parts)(fact=query).trace
    own = build_program(scoped(spec, "own"), parts)(fact=query).trace
    found = {q.form: r.ids for q, r in zip(others.queries, others.rankings, strict=True)}
    assert found["precedents (others)"][0] == "Theirs"
    found = {q.form: r.ids for q, r in zip(own.queries, own.rankings, strict=True)}
    assert set(found["precedents (own)"][:2]) == {"Mine", "Theirs"}


def test_demonstrations_of_each_scope(parts):
    query = fact("q", "Q", "ALPHA")
    spec = spec_named("FHS, precedents shown")
    for scope, shown in (("others", {"Theirs"}), ("own", {"Mine", "Theirs"})):
        program = build_program(scoped(spec, scope), parts)
        (demonstrations,) = [m for m in vars(program.generator).values() if isinstance(m, Demonstrations)]
        assert {line.split("-> ")[1].split(":")[0] for line in demonstrations(query).splitlines()} == shown
