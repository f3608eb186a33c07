"""Precedents vote by likeness; what may not vote does not."""

import numpy as np
import pytest
from abduce.retrievers.errors import InputError
from abduce.retrievers.precedents.index import Precedents, Tagged, Weights
from hypothesis import given, settings
from hypothesis import strategies as st
from made_facts import cell, mention


def fact(
    id_, row, column="2024", filing="F1", company="ACME", value="10", datatype="money", table="t", year="2023"
):
    text = f"<table><tr><td>{row}</td></tr></table>"
    whose = {"filing": filing, "company": company, "taxonomy_year": year}
    place = {"context_id": f"{filing}-{table}", "text": text}
    return cell(id_, row, column, value=value, datatype=datatype, **place, **whose)


PRIOR = [
    Tagged(fact("p1", "Cash and cash equivalents", filing="F1", company="ACME INC"), "Cash"),
    Tagged(fact("p2", "Total cash", filing="F2", company="BETA CORP"), "CashTotal"),
    Tagged(fact("p3", "Total revenue", filing="F2", company="BETA CORP", value="77"), "Revenues"),
    Tagged(fact("p4", "Revenue", filing="F3", company="GAMMA LLC", value="78"), "SalesRevenue"),
    Tagged(fact("p5", "Shares issued", filing="F3", company="GAMMA LLC", datatype="shares"), "SharesIssued"),
]


@pytest.fixture(scope="module")
def index():
    return Precedents(PRIOR)


def test_the_most_alike_locus_wins_and_shares_sum_to_one(index):
    ranking = index.rank(fact("q", "Cash and cash equivalents", filing="Q", company="NEW"))
    assert ranking.ids[0] == "Cash"
    assert ranking.scores.sum() == pytest.approx(1.0)
    assert list(ranking.scores) == sorted(ranking.scores, reverse=True)
    assert ranking.components["companies"].tolist() == [1.0] * len(ranking)


def test_the_datatype_filters_and_an_unknown_one_falls_back(index):
    query = fact("q", "Shares issued", filing="Q", company="NEW", datatype="shares")
    assert index.rank(query).ids == ["SharesIssued"]
    unknown = index.rank(query.model_copy(update={"datatype": "odd"}))
    assert unknown.fell_back
    assert len(unknown) == 5
    assert index.rank(query.model_copy(update={"datatype": None})).fell_back


def test_never_the_same_filing(index):
    query = fact("q", "Total revenue", filing="F2", company="BETA CORP", value="77")
    for scope in ("others", "own"):
        assert "Revenues" not in index.rank(query, scope=scope).ids
        assert all(n.filing_id != "F2" for n in index.vote(query, scope).nearest(9, distinct=False))


def test_never_the_same_source_context_even_without_a_filing(index):
    query = PRIOR[2].fact.model_copy(update={"filing_id": None, "company": None})
    assert "Revenues" not in index.rank(query, scope="own").ids


def test_scope_others_leaves_out_the_company_however_it_is_spelled(index):
    query = fact("q", "Cash and cash equivalents", filing="Q", company="Acme, Inc.")
    assert "Cash" not in index.rank(query, scope="others").ids
    assert index.rank(query, scope="own").ids[0] == "Cash"
    the = Precedents([Tagged(fact("b", "Cash", company="The Boeing Company"), "Cash"), *PRIOR])
    boeing = fact("q", "Cash", filing="Q", company="BOEINGCO")
    assert all("Boeing" not in n.company for n in the.vote(boeing, "others").nearest(9, distinct=False))
    assert any("Boeing" in n.company for n in the.vote(boeing, "own").nearest(9, distinct=False))


def test_the_companys_own_earlier_value_decides():
    prior = [
        Tagged(fact("a", "Other", filing="A", company="ACME", value="1,234", table="x"), "Right"),
        Tagged(fact("b", "Other", filing="A", company="ACME", value="9", table="x"), "Wrong"),
    ]
    query = fact("q", "Other", filing="Q", company="ACME", value="1,234", table="x")
    vote = Precedents(prior).vote(query, "own")
    assert vote.ranking().ids[0] == "Right"
    assert vote.nearest(1)[0].same_value


def test_equal_precedents_of_one_table_count_once():
    rows = [
        Tagged(fact(f"r{y}", "Revenue", column=f"{y}", filing="A", company="A"), "Revenues")
        for y in range(2010, 2020)
    ]
    other = Tagged(fact("o", "Revenue", filing="B", company="B"), "Sales")
    ranking = Precedents([*rows, other]).rank(fact("q", "Revenue", filing="Q", company="Q"))
    assert ranking.components["precedents"].tolist() == [1.0, 1.0]


def test_worded_mentions_are_compared_by_their_own_words():
    def worded(id_, words, case):
        return mention(id_, f"The patient had {words} for years.", words, context_id=case, filing=case)

    index = Precedents(
        [
            Tagged(worded("1", "septic shock", "c1"), "R65.21"),
            Tagged(worded("2", "arterial hypertension", "c2"), "I10"),
        ]
    )
    assert index.rank(worded("q", "hypertension", "c9")).ids[0] == "I10"
    assert index.rank(worded("q", "hypertensive", "c9")).ids[0] == "I10"


def test_bad_arguments(index):
    with pytest.raises(InputError, match="no precedents"):
        Precedents([])
    with pytest.raises(ValueError, match="scope"):
        index.rank(PRIOR[0].fact, scope="all")
    with pytest.raises(ValueError, match="k must"):
        index.rank(PRIOR[0].fact, k=0)
    with pytest.raises(ValueError, match="neighbours"):
        Precedents(PRIOR, neighbours=0)


def test_nothing_allowed_is_an_empty_ranking(index):
    only = Precedents(PRIOR[:1])
    assert len(only.rank(PRIOR[0].fact)) == 0
    text = PRIOR[0].fact.model_copy(update={"modality": "text"})
    assert len(index.rank(text)) == 0


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Cash", "Revenue net", "Other"]), st.sampled_from("ABC"), st.sampled_from("XYZ")
        ),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from(["others", "own"]),
)
def test_guards_hold_for_any_set(rows, scope):
    tagged = [
        Tagged(
            fact(f"p{i}", row, filing=f"{company}{i % 2}", company=f"{company}COMPANY", table=str(i)), concept
        )
        for i, (row, company, concept) in enumerate(rows)
    ]
    query = fact("q", "Cash", filing="A0", company="ACOMPANY", table="q")
    vote = Precedents(tagged, neighbours=4).vote(query, scope)
    near = vote.nearest(99, distinct=False)
    assert len(near) <= 4
    assert all(n.filing_id != "A0" for n in near)
    if scope == "others":
        assert all(n.company != "ACOMPANY" for n in near)
    ranking = vote.ranking()
    assert len(set(ranking.ids)) == len(ranking.ids)
    assert not len(ranking) or np.isclose(ranking.scores.sum(), 1.0)


def test_weights_of_ones_own():
    header_only = {"table": Weights(header=1.0)}
    ranking = Precedents(PRIOR, weights=header_only).rank(fact("q", "Total cash", filing="Q", company="NEW"))
    assert ranking.ids[0] == "CashTotal"
