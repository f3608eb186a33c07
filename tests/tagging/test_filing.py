"""abduce tag DOCUMENT, end to end: tags, confidence, evidence, scores, precedents, and bad input."""

import csv
import json

import pytest
from abduce.cli.main import app
from abduce.retrievers.errors import InputError
from abduce.retrievers.taxonomy import Taxonomy
from abduce.tagging.calibration import Calibration
from abduce.tagging.filing import COLUMNS, is_document
from abduce.tagging.precedents import read_precedents
from typer.testing import CliRunner

LABELS = {"Assets": "Assets", "Cash": "Cash", "Revenues": "Revenues", "Debt": "Long term debt"}


def filing(name, year, values, company="Acme Widgets Inc.", extra=""):
    rows = "".join(
        f'<tr><td>{label}</td><td>$</td><td><ix:nonFraction name="{tag}" contextRef="c" unitRef="usd">{value}'
        f'</ix:nonFraction></td><td>$</td><td><ix:nonFraction name="{tag}" contextRef="p" unitRef="usd">'
        f"{before}</ix:nonFraction></td></tr>"
        for label, tag, value, before in values
    )
    return f"""<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"
 xmlns:us-gaap="http://fasb.org/us-gaap/{year}"><body><div style="display:none"><ix:header><ix:hidden>
<ix:nonNumeric name="dei:EntityRegistrantName" contextRef="c">{company}</ix:nonNumeric></ix:hidden>
</ix:header></div>
<p>Statement {name} (in millions)</p>
<table><tr><td></td><td colspan="2">{year}</td><td colspan="2">{int(year) - 1}</td></tr>{rows}</table>{extra}
</body></html>"""


NEW = [("Turnover", "us-gaap:Revenues", "510", "400"), ("Borrowings", "us-gaap:Debt", "70", "66")]
OLD = [("Turnover", "us-gaap:Revenues", "400", "390"), ("Borrowings", "us-gaap:Debt", "66", "61")]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "new.htm").write_text(filing("b", "2024", [*NEW, ("Widgets", "acme:Widgets", "3", "2")]))
    (tmp_path / "old.htm").write_text(filing("a", "2023", OLD))
    lines = [
        json.dumps({"id": i, "label": label, "datatype": "monetaryItemType"}) for i, label in LABELS.items()
    ]
    (tmp_path / "concepts.jsonl").write_text("\n".join(lines))
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["tag", *map(str, arguments)])


