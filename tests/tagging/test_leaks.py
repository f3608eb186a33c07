"""The leak guards of abduce tag, end to end: never the document's own filing, however it comes in; and never
its company under scope others."""

import json
from functools import partial

import made_filing
import pytest
from abduce.cli.main import app
from abduce.documents.read import read_document
from abduce.retrievers.errors import InputError
from abduce.tagging.precedents import PrecedentSource, read_precedents
from abduce.tagging.same_filing import FEWEST
from abduce.tagging.tags_file import PROVENANCE
from made_filing import tag, write_concepts
from typer.testing import CliRunner

WORDS = (
    "amber birch cedar delta ember frost grove heath inlet jetty knoll larch maple north ocean pearl".split()
)
ROWS = [f"{a} {b}" for a, b in zip(WORDS, WORDS[1:] + WORDS[:1], strict=True)] + [f"{w} total" for w in WORDS]
assert len(ROWS) > FEWEST


filing = partial(made_filing.page, rows=ROWS)


@pytest.fixture
def folder(tmp_path):
    write_concepts(tmp_path, len(ROWS))
    (tmp_path / "new.htm").write_text(filing(2024))
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "new.htm").write_text(filing(2023, first=5000))
    return tmp_path


def voted(rows):
    return [r for r in rows if r["source_of_evidence"].startswith("precedent ")]


def as_jsonl(folder, path, name, **changes):
    """Tagged facts of a document as a data set of somebody else would hold them."""
    lines = []
    for i, (fact, concept) in enumerate(read_precedents(folder / path)):
        row = {
            "fact_id": f"x{i}",
            "value": fact.value,
            "gold": concept,
            "source_context": fact.context.text.replace("<td>", "<td >"),
            "modality": "table",
            "context_id": "c1",
            "datatype": fact.datatype,
            "row_header": fact.row_header,
            "column_header": fact.column_header,
            "filing_id": "F7",
            "company": fact.company,
        } | changes
        lines.append(json.dumps({k: v for k, v in row.items() if v is not None}))
    (folder / name).write_text("\n".join(lines))
    return folder / name


def test_last_years_filing_of_the_same_name_is_a_precedent(folder):
    rows, _ = tag(folder, "new.htm", "--precedents", folder / "old" / "new.htm")
    assert len(voted(rows)) == len(rows) == 2 * len(ROWS)
    assert all(r["concept"] == f"T{ROWS.index(r['row_header'])}" for r in rows)


def test_the_same_filing_under_another_name_is_none(folder):
    (folder / "copy.html").write_text((folder / "new.htm").read_text())
    (folder / "saved.htm").write_text(filing(2024, extra="<p>Saved from a viewer</p>"))
    for name in ("copy.html", "saved.htm"):
        rows, _ = tag(folder, "new.htm", "--precedents", folder / name)
        assert voted(rows) == []


@pytest.mark.parametrize(
    "changes",
    [{}, {"filing_id": None}, {"company": None}, {"filing_id": None, "company": None, "context_id": "new"}],
)
def test_the_same_filing_as_facts_of_a_data_set_is_none(folder, changes):
    facts = as_jsonl(folder, "new.htm", "facts.jsonl", **changes)
    rows, _ = tag(folder, "new.htm", "--precedents", facts)
    assert voted(rows) == []
    old = as_jsonl(folder, "old/new.htm", "old.jsonl", **changes)
    rows, _ = tag(folder, "new.htm", "--precedents", old)
    assert len(voted(rows)) == len(rows)


def test_facts_without_a_filing_lose_only_those_of_the_document(folder):
    new = as_jsonl(folder, "new.htm", "a.jsonl", filing_id=None).read_text().replace('"x', '"y')
    old = as_jsonl(folder, "old/new.htm", "b.jsonl", filing_id=None, context_id="c2").read_text()
    (folder / "both.jsonl").write_text(new + "\n" + old)
    rows, _ = tag(folder, "new.htm", "--precedents", folder / "both.jsonl")
    assert len(voted(rows)) == len(rows)
    assert all(" x" in r["source_of_evidence"] for r in rows)


def test_a_data_set_against_the_filing_itself(folder):
    facts = as_jsonl(folder, "new.htm", "facts.jsonl")
    document = read_document(folder / "new.htm")
    source = PrecedentSource([facts]).for_facts(document.facts)
    assert len(source().vote(document.facts[0], "own").nearest(9)) == 0
    assert len(PrecedentSource([facts])().vote(document.facts[0], "own").nearest(9)) > 0
    examples = [t.fact for t in read_precedents(facts)]
    assert (
        len(PrecedentSource([folder / "new.htm"]).for_facts(examples)().rank(examples[0], scope="own")) == 0
    )


def test_a_page_without_tags_is_the_filing_that_it_shows(folder):
    (folder / "plain.html").write_text(filing(2024, tagged=False))
    rows, _ = tag(folder, "plain.html", "--precedents", folder / "new.htm", "--company", "Acme")
    assert voted(rows) == []
    rows, _ = tag(folder, "plain.html", "--precedents", folder / "old" / "new.htm", "--company", "Acme Inc.")
    assert len(voted(rows)) == len(rows)


