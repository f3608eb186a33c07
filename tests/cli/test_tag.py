"""abduce tag on a document: what is printed, written and refused."""

import csv

import made_filing
import pytest

ROWS = ["Turnover", "Borrowings"]


@pytest.fixture
def pages(tmp_path):
    made_filing.write_concepts(tmp_path, len(ROWS))
    (tmp_path / "new.htm").write_text(made_filing.page(2024, ROWS))
    (tmp_path / "old.htm").write_text(made_filing.page(2023, ROWS, first=5000))
    return tmp_path


def test_it_writes_the_tags_and_prints_score_and_notes(cli, pages):
    out = pages / "t.csv"
    ran = cli(
        *("tag", pages / "new.htm", "--taxonomy", pages / "concepts.jsonl", "--gold", "--out", out),
        *("--precedents", pages / "old.htm", "--precedents", pages / "new.htm"),
    )
    assert ran.code == 0
    with out.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [r["concept"] for r in rows] == ["T0", "T0", "T1", "T1"]
    assert f"4 facts tagged: {out}" in " ".join(ran.out.split())
    assert "new: 4 tagged facts of concepts" in ran.out
    assert "1.000" in ran.out
    assert "note: 4 precedents are of a filing that is tagged itself" in ran.err
    assert "note: tagged by 'precedents (own), decisions first'" in ran.err


def test_it_shows_the_tags_or_explains_one(cli, pages):
    given = (
        "tag",
        pages / "new.htm",
        "--taxonomy",
        pages / "concepts.jsonl",
        "--precedents",
        pages / "old.htm",
    )
    shown = cli(*given)
    assert "concepts: 4 facts" in shown.out
    assert "Turnover / 2024" in shown.out
    cli(*given, "--out", pages / "t.csv")
    with (pages / "t.csv").open(newline="") as stream:
        fact = next(csv.DictReader(stream))["fact_id"]
    said = " ".join(cli(*given, "--explain", fact, columns=120).out.split())
    assert "2 groups of equal precedents were allowed to vote" in said
    assert "2 of 2 concepts pass the datatype filter" in said
    assert "Evidence: precedent " in said
    assert "Gold (for comparison only; no method has seen it): T0, rank 1" in said


def test_a_number_without_a_datatype_is_told(cli, pages):
    (pages / "p.md").write_text("| | 2024 |\n|--|--|\n| Dogs | 5 |\n")
    ran = cli("tag", pages / "p.md", "--taxonomy", pages / "concepts.jsonl")
    assert "1 values have no datatype that could be told: everything was searched" in ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["p.md", "--gold"], "no tags to score"),
        (["new.htm", "--out", "nowhere/t.csv"], "no such folder"),
        (["new.htm", "--out", "o.xlsx"], "written as CSV"),
        (["new.htm", "--explain", "zzz"], "no fact 'zzz'"),
        (["new.htm", "--program", "FHS"], "language model"),
    ],
)
def test_bad_input_leaves_nothing_behind(cli, pages, monkeypatch, arguments, message):
    monkeypatch.chdir(pages)
    (pages / "p.md").write_text("| | 2024 |\n|--|--|\n| Cash | 5 |\n")
    before = sorted(p.name for p in pages.iterdir())
    ran = cli("tag", *arguments, "--taxonomy", "concepts.jsonl")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert message in ran.err
    assert sorted(p.name for p in pages.iterdir()) == before