def read(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_filing_with_the_companys_earlier_one_as_precedent(folder):
    out = folder / "tags.csv"
    done = run(
        folder / "new.htm", "--taxonomy", folder / "concepts.jsonl", "--precedents", folder / "old.htm",
        "--gold", "--out", out,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = read(out)
    assert tuple(found[0]) == COLUMNS
    by = {r["value"]: r for r in found}
    assert len(found) == 6
    assert by["510"]["concept"] == by["400"]["concept"] == "Revenues"
    assert by["70"]["concept"] == "Debt"
    assert by["510"]["locus"] == "Turnover / 2024"
    assert by["510"]["source_of_evidence"].startswith("precedent ")
    assert by["510"]["source_of_evidence"].endswith("(Acme Widgets Inc.): Turnover / 2023")
    assert by["510"]["confidence"] == ""  # no calibration was fitted on these concepts
    assert float(by["510"]["margin"]) > 0
    assert "Debt" in by["510"]["runner_up_concepts"]
    assert "1.000" in done.output
    assert "2 values with tags of the company's own" in " ".join(done.output.split())


def test_scope_others_uses_nothing_of_the_company(folder):
    out = folder / "tags.csv"
    done = run(
        folder / "new.htm", "--taxonomy", folder / "concepts.jsonl", "--precedents", folder / "old.htm",
        "--precedent-scope", "others", "--out", out,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert not any("precedent " in r["source_of_evidence"] for r in read(out))


def test_a_reviewed_tags_file_is_a_precedent(folder):
    out = folder / "tags.csv"
    arguments = (folder / "old.htm", "--taxonomy", folder / "concepts.jsonl", "--out", out)
    assert run(*arguments).exit_code == 0
    rows = read(out)
    for row in rows:
        row["concept"] = "Assets" if row["row_header"] == "Turnover" else ""
    with out.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    tagged = list(read_precedents(out))
    assert {(t.fact.row_header, t.concept) for t in tagged} == {("Turnover", "Assets")}
    done = run(
        folder / "new.htm",
        "--taxonomy",
        folder / "concepts.jsonl",
        "--precedents",
        out,
        "--out",
        folder / "n.csv",
    )
    assert done.exit_code == 0, done.output
    assert {r["concept"] for r in read(folder / "n.csv") if r["row_header"] == "Turnover"} == {"Assets"}


def test_locus_without_precedents_and_plain_pages(folder):
    page = folder / "p.md"
    page.write_text("| | 2024 |\n|--|--|\n| Cash | 5 |\n")
    done = run(page, "--taxonomy", folder / "concepts.jsonl", "--out", folder / "t.csv")
    assert done.exit_code == 0, done.output
    (row,) = read(folder / "t.csv")
    assert (row["concept"], row["source_of_evidence"]) == ("Cash", "locus query, rank 1")
    shown = run(page, "--taxonomy", folder / "concepts.jsonl")
    assert "Cash" in shown.output
    explained = run(page, "--taxonomy", folder / "concepts.jsonl", "--explain", row["fact_id"])
    assert explained.exit_code == 0
    assert "locus" in explained.output


def test_a_year_that_is_not_the_taxonomys_is_said(folder):
    renamed = folder / "us-gaap-2023.jsonl"
    (folder / "concepts.jsonl").rename(renamed)
    done = run(folder / "new.htm", "--taxonomy", renamed, "--out", folder / "t.csv")
    assert done.exit_code == 0
    assert "2024 taxonomy" in " ".join(done.stderr.split())


GAAP, IFRS = "http://fasb.org/us-gaap/2024", "https://xbrl.ifrs.org/taxonomy/2023-03-23/ifrs-full"


@pytest.mark.parametrize(
    ("prefix", "uri"), [("gaap", GAAP), ("ifrs-full", IFRS), ("acme", "http://acme.com/x")]
)
def test_gold_is_scored_whatever_the_prefix_of_the_taxonomy(folder, prefix, uri):
    page = filing("b", "2024", [(a, t.replace("us-gaap", prefix), b, c) for a, t, b, c in NEW])
    page = page.replace("xmlns:us-gaap=", f'xmlns:{prefix}="{uri}" xmlns:unused=')
    (folder / "other.htm").write_text(page)
    done = run(
        folder / "other.htm", "--taxonomy", folder / "concepts.jsonl", "--gold", "--out", folder / "t.csv"
    )
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "4 tagged facts of concepts" in said
    assert "Not scored" not in said


def test_gold_without_a_tag_of_the_taxonomy_is_refused(folder):
    (folder / "own.csv").write_text("id,label\nDogs,Dogs\nCats,Cats\n")
    done = run(folder / "new.htm", "--taxonomy", folder / "own.csv", "--gold", "--out", folder / "t.csv")
    assert isinstance(done.exception, InputError)
    assert "none of the 6 tags" in str(done.exception)
    assert not (folder / "t.csv").exists()


def calibration(folder, path, **changes):
    known = Taxonomy.load(folder / "concepts.jsonl")
    made = {
        "program": "locus", "kind": "isotonic", "fitted_on": 50, "x": (0.0, 1.0), "y": (0.6, 0.6),
        "taxonomy": "concepts", "fingerprint": known.content_hash, "setup": "bm25", "split": "finance dev",
        "wanted": (0.9, 0.7), "thresholds": (None, 0.55),
    }  # fmt: skip
    Calibration(**{**made, **changes}).save(path)
    return path


def test_confidence_is_given_where_it_was_fitted_and_thresholds_are_its_own(folder):
    file = calibration(folder, folder / "c.json")
    done = run(
        folder / "new.htm", "--taxonomy", folder / "concepts.jsonl", "--calibration", file, "--gold", "--out",
        folder / "t.csv",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert {r["confidence"] for r in read(folder / "t.csv")} == {"0.6"}
    said = " ".join(done.output.replace("\u2502", " ").split())
    assert "thresholds fixed on finance dev" in said
    assert "90% - 0.0% -" in said
    # all are accepted at 0.55, right or wrong; on these tags alone no threshold would reach 70%
    right = [r["concept"] == {"510": "Revenues", "400": "Revenues"}.get(r["value"], "Debt")
             for r in read(folder / "t.csv") if r["row_header"] != "Widgets"]  # fmt: skip
    assert f"70% 0.550 100.0% {sum(right) / 4:.1%}" in said


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"taxonomy": "us-gaap-2024"}, "was fitted for us-gaap-2024, not for concepts"),
        ({"fingerprint": "0"}, "another version of concepts"),
        ({"program": "direct"}, "fitted for the program 'direct'"),
        ({"setup": "dense"}, "was fitted with dense, not with bm25"),
        ({"taxonomy": ""}, "does not say for which taxonomy"),
    ],
)
def test_a_calibration_of_something_else_is_refused(folder, changes, words):
    file = calibration(folder, folder / "c.json", **changes)
    done = run(folder / "new.htm", "--taxonomy", folder / "concepts.jsonl", "--calibration", file)
    assert isinstance(done.exception, InputError)
    assert words in str(done.exception)