def test_an_amendment_says_itself_that_it_is_another_filing(folder):
    (folder / "amended.htm").write_text(filing(2024, kind="10-K/A"))
    rows, _ = tag(folder, "new.htm", "--precedents", folder / "amended.htm")
    assert len(voted(rows)) == len(rows)


def test_a_tags_file_keeps_the_identity_and_the_year(folder):
    year = '<p xmlns:us-gaap="http://fasb.org/us-gaap/2023">x</p>'
    (folder / "year.htm").write_text(filing(2024, extra=year))
    rows, _ = tag(folder, "year.htm", "--program", "locus", out="reviewed.csv")
    assert rows[0]["filing_id"] == "ACMEINC 10-K 2024-12-31"
    assert {r["taxonomy_year"] for r in rows} == {"2023"}
    back = list(read_precedents(folder / "reviewed.csv"))
    facts = {f.fact_id: f for f in read_document(folder / "year.htm").facts}
    for fact, _ in back:
        was = facts[fact.fact_id]
        for name in (
            "filing_id",
            "company",
            "taxonomy_year",
            "datatype",
            "row_header",
            "column_header",
            "value",
        ):
            assert getattr(fact, name) == getattr(was, name)
        assert fact.context.context_id == was.context.context_id
    (folder / "renamed.csv").write_text((folder / "reviewed.csv").read_text())
    again, _ = tag(folder, "new.htm", "--precedents", folder / "renamed.csv")
    assert voted(again) == []


def test_tags_of_a_facts_file_keep_the_identity_too(folder):
    facts = as_jsonl(folder, "new.htm", "facts.jsonl", taxonomy_year="2022")
    rows, _ = tag(folder, "facts.jsonl", "--program", "locus", out="reviewed.csv")
    assert tuple(rows[0])[-len(PROVENANCE) :] == PROVENANCE
    assert {(r["filing_id"], r["context_id"], r["company"], r["taxonomy_year"]) for r in rows} == {
        ("F7", "c1", "Acme Inc.", "2022")
    }
    found = list(read_precedents(folder / "reviewed.csv"))
    examples = [t.fact for t in read_precedents(facts)]
    index = PrecedentSource([folder / "reviewed.csv"])()
    assert len(found) == len(examples)
    assert len(index.rank(examples[0], scope="own")) == 0
    assert len(index.rank(examples[0].model_copy(update={"filing_id": "F8", "context": found[0].fact.context.
        model_copy(update={"context_id": "c9"})}), scope="own")) > 0  # fmt: skip


def test_a_mention_is_found_again_in_its_window(folder):
    (folder / "p.html").write_text("<p>We sold 5 shops for $5 million, and paid $7 million of debt.</p>")
    tag(folder, "p.html", "--program", "locus", out="reviewed.csv")
    was = read_document(folder / "p.html").facts
    back = [t.fact for t in read_precedents(folder / "reviewed.csv")]
    assert [f.value for f in back] == [f.value for f in was]
    for one, other in zip(back, was, strict=True):
        start = one.mention_start
        assert other.context.text[other.mention_start :].startswith(one.context.text[start : start + 9])


