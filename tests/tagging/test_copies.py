"""A document beside copies of its own document: under another company, trimmed in a spreadsheet, in eval."""

import csv
import gzip
import json
from functools import partial

import made_filing
import pytest
from abduce.eval.runs.log import read_lines
from abduce.retrievers.errors import InputError
from abduce.tagging.precedents import read_precedents
from command_line import cli
from made_filing import tag, write_concepts

ROWS = [
    f"{a} {b}" for a in ("amber", "birch", "cedar", "delta") for b in ("frost", "grove", "heath", "inlet")
]
TRIMMED = ("fact_id", "value", "datatype", "concept", "locus", "modality")


page = partial(made_filing.page, rows=ROWS)


@pytest.fixture
def folder(tmp_path):
    write_concepts(tmp_path, len(ROWS))
    (tmp_path / "new.htm").write_text(page(2024))
    (tmp_path / "old.htm").write_text(page(2023, first=5000))
    (tmp_path / "beta.htm").write_text(page(2023, first=7000, company="Beta Corp"))
    (tmp_path / "plain.htm").write_text(page(2024, tagged=False))
    return tmp_path


def voters(tags):
    """The companies whose precedents decided."""
    found = (t.evidence for t in tags)
    return {e.split("(")[1].split(",")[0].split(")")[0] if "(" in e else e for e in found if "precedent" in e}


