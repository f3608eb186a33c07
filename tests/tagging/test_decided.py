"""What a person decided of some facts helps those alike."""

import json

import pytest
from abduce import Fact, InputError, Tagger
from abduce.retrievers.base import Ranking
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.types import Concept, SourceContext
from abduce.tagging.decided import with_decisions
from abduce.tagging.decisions import Decision
from abduce.tagging.tag import Tag

TAXONOMY = Taxonomy([Concept(id=i, label=i) for i in ("Cash", "Debt", "Sales")], "made")
ONE = SourceContext(context_id="one", text="<table></table>", modality="table")
TWO = SourceContext(context_id="two", text="<table><tr></tr></table>", modality="table")


def tag(id_, row, ids=("Cash", "Debt"), sure=0.4, context=ONE):
    fact = Fact(
        fact_id=id_, value="1", context=context, datatype="money", row_header=row, column_header="2024",
        company="A", filing_id="F",
    )  # fmt: skip
    return Tag(fact, Ranking.of(list(ids)), ids[0], "words", sure)


def decided(*tags, **said):
    return with_decisions(tags, {i: Decision(i, *s) for i, s in said.items()}, TAXONOMY)


def test_a_decided_fact_has_its_concept_and_is_sure():
    (one,) = decided(tag("a", "Loans"), a=("corrected", "Sales"))
    assert (one.concept, one.confidence, one.label) == ("Sales", 1.0, "Sales")
    assert one.evidence == "a person decided so"
    assert list(one.ranking.ids) == ["Sales", "Cash", "Debt"]
    (none,) = decided(tag("a", "Loans"), a=("rejected",))
    assert (none.concept, none.confidence) == ("", 1.0)


def test_a_correction_holds_for_the_same_line_where_the_program_erred_alike():
    _, other, far = decided(
        tag("a", "Loans"), tag("b", "Loans", context=TWO), tag("c", "Rent"), a=("corrected", "Debt")
    )
    assert other.concept == "Debt"
    assert other.confidence == 0.97
    assert "closely alike" in other.evidence
    assert far.concept == "Cash"
    assert far.confidence == 0.4


def test_the_program_stands_where_it_is_sure_of_something_else():
    _, other = decided(
        tag("a", "Loans"), tag("b", "Loans", ("Sales", "Cash"), 0.95, TWO), a=("corrected", "Debt")
    )
    assert other.concept == "Sales"
    assert other.confidence == 0.95


def test_a_row_alike_follows_where_the_decided_concept_is_among_its_candidates():
    _, other = decided(tag("a", "Long term | Loans"), tag("b", "Short term | Loans"), a=("corrected", "Debt"))
    assert other.concept == "Debt"
    assert other.confidence == 0.8
    assert list(other.ranking.scores) == sorted(other.ranking.scores, reverse=True)


def test_a_refused_concept_is_no_longer_first():
    _, other = decided(tag("a", "Loans"), tag("b", "Loans", sure=0.95, context=TWO), a=("rejected",))
    assert other.concept == "Debt"
    assert other.confidence == pytest.approx(0.475)


@pytest.fixture
def sheet(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(",2024,2023\nBorrowings,70,66\nTurnover,510,400\n")
    lines = [json.dumps({"id": i, "label": i}) for i in ("Debt", "Cash", "Revenues")]
    (tmp_path / "concepts.jsonl").write_text("\n".join(lines))
    return path


def test_a_tagger_takes_concepts_or_a_file(sheet, tmp_path):
    tagger = Tagger(tmp_path / "concepts.jsonl", program="locus")
    first = tagger.tag(sheet)[0].fact
    tags = tagger.tag(sheet, decided={first.fact_id: "us-gaap:Debt"})
    assert [t.concept for t in tags if t.fact.row_header == "Borrowings"] == ["Debt", "Debt"]
    journal = tmp_path / "j.jsonl"
    line = json.dumps({"fact_id": first.fact_id, "state": "corrected", "concept": "Debt"})
    journal.write_text(line + "\n")
    again = tagger.tag(sheet, decided=journal)
    assert [t.concept for t in again] == [t.concept for t in tags]


def test_bad_decisions_are_refused(sheet, tmp_path):
    tagger = Tagger(tmp_path / "concepts.jsonl", program="locus")
    first = tagger.tag(sheet)[0].fact
    with pytest.raises(InputError, match="no fact 'nobody'"):
        tagger.tag(sheet, decided={"nobody": "Debt"})
    with pytest.raises(InputError, match="lacks 'Nothing'"):
        tagger.tag(sheet, decided={first.fact_id: "Nothing"})
    with pytest.raises(InputError, match=r"j\.txt"):
        tagger.tag(sheet, decided=tmp_path / "j.txt")


def test_a_table_that_decides_nothing_is_told(sheet, tmp_path):
    tagger = Tagger(tmp_path / "concepts.jsonl", program="locus")
    first = tagger.tag(sheet)
    id_ = first[0].fact.fact_id
    for state, told in (("", True), ("accepted", False), ("rejected", False)):
        table = tmp_path / "tags.csv"
        table.write_text(f"fact_id,concept,state\n{id_},Debt,{state}\n")
        notes = tagger.tag(sheet, decided=table).notes
        assert any(n.startswith("nothing is decided") for n in notes) is told