class TestOthers:
    def test_a_document_that_does_not_say_whose_it_is_is_refused(self, folder):
        (folder / "plain.html").write_text(filing(2024, tagged=False))
        arguments = ("--precedents", folder / "old" / "new.htm", "--precedent-scope", "others")
        with pytest.raises(InputError, match="--company NAME") as caught:
            tag(folder, "plain.html", *arguments)
        assert "\n" not in str(caught.value)
        assert not (folder / "t.csv").exists()
        rows, _ = tag(folder, "plain.html", *arguments, "--company", "ACME")
        assert voted(rows) == []
        rows, _ = tag(folder, "plain.html", *arguments, "--company", "Beta Corp")
        assert len(voted(rows)) == len(rows)

    def test_a_name_without_a_letter_is_no_name(self, folder):
        (folder / "plain.html").write_text(filing(2024, tagged=False))
        with pytest.raises(InputError, match="--company NAME"):
            tag(folder, "plain.html", "--company", "--", "--precedents", folder / "old" / "new.htm",
                "--precedent-scope", "others")  # fmt: skip

    def test_a_name_in_another_script_is_one(self, folder):
        for name, company in (("a.htm", "株式会社アクメ"), ("b.htm", "Société Beta")):
            (folder / name).write_text(filing(2023, company=company))
        (folder / "plain.html").write_text(filing(2024, first=5000, tagged=False))
        arguments = ("--precedents", folder / "a.htm", "--precedents", folder / "b.htm")
        arguments += ("--precedent-scope", "others", "--top", 1)
        rows, _ = tag(folder, "plain.html", *arguments, "--company", "株式会社アクメ")
        assert all("Société Beta" in r["source_of_evidence"] for r in rows)
        rows, _ = tag(folder, "plain.html", *arguments, "--company", "SOCIETE BETA")
        assert all("株式会社アクメ" in r["source_of_evidence"] for r in rows)

    def test_precedents_that_do_not_say_whose_they_are_are_left_out_and_counted(self, folder):
        nameless = as_jsonl(folder, "old/new.htm", "nameless.jsonl", company=None)
        (folder / "beta.htm").write_text(filing(2023, first=7000, company="Beta Corp", only=range(3)))
        arguments = (
            "--precedents",
            nameless,
            "--precedents",
            folder / "beta.htm",
            "--precedent-scope",
            "others",
        )
        rows, notes = tag(folder, "new.htm", *arguments)
        assert {r["source_of_evidence"].split("(")[1].split(",")[0].split(")")[0] for r in voted(rows)} == {
            "Beta Corp"
        }
        assert f"note: {2 * len(ROWS)} of {2 * len(ROWS) + 6} precedents" in notes
        with pytest.raises(InputError, match="no precedent says whose it is"):
            tag(folder, "new.htm", "--precedents", nameless, "--precedent-scope", "others")

    def test_facts_that_do_not_say_whose_they_are_are_refused(self, folder):
        facts = as_jsonl(folder, "new.htm", "facts.jsonl", company=None)
        with pytest.raises(InputError, match=r"fact 'x0' does not say whose it is.*field 'company'"):
            tag(folder, facts.name, "--precedents", folder / "old" / "new.htm", "--precedent-scope", "others")


class TestScopeOption:
    """--precedent-scope with and without --program."""

    def precedents(self, folder):
        (folder / "beta.htm").write_text(filing(2023, first=7000, company="Beta Corp", only=range(5)))
        return ("--precedents", folder / "old" / "new.htm", "--precedents", folder / "beta.htm")

    @pytest.mark.parametrize(
        "program", ["precedents (own)", "precedents (others)", "precedents (others), locus"]
    )
    @pytest.mark.parametrize("scope", ["others", "own"])
    def test_it_holds_for_a_named_program(self, folder, program, scope):
        rows, _ = tag(
            folder, "new.htm", *self.precedents(folder), "--program", program, "--precedent-scope", scope
        )
        mine = [r for r in voted(rows) if "(Acme" in r["source_of_evidence"]]
        assert voted(rows)
        assert bool(mine) is (scope == "own")

    def test_it_holds_for_a_companion(self, folder):
        arguments = (
            *map(str, self.precedents(folder)),
            "--program",
            "FHS-rules + precedents (others)",
            "--explain",
        )
        fact_id = read_document(folder / "new.htm").facts[0].fact_id
        for scope in ("own", "others"):
            of = ("--precedent-scope", scope)
            done = CliRunner().invoke(
                app,
                [
                    "tag",
                    str(folder / "new.htm"),
                    "--taxonomy",
                    str(folder / "concepts.jsonl"),
                    *arguments,
                    fact_id,
                    *of,
                ],
            )
            assert done.exit_code == 0, done.output
            assert f"precedents ({scope})" in done.output

    def test_without_a_program_the_best_row_of_the_scope_votes(self, folder):
        given = self.precedents(folder)
        for scope, row in (("others", "precedents (others), locus"), ("own", "precedents (own)")):
            rows, _ = tag(folder, "new.htm", *given, "--precedent-scope", scope)
            named, _ = tag(folder, "new.htm", *given, "--program", row)
            assert rows == named
            gaap = (*given, "--taxonomy", "us-gaap-2024")
            rows, _ = tag(folder, "new.htm", *gaap, "--precedent-scope", scope)
            assert all(r["confidence"] for r in rows)  # the row has a calibration

    def test_a_scope_that_has_no_calibration_gives_no_confidence(self, folder):
        program = ("--program", "precedents (others), locus", "--precedent-scope", "own")
        gaap = ("--taxonomy", "us-gaap-2024")
        rows, _ = tag(folder, "new.htm", *self.precedents(folder), *gaap, *program)
        assert {r["confidence"] for r in rows} == {""}

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                ["--precedent-scope", "own"],
                "--precedent-scope: the program 'locus' uses no already-tagged facts",
            ),
            (
                ["--program", "direct", "--precedent-scope", "others"],
                "the program 'direct' uses no already-tagged",
            ),
            (
                ["--program", "FHS-rules", "--precedents", "old/new.htm"],
                "--precedents: the program 'FHS-rules' uses no",
            ),
            (["--program", "nothing", "--precedent-scope", "others"], "no program 'nothing'"),
        ],
    )
    def test_a_conflict_is_one_line(self, folder, monkeypatch, arguments, message):
        monkeypatch.chdir(folder)
        with pytest.raises(InputError) as caught:
            tag(folder, "new.htm", *arguments)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
        assert not (folder / "t.csv").exists()
