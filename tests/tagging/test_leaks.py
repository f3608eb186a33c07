"""The leak guards of the tagger, end to end: never the document's own filing, however it comes in; and never
its company under scope others."""

import json
from functools import partial

import made_filing
import pytest
from abduce import Tagger
from abduce.documents.read import read_document
from abduce.retrievers.errors import InputError
from abduce.tagging.precedents import PrecedentSource, read_precedents
from abduce.tagging.same_filing import FEWEST
from abduce.tagging.tags_file import PROVENANCE
from made_filing import tag, write_concepts

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


def voted(tags):
    return [t for t in tags if t.evidence.startswith("precedent ")]


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
    rows = tag(folder, "new.htm", "old/new.htm")
    assert len(voted(rows)) == len(rows) == 2 * len(ROWS)
    assert all(t.concept == f"T{ROWS.index(t.fact.row_header)}" for t in rows)


def test_the_same_filing_under_another_name_is_none(folder):
    (folder / "copy.html").write_text((folder / "new.htm").read_text())
    (folder / "saved.htm").write_text(filing(2024, extra="<p>Saved from a viewer</p>"))
    for name in ("copy.html", "saved.htm"):
        rows = tag(folder, "new.htm", name)
        assert voted(rows) == []


@pytest.mark.parametrize(
    "changes",
    [{}, {"filing_id": None}, {"company": None}, {"filing_id": None, "company": None, "context_id": "new"}],
)
def test_the_same_filing_as_facts_of_a_data_set_is_none(folder, changes):
    facts = as_jsonl(folder, "new.htm", "facts.jsonl", **changes)
    rows = tag(folder, "new.htm", facts)
    assert voted(rows) == []
    old = as_jsonl(folder, "old/new.htm", "old.jsonl", **changes)
    rows = tag(folder, "new.htm", old)
    assert len(voted(rows)) == len(rows)


def test_facts_without_a_filing_lose_only_those_of_the_document(folder):
    new = as_jsonl(folder, "new.htm", "a.jsonl", filing_id=None).read_text().replace('"x', '"y')
    old = as_jsonl(folder, "old/new.htm", "b.jsonl", filing_id=None, context_id="c2").read_text()
    (folder / "both.jsonl").write_text(new + "\n" + old)
    rows = tag(folder, "new.htm", "both.jsonl")
    assert len(voted(rows)) == len(rows)
    assert all(" x" in t.evidence for t in rows)


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
    rows = tag(folder, "plain.html", "new.htm", company="Acme")
    assert voted(rows) == []
    rows = tag(folder, "plain.html", "old/new.htm", company="Acme Inc.")
    assert len(voted(rows)) == len(rows)


def test_an_amendment_says_itself_that_it_is_another_filing(folder):
    (folder / "amended.htm").write_text(filing(2024, kind="10-K/A"))
    rows = tag(folder, "new.htm", "amended.htm")
    assert len(voted(rows)) == len(rows)


def test_a_tags_file_keeps_the_identity_and_the_year(folder):
    year = '<p xmlns:us-gaap="http://fasb.org/us-gaap/2023">x</p>'
    (folder / "year.htm").write_text(filing(2024, extra=year))
    rows = tag(folder, "year.htm", program="locus", out="reviewed.csv")
    assert rows[0].fact.filing_id == "ACMEINC 10-K 2024-12-31"
    assert {t.fact.taxonomy_year for t in rows} == {"2023"}
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
    again = tag(folder, "new.htm", "renamed.csv")
    assert voted(again) == []