def test_no_confidence_for_a_list_of_ones_own(folder):
    (folder / "own.csv").write_text("id,label\nTurnover,Turnover\nBorrowings,Borrowings\n")
    done = run(folder / "new.htm", "--taxonomy", folder / "own.csv", "--out", folder / "t.csv")
    assert done.exit_code == 0, done.output
    assert {r["confidence"] for r in read(folder / "t.csv")} == {""}
    assert "no confidence is given: the calibration of 'locus' was fitted for us-gaap-2024, not for own" in (
        " ".join(done.stderr.split())
    )


def test_the_bundled_calibration_is_of_the_bundled_taxonomy(folder):
    done = run(folder / "new.htm", "--out", folder / "t.csv")
    assert done.exit_code == 0, done.output
    assert all(0 < float(r["confidence"]) < 1 for r in read(folder / "t.csv"))
    done = run(folder / "new.htm", "--precedents", folder / "old.htm", "--out", folder / "t.csv")
    assert "with other precedents than these: it is a guide" in " ".join(done.stderr.split())


def test_a_row_without_a_label_is_marked(folder):
    (folder / "p.md").write_text("| | 2024 |\n|--|--|\n| Cash | 5,000 |\n| | 7,000 |\n")
    run(folder / "p.md", "--taxonomy", folder / "concepts.jsonl", "--out", folder / "t.csv")
    assert {r["value"]: r["labelled"] for r in read(folder / "t.csv")} == {"5,000": "", "7,000": "no"}


