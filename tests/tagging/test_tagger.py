"""The tagger: tags, confidence, evidence, scores, precedents, and bad input."""

import csv
import json
import logging

import pytest
from abduce import Fact, InputError, Tagger, Taxonomy, read_document
from abduce.programs.precedents import PrecedentVote
from abduce.retrievers.bm25 import BM25Retriever
from abduce.signatures.types import SourceContext
from abduce.tagging.calibration import Calibration
from abduce.tagging.precedents import read_precedents
from abduce.tagging.tags_file import COLUMNS
from made_tagged_page import filing

LABELS = {"Assets": "Assets", "Cash": "Cash", "Revenues": "Revenues", "Debt": "Long term debt"}


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


def tagger(folder, *precedents, **options):
    options.setdefault("taxonomy", folder / "concepts.jsonl")
    return Tagger(precedents=[folder / p for p in precedents], **options)


def read(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_filing_with_the_companys_earlier_one_as_precedent(folder):
    tags = tagger(folder, "old.htm").tag(folder / "new.htm", gold=True)
    by = {t.fact.value: t for t in tags}
    assert len(tags) == len(by) == 6
    assert by["510"].concept == by["400"].concept == "Revenues"
    assert by["510"].label == "Revenues"
    assert by["70"].concept == "Debt"
    assert by["510"].evidence.startswith("precedent ")
    assert "(Acme Widgets Inc.): Turnover / 2023; decided so before for the same line" in by["510"].evidence
    assert "headers or words 100% alike" in by["510"].evidence
    assert by["510"].confidence is None  # no calibration was fitted on these concepts
    assert by["510"].margin > 0
    assert "Debt" in by["510"].ranking.ids
    score = tags.score()
    assert [(g.name, g.facts, g.recall) for g in score.groups] == [
        ("all", 4, (1.0, 1.0, 1.0)),
        ("table", 4, (1.0, 1.0, 1.0)),
        ("header unseen", 4, (1.0, 1.0, 1.0)),  # the one precedent is of the company itself
        ("concept unseen", 4, (1.0, 1.0, 1.0)),
    ]
    assert (score.other, score.missing, score.accepted) == (2, 0, ())


def test_tags_are_a_sequence_and_a_table(folder):
    tags = tagger(folder, "old.htm").tag(folder / "new.htm")
    assert [t.fact.fact_id for t in tags[:2]] == [tags[0].fact.fact_id, tags[1].fact.fact_id]
    assert len(tags[:2]) == 2
    assert tags[-1] is list(tags)[-1]
    tags.to_csv(folder / "t.csv", top=2)
    written = read(folder / "t.csv")
    assert tuple(written[0]) == COLUMNS
    assert [r["concept"] for r in written] == [t.concept for t in tags]
    assert written[0]["locus"] == "Turnover / 2024"
    assert written[0]["runner_up_concepts"] == tags[0].ranking.ids[1]
    frame, table = tags.to_pandas(top=2), tags.to_arrow(top=2)
    assert list(frame.columns) == table.column_names == list(COLUMNS)
    assert frame["score"].tolist() == table["score"].to_pylist() == [t.score for t in tags]
    assert frame["locus"].tolist() == [r["locus"] for r in written]


def test_scope_others_uses_nothing_of_the_company(folder):
    tags = tagger(folder, "old.htm", scope="others").tag(folder / "new.htm")
    assert not any("precedent " in t.evidence for t in tags)


def test_a_reviewed_tags_file_is_a_precedent(folder):
    out = folder / "tags.csv"
    tagger(folder).tag(folder / "old.htm").to_csv(out)
    rows = read(out)
    for row in rows:
        row["concept"] = "Assets" if row["row_header"] == "Turnover" else ""
    with out.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    tagged = list(read_precedents(out))
    assert {(t.fact.row_header, t.concept) for t in tagged} == {("Turnover", "Assets")}
    tags = tagger(folder, out).tag(folder / "new.htm")
    assert {t.concept for t in tags if t.fact.row_header == "Turnover"} == {"Assets"}


def test_locus_without_precedents_and_plain_pages(folder):
    page = folder / "p.md"
    page.write_text("| | 2024 |\n|--|--|\n| Cash | 5 |\n")
    made = tagger(folder)
    (tag,) = made.tag(page)
    assert (tag.concept, tag.evidence) == ("Cash", "locus query, rank 1; words of the label: Cash")
    trail = made.explain(page, tag.fact.fact_id)
    assert trail.program == "locus"
    assert trail.prediction.ranking.ids == tag.ranking.ids


def test_a_year_that_is_not_the_taxonomys_is_said(folder):
    renamed = folder / "us-gaap-2023.jsonl"
    (folder / "concepts.jsonl").rename(renamed)
    tags = Tagger(renamed).tag(folder / "new.htm")
    assert any("2024 taxonomy" in note for note in tags.notes)


def test_notes_are_logged_and_never_printed(folder, caplog, capsys, monkeypatch):
    monkeypatch.setattr(logging.getLogger("abduce"), "handlers", [])  # another test may have run a command
    with caplog.at_level(logging.INFO, logger="abduce"):
        tags = tagger(folder, "new.htm").tag(folder / "new.htm")
    assert tags.notes
    assert [r.getMessage() for r in caplog.records] == list(tags.notes)
    assert capsys.readouterr() == ("", "")


GAAP, IFRS = "http://fasb.org/us-gaap/2024", "https://xbrl.ifrs.org/taxonomy/2023-03-23/ifrs-full"


@pytest.mark.parametrize(
    ("prefix", "uri"), [("gaap", GAAP), ("ifrs-full", IFRS), ("acme", "http://acme.com/x")]
)
def test_gold_is_scored_whatever_the_prefix_of_the_taxonomy(folder, prefix, uri):
    page = filing("b", "2024", [(a, t.replace("us-gaap", prefix), b, c) for a, t, b, c in NEW])
    page = page.replace("xmlns:us-gaap=", f'xmlns:{prefix}="{uri}" xmlns:unused=')
    (folder / "other.htm").write_text(page)
    score = tagger(folder).tag(folder / "other.htm").score()
    assert (score.groups[0].facts, score.other, score.missing) == (4, 0, 0)


def test_gold_without_a_tag_of_the_taxonomy_is_refused(folder):
    (folder / "own.csv").write_text("id,label\nDogs,Dogs\nCats,Cats\n")
    made = Tagger(folder / "own.csv")
    with pytest.raises(InputError, match="none of the 6 tags"):
        made.tag(folder / "new.htm", gold=True)
    tags = made.tag(folder / "new.htm")
    with pytest.raises(InputError, match="none of the 6 tags"):
        tags.score()


def calibration(folder, **changes):
    known = Taxonomy.load(folder / "concepts.jsonl")
    made = {
        "program": "locus", "kind": "isotonic", "fitted_on": 50, "x": (0.0, 1.0), "y": (0.6, 0.6),
        "taxonomy": "concepts", "fingerprint": known.content_hash, "setup": "bm25", "split": "finance dev",
        "wanted": (0.9, 0.7), "thresholds": (None, 0.55),
    }  # fmt: skip
    return Calibration(**{**made, **changes})


def test_confidence_is_given_where_it_was_fitted_and_thresholds_are_its_own(folder):
    tags = tagger(folder, calibration=calibration(folder)).tag(folder / "new.htm")
    assert {t.confidence for t in tags} == {0.6}
    score = tags.score()
    assert score.fitted_on == "finance dev"
    none, all_ = score.accepted
    assert (none.wanted, none.threshold, none.coverage, none.precision) == (0.9, None, 0.0, None)
    # all are accepted at 0.55, right or wrong; on these tags alone no threshold would reach 70%
    gold = {"510": "Revenues", "400": "Revenues"}
    right = [t.concept == gold.get(t.fact.value, "Debt") for t in tags if t.fact.row_header != "Widgets"]
    assert (all_.wanted, all_.threshold, all_.coverage) == (0.7, 0.55, 1.0)
    assert all_.precision == sum(right) / 4
    assert len(tags.accept(0.7)) == len(tags)
    assert len(tags.accept(0.9)) == 0
    with pytest.raises(InputError, match=r"no threshold for a precision of 0\.95: 0\.9, 0\.7"):
        tags.accept()


def test_nothing_is_accepted_without_a_calibration(folder):
    with pytest.raises(InputError, match="no calibration of 'locus' with concepts"):
        tagger(folder).tag(folder / "new.htm").accept()


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
    calibration(folder, **changes).save(folder / "c.json")
    with pytest.raises(InputError, match=words):
        tagger(folder, calibration=folder / "c.json").tag(folder / "new.htm")


def test_no_confidence_for_a_list_of_ones_own(folder):
    (folder / "own.csv").write_text("id,label\nTurnover,Turnover\nBorrowings,Borrowings\n")
    tags = Tagger(folder / "own.csv").tag(folder / "new.htm")
    assert {t.confidence for t in tags} == {None}
    told = "no confidence is given: the calibration of 'locus' was fitted for us-gaap-2024, not for own"
    assert told in tags.notes


def test_the_bundled_calibration_is_of_the_bundled_taxonomy(folder):
    tags = Tagger().tag(folder / "new.htm")
    assert all(0 < t.confidence < 1 for t in tags)
    tags = Tagger(program="precedents (own)", precedents=folder / "old.htm").tag(folder / "new.htm")
    assert any("with other precedents than these: it is a guide" in note for note in tags.notes)


def test_a_row_without_a_label_is_marked(folder):
    (folder / "p.md").write_text("| | 2024 |\n|--|--|\n| Cash | 5,000 |\n| | 7,000 |\n")
    rows = tagger(folder).tag(folder / "p.md").rows()
    assert {r["value"]: r["labelled"] for r in rows} == {"5,000": "", "7,000": "no"}


def mixed(folder):
    concepts = (
        {"id": "DogsTable", "label": "Dogs", "datatype": "stringItemType", "abstract": True},
        {"id": "DogsMember", "label": "Dogs", "datatype": "domainItemType"},
        {"id": "NumberOfDogs", "label": "Number of dogs kept", "datatype": "integerItemType"},
        {"id": "Cash", "label": "Cash", "datatype": "monetaryItemType"},
    )
    (folder / "mixed.jsonl").write_text("\n".join(map(json.dumps, concepts)))
    (folder / "p.md").write_text("| | 2024 |\n|--|--|\n| Dogs | 5 |\n")
    return folder / "mixed.jsonl"


@pytest.mark.parametrize("program", ["locus", "FHS-rules"])
def test_a_number_without_a_datatype_gets_a_concept_that_numbers_can_have(folder, program):
    made = Tagger(mixed(folder), program)
    tags = made.tag(folder / "p.md")
    assert (tags[0].fact.datatype, list(tags[0].ranking.ids)) == (None, ["NumberOfDogs", "Cash"])
    assert (tags.fell_back, tags.searched, len(tags.taxonomy)) == (1, 2, 4)
    trail = made.explain(folder / "p.md", tags[0].fact.fact_id)
    assert {r.candidates for r in trail.prediction.trace.rankings} == {2}


def test_words_without_a_datatype_may_get_any_concept(folder):
    context = SourceContext(context_id="c", text="<table></table>", modality="table")
    facts = [
        Fact(fact_id=value, value=value, context=context, modality="table", row_header="Dogs")
        for value in ("Labrador", "seven", "\u2014", "nil", "5")
    ]
    first = {t.fact.value: t.concept for t in Tagger(mixed(folder), each_fact=True).tag(facts)}
    assert first.pop("Labrador") in ("DogsTable", "DogsMember")
    assert set(first.values()) == {"NumberOfDogs"}


def as_jsonl(path, facts):
    lines = [
        {**f.model_dump(exclude={"context"}), "context_id": f.context.context_id,
         "source_context": f.context.text, "preceding_text": f.context.preceding_text}
        for f in facts
    ]  # fmt: skip
    path.write_text("\n".join(json.dumps({k: v for k, v in line.items() if v not in (None, "")})
                              for line in lines))  # fmt: skip
    return path


@pytest.mark.parametrize("program", ["locus", "FHS-rules", "precedents (own)"])
def test_the_same_facts_get_the_same_tags_however_they_come(folder, program):
    """From a page, a document that was read, facts, a facts file: some have no datatype, some share a row."""
    page = folder / "p.md"
    page.write_text(
        "Debt in 2024 was 66.\n\n| | 2024 | 2023 |\n|--|--|--|\n| Dogs | 5 | 4 |\n| Cash | $ 7 | $ 6 |\n"
        "| Turnover | 40 | 39 |\n"
    )
    made = Tagger(mixed(folder), program, [folder / "old.htm"] if "prec" in program else ())
    document = read_document(page)
    assert any(f.datatype is None for f in document.facts)
    file = as_jsonl(folder / "facts.jsonl", document.facts)
    ways = [made.tag(what) for what in (page, document, document.facts, iter(document.facts), file)]
    found = [[(t.fact.fact_id, list(t.ranking.ids), t.confidence, t.evidence) for t in tags] for tags in ways]
    assert all(tags == found[0] for tags in found[1:])
    assert [tags.of_document for tags in ways] == [True, True, False, False, False]


def test_facts_are_scored_by_their_gold(folder):
    facts = read_document(folder / "new.htm").facts[:4]
    file = as_jsonl(folder / "facts.jsonl", facts)
    assert "gold" not in file.read_text()
    tags = tagger(folder, "old.htm").tag(file)
    with pytest.raises(InputError, match="the facts 'facts' have no field 'gold'"):
        tags.score()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    golds = ["us-gaap:Revenues", "Cash", "Debt", "Unknown"]
    lines = [{**line, "gold": gold} for line, gold in zip(lines, golds, strict=True)]
    file.write_text("\n".join(map(json.dumps, lines)))
    score = tagger(folder, "old.htm").tag(file).score()
    assert (score.groups[0].facts, score.groups[0].recall[0], score.missing) == (3, 2 / 3, 1)


def test_one_fact_that_fails_ends_nothing(folder, monkeypatch):
    whole = PrecedentVote.forward

    def forward(self, fact):
        if fact.value == "70":
            raise RuntimeError("no luck")
        return whole(self, fact)

    monkeypatch.setattr(PrecedentVote, "forward", forward)
    seen = []
    made = tagger(folder, "old.htm", each_fact=True)
    tags = made.tag(folder / "new.htm", lambda done, total: seen.append((done, total)))
    (failed,) = tags.failed
    assert (failed.fact.value, failed.error, failed.concept) == ("70", "RuntimeError: no luck", "")
    assert (failed.score, failed.margin, failed.confidence) == (None, None, None)
    assert seen == [(i, 6) for i in range(1, 7)]
    assert {t.concept for t in tags} == {"", "Revenues", "Debt"}


def test_a_retriever_and_a_taxonomy_at_hand(folder):
    taxonomy = Taxonomy.load(folder / "concepts.jsonl")
    made = Tagger(taxonomy, retriever=BM25Retriever(taxonomy))
    assert [t.concept for t in made.tag(folder / "new.htm")] == [
        t.concept for t in tagger(folder).tag(folder / "new.htm")
    ]


def test_a_model_at_hand_or_of_the_context(folder, scripted):
    import dspy

    fact = read_document(folder / "new.htm").facts[:1]
    replies = {"generator": "{}", "verifier": "{}"}
    lm = scripted(**replies)
    with tagger(folder, program="FHS", lm=lm) as made:
        made.tag(fact)
    assert lm.asked
    other = scripted(**replies)
    with dspy.context(lm=other), tagger(folder, program="FHS") as made:
        made.tag(fact)
    assert other.asked


def test_a_vote_is_explained_by_its_precedents_not_as_concepts(folder):
    made = tagger(folder, "old.htm")
    fact = read_document(folder / "new.htm").facts[0]
    trail = made.explain(folder / "new.htm", fact.fact_id)
    forms = {q.form: r.candidates for q, r in zip(trail.prediction.trace.queries,
                                                  trail.prediction.trace.rankings, strict=True)}  # fmt: skip
    assert forms == {"precedents": 2, "locus": 4}
    assert trail.gold == "Revenues"


@pytest.mark.parametrize(
    ("options", "what", "message"),
    [
        ({}, "none.htm", "no such file"),
        ({}, "x.docx", "is none of .*jsonl.*facts.*htm.*documents.*save it as"),
        ({}, [], "there are no facts"),
        ({}, ["a"], "not a fact: 'a'"),
        ({"precedents": ["none.htm"]}, "new.htm", "no such file"),
        ({"precedents": ["p.md"]}, "new.htm", "no precedents file"),
        ({"program": "precedents (own)"}, "new.htm", "--precedents"),
        ({"program": "FHS"}, "new.htm", "language model"),
        ({"program": "probe: label"}, "new.htm", "is an oracle"),
        ({"calibration": "concepts.jsonl"}, "new.htm", r"concepts\.jsonl:2: is not JSON"),
        ({"schema": "nope"}, "new.htm", "no schema 'nope'"),
        ({"concurrency": 0}, "new.htm", "'concurrency': must be at least 1"),
        ({"taxonomy": "us-gaap-1999"}, "new.htm", "no taxonomy 'us-gaap-1999'"),
    ],
)
def test_bad_input_is_one_line(folder, monkeypatch, options, what, message):
    monkeypatch.chdir(folder)
    (folder / "p.md").write_text("| | 2024 |\n|--|--|\n| Cash | 5 |\n")
    (folder / "x.docx").write_bytes(b"PK")
    with pytest.raises(InputError, match=message) as caught:
        Tagger(**{"taxonomy": "concepts.jsonl", **options}).tag(what)
    assert "\n" not in str(caught.value)


def test_a_fact_that_is_not_there_cannot_be_explained(folder):
    with pytest.raises(InputError, match="no fact 'zzz'"):
        tagger(folder).explain(folder / "new.htm", "zzz")


def test_an_option_that_there_is_not_is_refused(folder):
    with pytest.raises(TypeError, match="skip_bda"):
        tagger(folder, "old.htm").tag(folder / "new.htm", skip_bda=True)
