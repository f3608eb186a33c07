"""The precedent vote as a program, as a companion of FHS, and rows that are grounded once."""

from functools import partial

import numpy as np
import pytest
from abduce.programs.config import PrecedentsConfig
from abduce.programs.methods import Parts, build_program
from abduce.programs.precedents import PrecedentVote, completed
from abduce.programs.presets import scopes, spec_named
from abduce.programs.shared_rows import shared_evidence
from abduce.retrievers.base import Ranking
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.precedents.index import Precedents, Tagged
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.dimensions import load_schema
from abduce.signatures.types import Concept, Fact, SourceContext
from made_facts import cell

fact = partial(cell, filing="F", company="OTHER", value="5", row_index=1)


LABELS = {"Cash": "Cash", "Assets": "Assets", "Goodwill": "Goodwill", "Revenues": "Revenues"}
TAXONOMY = Taxonomy(Concept(id=i, label=label, datatype="monetaryItemType") for i, label in LABELS.items())
TAGGED = [
    Tagged(fact("a", "Net sales", filing="A", company="ALPHA"), "Revenues"),
    Tagged(fact("b", "Net turnover", filing="B", company="BETA"), "NotInTheTaxonomy"),
]


@pytest.fixture(scope="module")
def parts():
    retriever = BM25Retriever(TAXONOMY)
    index = Precedents(TAGGED)
    return Parts(lambda changes: retriever, TAXONOMY, load_schema("us-gaap"), precedents=lambda: index)


def test_votes_first_then_the_locus_query(parts):
    program = build_program(spec_named("precedents (others)"), parts)
    prediction = program(fact=fact("q", "Net sales goodwill", filing="Q", company="NEW"))
    ranking = prediction.ranking
    assert ranking.ids[:2] == ["Revenues", "Goodwill"]
    assert sorted(ranking.ids) == sorted(LABELS)
    assert ranking.scores[0] > 0 > ranking.scores[1] > ranking.scores[-1]
    trace = prediction.trace
    assert [q.form for q in trace.queries] == ["precedents", "locus"]
    assert trace.counters["retrievals"] == 2
    assert trace.notes["precedents"][0]["fact_id"] == "a"


def test_without_filling_only_what_was_voted_for_and_is_in_the_taxonomy():
    program = PrecedentVote(BM25Retriever(TAXONOMY), Precedents(TAGGED), config=PrecedentsConfig(fill=False))
    assert program(fact=fact("q", "Net sales", filing="Q")).ranking.ids == ["Revenues"]


def test_scopes(parts):
    alpha = fact("q", "Net sales", filing="Q", company="Alpha")
    others = build_program(spec_named("precedents (others)"), parts)(fact=alpha).ranking
    own = build_program(spec_named("precedents (own)"), parts)(fact=alpha).ranking
    assert len(others) == 0
    assert own.ids[0] == "Revenues"


def test_no_precedents_is_said():
    bare = Parts(lambda changes: BM25Retriever(TAXONOMY), TAXONOMY, load_schema("us-gaap"))
    with pytest.raises(ValueError, match="no precedents"):
        build_program(spec_named("precedents (own)"), bare)


def test_specs_know_what_they_use():
    assert scopes(spec_named("FHS-rules + precedents (others)"))
    assert scopes(spec_named("precedents (own)"))
    assert not scopes(spec_named("FHS-rules"))
    assert not spec_named("precedents (own)").needs_model
    assert not spec_named("FHS-rules + precedents (others)").needs_model


def test_fused_into_fhs(parts):
    program = build_program(spec_named("FHS-rules + precedents (others)"), parts)
    prediction = program(fact=fact("q", "Net sales", filing="Q", company="NEW"))
    assert prediction.ranking.ids[0] == "Revenues"
    assert "precedents (others)" in [q.form for q in prediction.trace.queries]


def test_completed_keeps_order_and_components():
    first = Ranking(["a", "b"], np.array([0.7, 0.3]), {"share": np.array([0.7, 0.3])})
    rest = Ranking.of(["b", "c", "d"])
    whole = completed(first, rest, 4)
    assert whole.ids == ["a", "b", "c", "d"]
    assert whole.scores.tolist() == [0.7, 0.3, -0.5, -1.0]
    assert whole.components["share"].tolist() == [0.7, 0.3, 0.0, 0.0]
    assert completed(first, rest, 3).ids == ["a", "b", "c"]
    assert completed(first, rest, 1).ids == ["a"]


def test_a_blend_adds_the_locus_querys_reciprocal_rank(parts):
    program = build_program(spec_named("precedents (others), locus"), parts)
    ranking = program(fact=fact("q", "Net sales goodwill", filing="Q", company="NEW")).ranking
    revenues, goodwill = ranking.rank_of("Revenues") - 1, ranking.rank_of("Goodwill") - 1
    assert revenues == 0
    shares, locus = ranking.components["share"], ranking.components["locus"]
    assert shares[goodwill] == 0.0
    assert locus[goodwill] == 1.0
    assert ranking.components["companies"][revenues] == 1.0
    assert ranking.scores[goodwill] == pytest.approx(0.05)
    assert ranking.scores[revenues] == pytest.approx(shares[revenues] + 0.05 * locus[revenues])


def test_the_generator_is_shown_the_nearest_precedents(parts):
    import dspy

    seen = []

    class Recorder(dspy.LM):
        def forward(self, prompt=None, messages=None, **kwargs):
            seen.append(str(messages))
            raise RuntimeError("no model")

    program = build_program(spec_named("FHS, precedents shown"), parts)
    query = fact("q", "Net sales", filing="Q", company="NEW")
    shown = program.generator.demonstrations(query)
    assert shown == "Net sales / 2024 -> Revenues"
    shares = fact("q", "sales", datatype="sharesItemType", filing="Q")
    assert program.generator.demonstrations(shares) != "none"
    assert program.generator.demonstrations(fact("q", "x", filing="Q")) == "none"
    with dspy.context(lm=Recorder("none/none", cache=False)), pytest.raises(RuntimeError, match="no model"):
        program(fact=query)
    assert "Net sales / 2024 -&gt; Revenues" in seen[0] or "Net sales / 2024 -> Revenues" in seen[0]
    bare = Parts(parts.retriever, TAXONOMY, parts.schema)
    with pytest.raises(ValueError, match="no precedents"):
        build_program(spec_named("FHS, precedents shown"), bare)
    assert scopes(spec_named("FHS, precedents shown"))


def test_cells_of_a_row_that_differ_in_dates_only_are_grounded_once():
    facts = [
        fact("1", "Cash", "2024"),
        fact("2", "Cash", "2023"),
        fact("3", "Cash", "2024 | Gross"),
        fact("4", "Debt", "2024", row_index=2),
        fact("5", "Cash", "2024", row_index=7),
        fact("6", "Cash", "2024", datatype="sharesItemType"),
    ]
    assert shared_evidence(facts) == [[0, 1], [2], [3], [4], [5]]


def test_mentions_are_never_grouped():
    context = SourceContext(context_id="c", text="5 and 5")
    facts = [
        Fact(fact_id=i, value="5", context=context, modality="text", mention_start=s, mention_end=s + 1)
        for i, s in (("a", 0), ("b", 6))
    ]
    assert shared_evidence(facts) == [[0], [1]]