@pytest.mark.parametrize("program", ["locus", "FHS-rules"])
def test_a_number_without_a_datatype_gets_a_concept_that_numbers_can_have(folder, program):
    concepts = (
        {"id": "DogsTable", "label": "Dogs", "datatype": "stringItemType", "abstract": True},
        {"id": "DogsMember", "label": "Dogs", "datatype": "domainItemType"},
        {"id": "NumberOfDogs", "label": "Number of dogs kept", "datatype": "integerItemType"},
        {"id": "Cash", "label": "Cash", "datatype": "monetaryItemType"},
    )
    (folder / "mixed.jsonl").write_text("\n".join(map(json.dumps, concepts)))
    (folder / "p.md").write_text("| | 2024 |\n|--|--|\n| Dogs | 5 |\n")
    done = run(
        folder / "p.md", "--taxonomy", folder / "mixed.jsonl", "--program", program, "--out", folder / "t.csv"
    )
    assert done.exit_code == 0, done.output
    (row,) = read(folder / "t.csv")
    assert (row["datatype"], row["concept"], row["runner_up_concepts"]) == ("", "NumberOfDogs", "Cash")
    said = "have no datatype that could be told: the 2 of 4 concepts that numbers can have were searched"
    assert f"1 values {said}" in " ".join(done.stderr.split())
    page = run(
        folder / "p.md",
        "--taxonomy",
        folder / "mixed.jsonl",
        "--program",
        program,
        "--explain",
        row["fact_id"],
    )
    assert "2 of 4 concepts were searched" in " ".join(page.output.split())


def test_a_vote_is_explained_by_its_precedents_not_as_concepts(folder):
    run(folder / "new.htm", "--taxonomy", folder / "concepts.jsonl", "--out", folder / "t.csv")
    fact = next(r["fact_id"] for r in read(folder / "t.csv") if r["value"] == "510")
    done = run(
        folder / "new.htm", "--taxonomy", folder / "concepts.jsonl", "--precedents", folder / "old.htm",
        "--explain", fact,
    )  # fmt: skip
    said = " ".join(done.output.split())
    assert "2 groups of equal precedents were allowed to vote" in said
    assert "4 of 4 concepts pass the datatype filter" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["facts.jsonl", "--calibration", "nowhere.json"], ["--calibration is for documents"]),
        (["x.pdf"], ["is none of", ".xlsx", ".htm", "(documents)", ".jsonl", "(facts)"]),
        (["new.htm", "--out", "o.xlsx"], ["o.xlsx", "written as CSV"]),
        (["facts.jsonl", "--out", "o.xlsx"], ["o.xlsx", "written as CSV"]),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(folder, monkeypatch, arguments, words):
    monkeypatch.chdir(folder)
    (folder / "x.pdf").write_bytes(b"%PDF-1.7")
    fact = {"fact_id": "f", "value": "5", "row_header": "Cash", "source_context": "<table></table>"}
    (folder / "facts.jsonl").write_text(json.dumps(fact))
    before = sorted(p.name for p in folder.iterdir())
    done = run(*arguments, "--taxonomy", "concepts.jsonl")
    assert isinstance(done.exception, InputError)
    assert all(w in str(done.exception) for w in words), str(done.exception)
    assert sorted(p.name for p in folder.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["p.md", "--gold"], "no tags to score"),
        (["none.htm"], "no such file"),
        (["new.htm", "--precedents", "none.htm"], "no such file"),
        (["new.htm", "--precedents", "p.md"], "no precedents file"),
        (["new.htm", "--program", "precedents (own)"], "--precedents"),
        (["new.htm", "--program", "FHS"], "language model"),
        (["new.htm", "--out", "nowhere/t.csv"], "no such folder"),
        (["new.htm", "--explain", "zzz"], "no fact 'zzz'"),
        (["new.htm", "--calibration", "concepts.jsonl"], "no calibration"),
    ],
)
def test_bad_input_leaves_nothing_behind(folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    (folder / "p.md").write_text("| | 2024 |\n|--|--|\n| Cash | 5 |\n")
    before = sorted(p.name for p in folder.iterdir())
    done = run(*arguments, "--taxonomy", "concepts.jsonl")
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)
    assert sorted(p.name for p in folder.iterdir()) == before


def test_what_is_a_document(tmp_path):
    (tmp_path / "facts.csv").write_text("fact_id,value\n1,2\n")
    (tmp_path / "sheet.csv").write_text("name,2024\nCash,2\n")
    assert not is_document(tmp_path / "facts.csv")
    assert is_document(tmp_path / "sheet.csv")
    assert is_document(tmp_path / "x.htm.gz")
    assert not is_document(tmp_path / "facts.jsonl.gz")
