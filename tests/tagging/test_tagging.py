"""Tags come one by one, in order; a file of tags is whole or not there."""

import csv
import json

import pytest
from abduce import InputError, Tagger, Taxonomy
from abduce.retrievers.bm25 import BM25Retriever
from abduce.tagging.tags_file import COLUMNS

CONCEPTS = ["Assets", "Cash", "Debt"]


@pytest.fixture
def facts(tmp_path):
    """Six facts; the second and the fifth share their evidence."""
    (tmp_path / "concepts.csv").write_text("id,label\n" + "".join(f"{c},{c}\n" for c in CONCEPTS))
    headers = ["Assets", "Cash", "Debt", "Assets now", "Cash", "Debt then"]
    rows = [
        {
            "fact_id": f"f{i}",
            "value": str(i),
            "context_id": "c",
            "row_header": header,
            "column_header": str(2020 + i),
            "source_context": "a table",
            "modality": "table",
        }
        for i, header in enumerate(headers)
    ]
    path = tmp_path / "facts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


class Watched(BM25Retriever):
    """Counts searches, and ends the run at one of them."""

    searches = 0
    until = 99

    def search(self, queries, k, where=None):
        self.searches += 1
        if self.searches > self.until:
            raise InputError("the server is away")
        return super().search(queries, k, where)


def watched(folder, until=99):
    made = Watched(Taxonomy.load(folder / "concepts.csv"))
    made.searches, made.until = 0, until
    return made


def tagger(facts, retriever=None):
    return Tagger(facts.parent / "concepts.csv", "locus", retriever=retriever)


def test_a_tag_is_there_before_the_next_fact_is_asked_about(facts):
    retriever = watched(facts.parent)
    tags = iter(tagger(facts, retriever).start(facts))
    seen = [(next(tags).fact.fact_id, retriever.searches) for _ in range(6)]
    assert [i for i, _ in seen] == [f"f{i}" for i in range(6)]
    each = seen[0][1]
    assert each >= 1
    # the fifth fact shares the evidence of the second, and is not asked about
    assert [n for _, n in seen] == [each * n for n in (1, 2, 3, 4, 4, 5)]


def test_the_tags_are_those_of_a_whole_tagging(facts):
    made = tagger(facts)
    whole = made.tag(facts)
    assert [(t.fact.fact_id, t.concept) for t in made.start(facts)] == [
        (t.fact.fact_id, t.concept) for t in whole
    ]
    assert [t.concept for t in whole] == ["Assets", "Cash", "Debt", "Assets", "Cash", "Debt"]


def test_the_command_writes_what_to_csv_writes_and_leaves_nothing_beside(cli, facts):
    out = facts.parent / "tags.csv"
    ran = cli("tag", facts, "--taxonomy", facts.parent / "concepts.csv", "--program", "locus", "--out", out)
    assert ran.code == 0
    made = facts.parent / "made.csv"
    tagger(facts).tag(facts).to_csv(made)
    assert out.read_bytes() == made.read_bytes()
    assert list(facts.parent.glob("*.part")) == []


@pytest.mark.parametrize(("until", "left"), [(0, 0), (3, 3)])
def test_what_ends_on_the_way_leaves_the_old_file_and_the_lines_that_were_done(
    cli, facts, monkeypatch, until, left
):
    out = facts.parent / "tags.csv"
    out.write_text("of yesterday\n")
    real = BM25Retriever.search
    asked = []

    def search(self, queries, k, where=None):
        asked.append(queries)
        if len(asked) > until:
            raise InputError("the server is away")
        return real(self, queries, k, where)

    monkeypatch.setattr(BM25Retriever, "search", search)
    ran = cli("tag", facts, "--taxonomy", facts.parent / "concepts.csv", "--program", "locus", "--out", out)
    assert ran.code == 2
    assert out.read_text() == "of yesterday\n"
    parts = list(facts.parent.glob("tags.csv.*.part"))
    assert len(parts) == bool(left)
    if left:
        assert f"stopped after {left} of 6 facts: their tags stand in {parts[0]}" in " ".join(ran.err.split())
        with parts[0].open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert [r["fact_id"] for r in rows] == [f"f{i}" for i in range(left)]
        assert list(rows[0]) == list(COLUMNS)
