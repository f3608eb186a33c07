"""Stored precedents vote as the index that they were made from; indexes vote together; filings stay out."""

import made_facts
import numpy as np
import pytest
from abduce.retrievers.errors import InputError
from abduce.retrievers.precedents.index import Precedents, Tagged
from abduce.retrievers.precedents.stored import Filing, open_precedents, write_precedents

ROWS = ("Net sales", "Cost of sales", "Gross margin", "Cash and cash equivalents", "Total assets")


TEXT = "<table>{} Net sales Cost</table>"


def cell(id_, row, filing, company, value="100", column="Year ended 2024"):
    given = {"filing": filing, "company": company, "taxonomy_year": "2024", "text": TEXT.format(filing)}
    return made_facts.cell(id_, row, column, value=value, above="In millions", datatype="money", **given)


def mention(id_, words, filing, company):
    text = f"We paid {words} of $5 million in cash."
    return made_facts.mention(id_, text, "5", filing=filing, company=company)


TAGGED = [
    Tagged(cell(f"{filing}{i}", row, filing, company, value=str(100 + i)), f"C{i}")
    for filing, company in (("A", "Acme Inc."), ("B", "Beta Corp"), ("C", "Gamma"))
    for i, row in enumerate(ROWS)
] + [
    Tagged(mention("1", "interest", "A", "Acme Inc."), "Interest"),
    Tagged(mention("2", "dividends", "B", "Beta Corp"), "Dividends"),
]
QUERIES = [
    cell("q1", "Total net sales", "Q", "New Co"),
    cell("q2", "Cash", "Q", "ACME", value="103"),
    cell("q3", "Gross margin", "B", "Beta Corp"),
    mention("q4", "dividends and interest", "Q", None),
]


def write(folder, index, filings=()):
    write_precedents(index, filings, folder, ("money", "0"), "some facts", "print")
    return folder


@pytest.fixture
def folder(tmp_path):
    keys = np.array([3, 7], dtype=np.uint32)
    return write(tmp_path / "stored", Precedents(TAGGED), [Filing("A", "Acme Inc.", keys)])


@pytest.mark.parametrize("scope", ["others", "own"])
def test_a_stored_index_votes_as_the_one_that_it_was_made_from(folder, scope):
    built, stored = Precedents(TAGGED), open_precedents(folder)
    assert (stored.about, stored.source, len(stored.index)) == ("some facts", "print", len(TAGGED))
    for fact in QUERIES:
        one, other = built.rank(fact, scope=scope), stored.index.rank(fact, scope=scope)
        assert one.ids == other.ids
        assert np.allclose(one.scores, other.scores, rtol=1e-5)
        names = ("share", "companies", "precedents", "alike")
        for name in names:
            assert np.allclose(one.components[name], other.components[name], rtol=1e-5)
        near = zip(built.vote(fact, scope).nearest(9), stored.index.vote(fact, scope).nearest(9), strict=True)
        for a, b in near:
            assert (a.fact_id, a.filing_id, a.company, a.locus) == (
                b.fact_id,
                b.filing_id,
                b.company,
                b.locus,
            )
            assert (a.same_company, a.same_value) == (b.same_company, b.same_value)


def test_its_filings_are_kept(folder):
    (filing,) = open_precedents(folder).filings
    assert (filing.name, filing.company, filing.keys.tolist()) == ("A", "Acme Inc.", [3, 7])


def test_strangers_decide_nothing_the_companys_own_do(folder):
    """What is stored is a collection; what a user gives is a decision."""
    fact = cell("q", "Net sales", "Q", "Acme Inc.")
    for index, decided in ((Precedents(TAGGED), True), (open_precedents(folder).index, False)):
        ranking = index.rank(fact, scope="own")
        assert ranking.components["decided"].any() == decided
    ranking = Precedents(TAGGED).rank(fact, scope="own")
    assert [i for i, d in zip(ranking.ids, ranking.components["decided"], strict=True) if d] == ["C0"]
    later = cell("q", "Net sales", "Q", "Acme Inc.", column="As of December 31")  # another kind of time
    assert not Precedents(TAGGED).rank(later, scope="own").components["decided"].any()


def test_two_indexes_vote_together_and_filings_stay_out(folder, tmp_path):
    both = Precedents(TAGGED[:5]).beside(open_precedents(folder).index)
    assert len(both) == 5 + len(TAGGED)
    fact = cell("q", "Net sales", "Q", "New Co")
    assert both.vote(fact).allowed == 5 + 15
    left = both.without(["A", "C"])
    assert left.vote(fact).allowed == 5
    assert {n.filing_id for n in left.vote(fact).nearest(9)} == {"B"}
    assert both.knows("BETA")
    assert not both.knows("Delta")


def test_seen_elsewhere_is_seen_at_other_companies(folder):
    index = open_precedents(folder).index
    assert index.seen(cell("q", "Net sales", "Q", "New Co"), "C0") == {"header": True, "concept": True}
    assert index.seen(cell("q", "Sales", "Q", "New Co"), "X") == {"header": False, "concept": False}
    alone = index.without(["B", "C"])
    assert alone.seen(cell("q", "Net sales", "Q", "Acme"), "C0") == {"header": False, "concept": False}
    assert index.seen(mention("q", "interest", "Q", "New Co"), "Interest") == {"concept": True}


def test_a_changed_folder_is_refused(folder):
    (folder / "table.concept.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(InputError, match="build the index again"):
        open_precedents(folder)
    with pytest.raises(InputError, match="is not an index folder"):
        open_precedents(folder / "nowhere")