def test_tags_of_a_facts_file_keep_the_identity_too(folder):
    facts = as_jsonl(folder, "new.htm", "facts.jsonl", taxonomy_year="2022")
    rows = tag(folder, "facts.jsonl", program="locus", out="reviewed.csv")
    assert tuple(next(rows.rows()))[-len(PROVENANCE) :] == PROVENANCE
    assert {(r["filing_id"], r["context_id"], r["company"], r["taxonomy_year"]) for r in rows.rows()} == {
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
    tag(folder, "p.html", program="locus", out="reviewed.csv")
    was = read_document(folder / "p.html").facts
    back = [t.fact for t in read_precedents(folder / "reviewed.csv")]
    assert [f.value for f in back] == [f.value for f in was]
    for one, other in zip(back, was, strict=True):
        start = one.mention_start
        assert other.context.text[other.mention_start :].startswith(one.context.text[start : start + 9])


class TestOthers:
    @pytest.mark.parametrize("company", [None, "--"])
    def test_a_document_that_does_not_say_whose_it_is_leaves_out_its_own_filing_only(self, folder, company):
        (folder / "plain.html").write_text(filing(2024, tagged=False))
        options = {"scope": "others", "company": company}
        rows = tag(folder, "plain.html", "old/new.htm", **options)
        assert len(voted(rows)) == len(rows)
        assert any("--company NAME says it" in note for note in rows.notes)
        assert voted(tag(folder, "plain.html", "new.htm", **options)) == []
        rows = tag(folder, "plain.html", "old/new.htm", scope="others", company="ACME")
        assert voted(rows) == []
        rows = tag(folder, "plain.html", "old/new.htm", scope="others", company="Beta Corp")
        assert len(voted(rows)) == len(rows)

    def test_a_name_in_another_script_is_one(self, folder):
        for name, company in (("a.htm", "株式会社アクメ"), ("b.htm", "Société Beta")):
            (folder / name).write_text(filing(2023, company=company))
        (folder / "plain.html").write_text(filing(2024, first=5000, tagged=False))
        rows = tag(folder, "plain.html", "a.htm", "b.htm", scope="others", company="株式会社アクメ")
        assert all("Société Beta" in t.evidence for t in rows)
        rows = tag(folder, "plain.html", "a.htm", "b.htm", scope="others", company="SOCIETE BETA")
        assert all("株式会社アクメ" in t.evidence for t in rows)

    def test_precedents_that_do_not_say_whose_they_are_are_left_out_and_counted(self, folder):
        nameless = as_jsonl(folder, "old/new.htm", "nameless.jsonl", company=None)
        (folder / "beta.htm").write_text(filing(2023, first=7000, company="Beta Corp", only=range(3)))
        rows = tag(folder, "new.htm", nameless, "beta.htm", scope="others")
        assert {t.evidence.split("(")[1].split(",")[0].split(")")[0] for t in voted(rows)} == {"Beta Corp"}
        assert any(f"{2 * len(ROWS)} of {2 * len(ROWS) + 6} precedents" in note for note in rows.notes)
        with pytest.raises(InputError, match="no precedent says whose it is"):
            tag(folder, "new.htm", nameless, scope="others")

    def test_facts_that_do_not_say_whose_they_are_are_tagged_too(self, folder):
        facts = as_jsonl(folder, "new.htm", "facts.jsonl", company=None)
        rows = tag(folder, facts.name, "old/new.htm", scope="others")
        assert len(voted(rows)) == len(rows)
        assert voted(tag(folder, facts.name, "new.htm", scope="others")) == []


class TestScope:
    """A scope with and without a program."""

    @pytest.fixture
    def given(self, folder):
        (folder / "beta.htm").write_text(filing(2023, first=7000, company="Beta Corp", only=range(5)))
        return ("old/new.htm", "beta.htm")

    @pytest.mark.parametrize(
        "program", ["precedents (own)", "precedents (others)", "precedents (others), locus"]
    )
    @pytest.mark.parametrize("scope", ["others", "own"])
    def test_it_holds_for_a_named_program(self, folder, given, program, scope):
        rows = tag(folder, "new.htm", *given, program=program, scope=scope)
        mine = [t for t in voted(rows) if "(Acme" in t.evidence]
        assert voted(rows)
        assert bool(mine) is (scope == "own")

    @pytest.mark.parametrize("scope", ["others", "own"])
    def test_it_holds_for_a_companion(self, folder, given, scope):
        fact_id = read_document(folder / "new.htm").facts[0].fact_id
        tagger = Tagger(
            folder / "concepts.jsonl",
            "FHS-rules + precedents (others)",
            [folder / p for p in given],
            scope=scope,
        )
        trail = tagger.explain(folder / "new.htm", fact_id)
        assert f"precedents ({scope})" in {q.form for q in trail.prediction.trace.queries}

    def test_without_a_program_the_best_row_of_the_scope_votes(self, folder, given):
        for scope, row in (
            ("others", "precedents (others), locus"),
            ("own", "precedents (own), decisions first"),
        ):
            rows = tag(folder, "new.htm", *given, scope=scope)
            named = tag(folder, "new.htm", *given, program=row)
            assert rows.program == named.program == row
            assert list(rows.rows()) == list(named.rows())
            rows = tag(folder, "new.htm", *given, program="precedents (own)", taxonomy="us-gaap-2024")
            assert all(t.confidence for t in rows)  # the row has a calibration

    def test_a_scope_that_has_no_calibration_gives_no_confidence(self, folder, given):
        options = {"program": "precedents (others), locus", "scope": "own", "taxonomy": "us-gaap-2024"}
        assert {t.confidence for t in tag(folder, "new.htm", *given, **options)} == {None}

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"scope": "own"}, "--precedent-scope: no already-tagged facts fit concepts"),
            ({"program": "direct", "scope": "others"}, "the program 'direct' uses no already-tagged"),
            (
                {"program": "FHS-rules", "precedents": ["old/new.htm"]},
                "--precedents: the program 'FHS-rules' uses no",
            ),
            ({"program": "nothing", "scope": "others"}, "no program 'nothing'"),
        ],
    )
    def test_a_conflict_is_one_line(self, folder, monkeypatch, options, message):
        monkeypatch.chdir(folder)
        with pytest.raises(InputError) as caught:
            Tagger("concepts.jsonl", **options)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
