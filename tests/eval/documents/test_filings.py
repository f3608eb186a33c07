"""The six whole filings of the data folder: every tagged value is found, with headers, in little memory."""

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from abduce.eval.documents.read import read_document
from abduce.eval.precedents import read_precedents

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "finance"
pytestmark = pytest.mark.skipif(
    not (DATA / "filings").is_dir(), reason="the data folder is not beside the project"
)

SAME = {"aapl-10q-2025-06": "F136", "nvda-10k-2025-01": "F157", "orcl-10q-2024-08": "F133"}
SAME |= {"txg-10k-2024-12": "F018", "unp-10k-2024-12": "F164"}
"""Filings of which some facts are in the evaluation sets."""


@pytest.fixture(scope="module")
def documents():
    return {p.name.split(".")[0]: read_document(p) for p in sorted((DATA / "filings").glob("*.htm.gz"))}


def test_tagged_values_in_tables_have_row_headers(documents):
    assert len(documents) == 6
    tagged = [f for d in documents.values() for f in d.facts if f.fact_id in d.gold and f.modality == "table"]
    assert len(tagged) > 5_000
    assert sum(bool(f.row_header) for f in tagged) / len(tagged) >= 0.97
    assert not any(d.counts["unlabelled"] > 5 for d in documents.values())


def test_companies_and_years(documents):
    assert {d.company for d in documents.values()} >= {"Apple Inc.", "NVIDIA CORP", "Oracle Corporation"}
    assert documents["ko-10q-2025-06"].taxonomy_year == "2025"


def test_headers_agree_with_the_evaluation_facts(documents):
    with gzip.open(DATA / "facts_test.jsonl.gz", "rt") as stream:
        facts = [json.loads(line) for line in stream]
    counts = Counter()
    for name, filing in SAME.items():
        document = documents[name]
        places = defaultdict(list)
        for fact in document.facts:
            places[fact.value, document.gold.get(fact.fact_id)].append(fact)
        for want in facts:
            if want["filing_id"] != filing or want["modality"] != "table":
                continue
            found = places[want["value"], want["gold"]]
            near = [f for f in found if (f.row_index, f.col_index) == (want["row_index"], want["col_index"])]
            counts["facts"] += 1
            counts["found"] += bool(near)
            counts["row"] += any(f.row_header == want["row_header"] for f in near)
            counts["innermost"] += any(
                f.row_header.split(" | ")[-1] == want["row_header"].split(" | ")[-1] for f in near
            )
            counts["column"] += any((f.column_header or "") == want["column_header"] for f in near)
    assert counts["facts"] > 250
    for part in ("found", "innermost", "column"):
        assert counts[part] / counts["facts"] >= 0.99, counts
    assert counts["row"] / counts["facts"] >= 0.95, counts


def test_a_filing_is_a_file_of_precedents():
    path = DATA / "filings" / "aapl-10q-2025-06.htm.gz"
    tagged = list(read_precedents(path))
    assert len(tagged) > 600
    assert all(t.fact.company == "Apple Inc." for t in tagged)