def trim(folder, source, to, columns=TRIMMED, delimiter=",", encoding="utf-8", change=lambda row: row):
    """A tags file as a spreadsheet leaves it."""
    with (folder / source).open(newline="") as stream:
        rows = [change(row) for row in csv.DictReader(stream)]
    with (folder / to).open("w", newline="", encoding=encoding) as stream:
        writer = csv.DictWriter(stream, columns, extrasaction="ignore", delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


class TestCompany:
    @pytest.mark.parametrize("scope", ["own", "others"])
    def test_a_ticker_hides_no_twin(self, folder, scope):
        options = {"company": "ACM", "scope": scope}
        assert voters(tag(folder, "plain.htm", "new.htm", **options)) == set()
        second = "old.htm" if scope == "own" else "beta.htm"
        tags = tag(folder, "plain.htm", "new.htm", "old.htm", second, **options)
        assert voters(tags) == ({"Beta Corp"} if scope == "others" else {"Acme Inc."})
        copies = {t.fact.fact_id for t in read_precedents(folder / "new.htm")}
        assert not any(t.evidence.split()[1].strip(":") in copies for t in tags)
        told = "32 precedents are of a filing that is tagged itself (ACMEINC 10-K 2024-12-31): left out"
        assert told in tags.notes
        assert "Acme Inc. is taken as another name of ACM" in tags.notes

    def test_an_option_against_the_page_hides_neither_company(self, folder):
        (folder / "c.htm").write_text(page(2023, first=9000, company="Gamma"))
        given = ("old.htm", "beta.htm", "c.htm")
        tags = tag(folder, "new.htm", *given, company="Beta Corp", scope="others")
        assert voters(tags) == {"Gamma"}
        assert {t.fact.company for t in tags} == {"Acme Inc."}
        assert any(n.startswith("the page is of Acme Inc., not of Beta Corp") for n in tags.notes)

    def test_a_small_page_is_known_too(self, folder):
        for name, tagged in (("small.htm", False), ("tagged.htm", True)):
            (folder / name).write_text(page(2024, tagged=tagged, rows=ROWS[:2]))
        tags = tag(folder, "small.htm", "tagged.htm", company="Acme")
        assert len(tags) == 4
        assert voters(tags) == set()


class TestTrimmedTags:
    """A tags file of which only a few columns are left."""

    @pytest.mark.parametrize("document", ["new.htm", "plain.htm"])
    @pytest.mark.parametrize("tagged", ["the file itself", "a saved copy"])
    def test_of_the_document_it_never_votes(self, folder, document, tagged):
        text = "<p>We sold the shops in the north for $31 million, and paid $12 million of debt.</p>"
        whole = page(2024, tagged=document == "new.htm", text=text)
        (folder / document).write_text(whole)
        tag(folder, document, program="locus", out="reviewed.csv")
        trim(folder, "reviewed.csv", "trimmed.csv", change=lambda row: row | {"concept": "T3"})
        if tagged == "a saved copy":
            (folder / document).write_text(whole.replace("In millions", "In millions of dollars"))
        tags = tag(folder, document, "trimmed.csv")
        assert len(tags) == 34
        assert voters(tags) == set()
        assert any(n.startswith("34 precedents are of a filing that is tagged itself") for n in tags.notes)

    def test_of_last_year_it_votes_by_its_headers(self, folder):
        tag(folder, "old.htm", program="locus", out="reviewed.csv")
        trim(
            folder,
            "reviewed.csv",
            "trimmed.csv",
            change=lambda row: row | {"concept": f"T{ROWS.index(row['row_header'])}"},
        )
        back = [t.fact for t in read_precedents(folder / "trimmed.csv")]
        assert [(f.row_header, f.column_header) for f in back[:2]] == [(ROWS[0], "2023"), (ROWS[0], "2022")]
        tags = tag(folder, "new.htm", "trimmed.csv")
        assert [t.concept for t in tags] == [f"T{ROWS.index(t.fact.row_header)}" for t in tags]

    @pytest.mark.parametrize("delimiter", [";", "\t"])
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
    def test_as_spreadsheets_write_it(self, folder, delimiter, encoding):
        (folder / "old.htm").write_text(page(2023, first=5000, rows=[f"é, {r}; x" for r in ROWS]))
        tag(folder, "old.htm", program="locus", out="reviewed.csv")
        with (folder / "reviewed.csv").open(newline="") as stream:
            columns = csv.DictReader(stream).fieldnames
        trim(folder, "reviewed.csv", "saved.csv", columns, delimiter, encoding)
        notes = []
        back = list(read_precedents(folder / "saved.csv", on_note=notes.append))
        assert back == list(read_precedents(folder / "reviewed.csv"))
        assert back[0].fact.row_header == f"é, {ROWS[0]}; x"
        wrong = [f"{folder / 'saved.csv'} is not UTF-8; it was read as {encoding}"]
        assert notes == ([] if encoding.startswith("utf-8") else wrong)

    def test_without_concepts_it_says_so(self, folder):
        tag(folder, "old.htm", program="locus", out="reviewed.csv")
        trim(folder, "reviewed.csv", "trimmed.csv", ("fact_id", "value", "locus"))
        with pytest.raises(InputError, match=r"trimmed.csv:2: .*column 'concept'.*fact_id, value, locus"):
            list(read_precedents(folder / "trimmed.csv"))


def test_concepts_that_the_taxonomy_lacks_are_counted_and_named(folder):
    tag(folder, "old.htm", program="locus", out="reviewed.csv")
    wrong = iter(["Typo", "Typo", "Wrong"])
    trim(folder, "reviewed.csv", "typos.csv", change=lambda row: row | {"concept": next(wrong, "T1")})
    told = "3 precedents have concepts that concepts lacks, and are skipped: Typo, Wrong"
    assert told in tag(folder, "new.htm", "typos.csv").notes
    assert not any("lacks" in note for note in tag(folder, "new.htm", "old.htm").notes)


def test_eval_and_calibrate_know_copies_too(folder):
    """A data folder whose precedents hold the facts under another filing id."""
    data = folder / "data" / "finance"
    data.mkdir(parents=True)

    def write(name, rows):
        with gzip.open(data / name, "wt") as stream:
            stream.write("\n".join(map(json.dumps, rows)))

    def rows_of(document, filing, company):
        for i, (fact, concept) in enumerate(read_precedents(folder / document)):
            yield {
                "fact_id": f"{filing}-{i}", "value": fact.value, "gold": concept, "modality": "table",
                "context_id": f"{filing}-c", "datatype": "monetaryItemType", "row_header": fact.row_header,
                "column_header": fact.column_header, "filing_id": filing, "company": company,
            }  # fmt: skip

    write("concepts.jsonl.gz", map(json.loads, (folder / "concepts.jsonl").read_text().splitlines()))
    write("facts_dev.jsonl.gz", rows_of("new.htm", "F1", "ACMEINC"))
    write("facts_prior.jsonl.gz", [*rows_of("new.htm", "F2", "Acme Holding")])
    text = "<table><tr><td>{}</td></tr></table>"
    write(
        "contexts.jsonl.gz",
        [
            {"context_id": f"F{i}-c", "source_context": text.format("ab"[i - 1]), "modality": "table"}
            for i in (1, 2)
        ],
    )
    where = ("--data", str(folder / "data"), "--split", "dev")
    told = "note: 32 precedents are of a filing that is tagged itself (F2): left out"
    command = ("eval", "finance-precedents", "--row", "precedents (own)", "--out", str(folder / "run"))
    done = cli(*command, *where)
    assert done.code == 0, done.said
    assert told in done.err
    records = [r for p in (folder / "run" / "rows").iterdir() for r in read_lines(p)]
    assert len([r for r in records if "trace" in r]) == 32
    assert "'precedents': []" in str(records)
    assert "F2-" not in str(records)
    done = cli("calibrate", "precedents (own)", *where)
    assert told in done.err
