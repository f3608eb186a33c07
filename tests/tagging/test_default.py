"""What tags where nothing is named: the best row that the input allows, with what comes with abduce."""

import csv
import io

import made_filing
import pytest
from abduce import InputError, Tagger, read_document
from abduce.retrievers.precedents.index import Precedents
from abduce.retrievers.precedents.stored import open_precedents, write_precedents
from abduce.tagging.models import bundled_model
from abduce.tagging.precedents import PrecedentSource, bundled_precedents, read_precedents
from abduce.tagging.row import BEST_TRAINED, BEST_VOTE
from abduce.tagging.same_filing import filings_of
from abduce.tagging.tags_file import COLUMNS

ROWS = [
    f"{word} total" for word in "amber birch cedar delta ember frost grove heath inlet jetty knoll".split()
]

SHEET = """| | December 31, 2024 | December 31, 2023 |
|--|--|--|
| Cash and cash equivalents | $ 512 | $ 400 |
| Accounts receivable, net | 310 | 290 |
| Goodwill | 77 | 77 |
| Total assets | $ 1,899 | $ 1,767 |
"""


OTHERS = BEST_TRAINED if bundled_model("finance") is not None else BEST_VOTE["others"]
"""The row of scope ``others``: that of a trained model where one comes with abduce."""


@pytest.fixture
def sheet(tmp_path):
    path = tmp_path / "sheet.md"
    path.write_text(SHEET)
    return path


def test_a_sheet_of_nobody_is_tagged_by_what_others_filed(sheet):
    tags = Tagger().tag(sheet)
    assert tags.program == OTHERS
    found = {t.fact.row_header: t.concept for t in tags}
    assert found == {
        "Cash and cash equivalents": "CashAndCashEquivalentsAtCarryingValue",
        "Accounts receivable, net": "AccountsReceivableNetCurrent",
        "Goodwill": "Goodwill",
        "Total assets": "Assets",
    }
    assert all(t.confidence is not None for t in tags)
    assert all("of the votes" in t.evidence for t in tags)
    assert any(note.startswith(f"tagged by {OTHERS!r}: 113,760 facts") for note in tags.notes)
    assert any("whose facts these are is not known" in note for note in tags.notes)


def test_the_companys_own_filings_vote_where_there_are_any(sheet):
    known = bundled_precedents("finance").filings[0].company
    tags = Tagger(company=known).tag(sheet)
    assert tags.program == "precedents (own), decisions first"
    assert not any("is not known" in note for note in tags.notes)
    tags = Tagger(company=known, scope="others").tag(sheet)
    assert tags.program == OTHERS


def test_a_decision_for_the_same_line_stands_before_every_vote(sheet, tmp_path):
    earlier = tmp_path / "earlier.md"
    earlier.write_text(SHEET.replace("2024", "2022").replace("2023", "2021").replace("512", "9"))
    out = tmp_path / "reviewed.csv"
    Tagger(company="Acme").tag(earlier).to_csv(out)
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    for row in rows:
        if row["concept"] == "Goodwill":
            row["concept"] = "GoodwillGross"
    with out.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    tags = Tagger(company="Acme", precedents=out).tag(sheet)
    found = {t.fact.row_header: t for t in tags}
    assert found["Goodwill"].concept == "GoodwillGross"
    assert "decided so before for the same line of the company" in found["Goodwill"].evidence
    assert found["Total assets"].concept == "Assets"


def test_a_taxonomy_that_they_do_not_fit_is_searched(sheet, tmp_path):
    mine = tmp_path / "mine.csv"
    mine.write_text("id,label\nA,Total assets\nB,Goodwill\n")
    tags = Tagger(mine).tag(sheet)
    assert tags.program == "locus"
    assert {t.concept for t in tags if t.fact.row_header == "Total assets"} == {"A"}
    assert "tagged by 'locus': already-tagged facts (--precedents) would be better" in tags.notes
    with pytest.raises(InputError, match="no already-tagged facts fit mine"):
        Tagger(mine, scope="own")


@pytest.mark.parametrize("tagged", [True, False])
def test_a_filing_that_is_among_them_never_votes_for_itself(tmp_path, tagged):
    for name, first, company in (("a.htm", 100, "Acme Inc."), ("b.htm", 5000, "Beta Corp")):
        (tmp_path / name).write_text(made_filing.page(2024, ROWS, first, company))
    files = [list(read_precedents(tmp_path / name)) for name in ("a.htm", "b.htm")]
    every = [one for tagged_facts in files for one in tagged_facts]
    stored = tmp_path / "stored"
    write_precedents(Precedents(every), filings_of(every), stored, ("made", "0"), "made facts", "")
    (tmp_path / "copy.htm").write_text(made_filing.page(2024, ROWS, tagged=tagged))
    facts = read_document(tmp_path / "copy.htm", "Acme Inc.").facts
    notes = []
    source = PrecedentSource([], stored=open_precedents(stored))
    index = source.for_facts(facts, "Acme Inc.", notes.append)()
    for fact in facts:
        assert {n.company for n in index.vote(fact, "own").nearest(9, distinct=False)} == {"Beta Corp"}
    assert notes == ["ACMEINC 10-K 2024-12-31 of the bundled filings is tagged itself: left out"]
