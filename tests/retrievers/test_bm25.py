from __future__ import annotations

import math
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import abduce.retrievers
import numpy as np
import pytest
from abduce.retrievers.base import Retriever, Where
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.corpus import Corpus
from abduce.retrievers.errors import InputError
from abduce.retrievers.taxonomy import Taxonomy
from abduce.retrievers.tokenize import tok
from abduce.signatures.types import Concept
from bm25_oracle import agree, brute_force

from .conftest import WORDS, us_gaap


def test_weights_are_those_of_bm25s(made: Taxonomy) -> None:
    import bm25s

    engine = bm25s.BM25(k1=1.2, b=0.6, method="lucene", dtype="float64")
    documents = [tok(made.document(c)) for c in made if c.datatype == "sharesItemType"]
    engine.index(documents, show_progress=False)
    retriever = BM25Retriever(made, k1=1.2, b=0.6)
    query = "deferred tax revenue"
    [got] = retriever.search([query], len(documents), [Where("sharesItemType")])
    theirs = engine.get_scores(sorted(set(tok(query))))
    ids = [c.id for c in made if c.datatype == "sharesItemType"]
    ours = dict(zip(got.ids, got.components["bm25"], strict=True))
    np.testing.assert_allclose([ours.get(i, 0.0) for i in ids], theirs, rtol=1e-12)


def test_coverage_by_hand() -> None:
    concepts = [
        Concept(id="A", label="Lease Liability Current", definition="amount due"),
        Concept(id="B", label="Liability", definition="lease"),
    ]
    [got] = BM25Retriever(Taxonomy(concepts)).search(["lease liability schedule note"], 2)
    parts = {hit.id: hit.components for hit in got}
    # tok: lease, liability, schedule, note. A's label has 3 tokens, 2 of them asked for; B's has 1.
    assert parts["A"]["cov_label"] == pytest.approx(2 / 3)
    assert parts["A"]["cov_query"] == pytest.approx(2 / 4)
    assert parts["B"]["cov_label"] == 1.0
    assert parts["B"]["cov_query"] == pytest.approx(1 / 4)
    for hit in got:
        c = hit.components
        assert hit.score == pytest.approx(c["bm25_norm"] + c["cov_label"] + c["cov_query"])


def ranked(concepts: list[Concept], query: str, **settings: Any) -> list[str]:
    return list(BM25Retriever(Taxonomy(concepts), **settings).search([query], 10)[0].ids)


def test_equal_documents_rank_by_id() -> None:
    same = [Concept(id=i, label="Cash", definition="held") for i in ("c", "a", "b")]
    assert ranked(same, "cash") == ["a", "b", "c"]
    assert ranked(same, "nothing known") == []


def test_a_tied_score_falls_to_label_coverage() -> None:
    # No weight on coverage and equal BM25 (same tokens, same length): only the tie order can tell them apart.
    a = Concept(id="a", label="Debt", definition="cash equity")
    b = Concept(id="b", label="Cash", definition="debt equity")
    assert ranked([a, b], "cash", w_cov=0.0) == ["b", "a"]


def test_a_tied_score_and_label_coverage_fall_to_query_coverage() -> None:
    # Both labels are covered whole; b's covers two words of the query.
    a = Concept(id="a", label="Cash", definition="debt equity")
    b = Concept(id="b", label="Cash Debt", definition="equity")
    assert ranked([a, b], "cash debt", w_cov=0.0) == ["b", "a"]


def test_a_tied_score_and_coverage_fall_to_raw_bm25() -> None:
    # The document with the top BM25 has no label word of the query: 1 + 0 = 1. The other's words are
    # covered in label and query by 1/2 each and its BM25 is the lowest: 0 + 1/2 + 1/2 = 1. Coverage decides
    # first; with w_cov = 0 and both uncovered, raw BM25 equals the score, so the order is BM25's.
    top = Concept(id="z", label="Equity", definition="cash cash cash")
    low = Concept(id="a", label="Debt", definition="cash held in a long text of other words")
    assert ranked([top, low], "cash", w_cov=0.0) == ["z", "a"]


def test_label_alone_needs_coverage() -> None:
    taxonomy = us_gaap()
    names = "Assets Liabilities Revenues Goodwill Depreciation".split()
    for w_cov, first in ((1.0, True), (0.0, False)):
        retriever = BM25Retriever(taxonomy, w_cov=w_cov)
        where = [Where(taxonomy[n].datatype) for n in names]
        rankings = retriever.search([taxonomy[n].label for n in names], 200, where)
        assert [r.ids[0] == n for r, n in zip(rankings, names, strict=True)] == [first] * len(names)


def test_regulatory_assets_current_comes_second_with_coverage(us_gaap) -> None:  # type: ignore[no-untyped-def]
    concept = us_gaap["RegulatoryAssetsCurrent"]
    with_coverage, without = (
        BM25Retriever(us_gaap, w_cov=w).search([concept.label], 200, [Where(concept.datatype)])[0]
        for w in (1.0, 0.0)
    )
    assert list(with_coverage.ids[:2]) == ["RegulatoryAssets", "RegulatoryAssetsCurrent"]
    assert without.ids[0] != "RegulatoryAssetsCurrent"


def test_a_datatype_filter_keeps_only_that_datatype(made: Taxonomy) -> None:
    [got] = BM25Retriever(made).search(["tax"], 1000, [Where("sharesItemType")])
    assert {made[i].datatype for i in got.ids} == {"sharesItemType"}
    assert got.candidates == made.datatypes["sharesItemType"]
    assert not got.fell_back


@pytest.mark.parametrize("datatype", [None, "nosuchItemType", "monetaryitemtype"])
def test_an_unusable_datatype_falls_back_to_everything_and_says_so(
    made: Taxonomy, datatype: str | None
) -> None:
    [got] = BM25Retriever(made).search(["tax"], 10, [Where(datatype)])
    assert got.fell_back
    assert got.candidates == len(made)


def test_no_filter_and_an_inventory_without_datatypes_are_no_fall_back(
    made: Taxonomy, passages: Corpus
) -> None:
    assert not BM25Retriever(made).search(["tax"], 10)[0].fell_back
    assert not BM25Retriever(passages).search(["tax"], 10, [Where(None)])[0].fell_back
    assert BM25Retriever(passages).search(["tax"], 10, [Where("monetaryItemType")])[0].fell_back


def test_the_full_index_knows_the_datatype_words() -> None:
    concepts = [
        Concept(id="a", label="Cash", datatype="monetaryItemType"),
        Concept(id="b", label="Cash", datatype="sharesItemType"),
    ]
    retriever = BM25Retriever(Taxonomy(concepts))
    assert retriever.search(["cash shares"], 2)[0].ids[0] == "b"
    [inside] = retriever.search(["monetary"], 2, [Where("monetaryItemType")])
    assert list(inside.ids) == []  # no document of that datatype's index holds the word


def test_repeats_in_a_query_count_once(made: Taxonomy) -> None:
    once, often = BM25Retriever(made).search(["tax lease", "tax lease tax TAX leases"], 50)
    assert once.ids == often.ids
    np.testing.assert_array_equal(once.scores, often.scores)


@pytest.mark.parametrize("datatype", [None, "sharesItemType"])
def test_repeats_can_be_counted_as_lucene_does(made: Taxonomy, datatype: str | None) -> None:
    where, n = [Where(datatype)], len(made)
    once = BM25Retriever(made).search(["tax lease"], n, where)[0]
    [twice] = BM25Retriever(made, repeats=True).search(["tax lease tax"], n, where)
    [tax] = BM25Retriever(made).search(["tax"], n, where)
    one, more = (dict(zip(r.ids, r.components["bm25"], strict=True)) for r in (once, tax))
    for id_, raw in zip(twice.ids, twice.components["bm25"], strict=True):
        # tok gives every plain word twice (itself and its camel-case split), so all is doubled
        assert raw == pytest.approx(2 * (one[id_] + more.get(id_, 0.0)))
    label = dict(zip(once.ids, once.components["cov_query"], strict=True))
    assert [label[i] for i in twice.ids] == list(twice.components["cov_query"])


def test_a_batch_on_threads_equals_single_queries(made: Taxonomy) -> None:
    rng = random.Random(5)
    queries = [" ".join(rng.choices(WORDS, k=rng.randint(0, 9))) for _ in range(500)]
    where = [
        rng.choice([None, Where("sharesItemType"), Where(None, (("filing_id", "F1"),))]) for _ in queries
    ]
    retriever = BM25Retriever(made, threads=2)
    batch = retriever.search(queries, 20, where)
    for query, w, got in zip(queries, where, batch, strict=True):
        [alone] = retriever.search([query], 20, [w])
        assert alone.ids == got.ids
        np.testing.assert_array_equal(alone.scores, got.scores)


@pytest.mark.parametrize("query", ["", "   ", "!!!", "the of and", "zzzz qqqq", "漢字"])
def test_a_query_without_a_known_token_finds_nothing(made: Taxonomy, query: str) -> None:
    for where in (None, [Where("sharesItemType")], [Where(None, (("filing_id", "F1"),))]):
        [got] = BM25Retriever(made).search([query], 5, where)
        assert list(got.ids) == []
        assert len(got.scores) == 0
        assert got.candidates > 0


def test_a_megabyte_of_query(made: Taxonomy) -> None:
    words, blob = ("lease liability noise " * 50_000), "x" * 1_000_000
    retriever = BM25Retriever(made)
    long, plain, unbroken = retriever.search([words, "lease liability noise", blob], 10)
    assert long.ids == plain.ids
    assert list(unbroken.ids) == []


def test_k_beyond_the_inventory_ranks_it_whole(made: Taxonomy) -> None:
    [got] = BM25Retriever(made).search(["tax"], 10**6)
    assert sorted(got.ids) == made.ids


def test_a_passage_without_a_word_of_the_query_is_not_returned(passages: Corpus) -> None:
    for w_cov in (0.0, 1.0):
        [got] = BM25Retriever(passages, w_cov=w_cov).search(["tax nosuchword"], 1000)
        assert sorted(got.ids) == [p.id for p in passages if "tax" in tok(passages.document(p))]
        assert 0 < len(got) < len(passages)


def test_bad_calls_are_refused(made: Taxonomy) -> None:
    retriever = BM25Retriever(made)
    with pytest.raises(ValueError, match="at least 1"):
        retriever.search(["a"], 0)
    with pytest.raises(ValueError, match="one per query"):
        retriever.search(["a"], 1, [])
    with pytest.raises(ValueError, match="list of texts"):
        retriever.search("a", 1)
    infinite = ({"w_cov": math.inf}, {"k1": math.inf})
    for settings_ in (
        {"k1": -1.0},
        {"b": 1.5},
        {"w_cov": -0.1},
        {"w_cov": math.nan},
        {"threads": 0},
        *infinite,
    ):
        with pytest.raises(ValueError):
            BM25Retriever(made, **settings_)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="lucene-porter"):
        BM25Retriever(made, tokenizer="nosuch")
    assert retriever.search([], 5) == []
    assert isinstance(retriever, Retriever)


@pytest.mark.parametrize("k1", [1e300, 0.0])
def test_extreme_constants_rank_like_any_other(made: Taxonomy, k1: float) -> None:
    [got] = BM25Retriever(made, k1=k1).search(["tax lease"], 500)
    assert sorted(got.ids) == made.ids
    assert np.isfinite(got.scores).all()


def test_documents_without_a_single_token_come_last() -> None:
    wordless = [Concept(id="b", label="---"), Concept(id="a", label="+++")]
    assert ranked(wordless, "cash") == []
    assert ranked([*wordless, Concept(id="c", label="Cash")], "cash") == ["c", "a", "b"]


def test_passages_are_ranked_by_content_and_title(passages: Corpus) -> None:
    wanted = passages["p050"]
    [got] = BM25Retriever(passages, w_cov=0.0).search([wanted.content], 3)
    assert got.ids[0] == "p050"
    agree(
        BM25Retriever(passages).search([wanted.title], 50)[0],
        brute_force(passages, wanted.title, None, lambda p: True),
        50,
    )


def test_runs_from_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    """The compiled kernel is kept elsewhere, or in memory, where the package folder is read-only."""
    root = tmp_path / "site"
    (root / "abduce").mkdir(parents=True)
    packages = Path(abduce.retrievers.__file__).resolve().parent
    for name in ("retrievers", "signatures"):
        shutil.copytree(
            packages.parent / name, root / "abduce" / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    (root / "abduce" / "__init__.py").write_text("")
    home = tmp_path / "home"
    home.write_text("a file, so that no cache folder can be made inside")
    for folder in (root / "abduce" / "retrievers", root / "abduce" / "signatures"):
        (folder / "__pycache__").write_text("in the way of a cache folder, for root too")
    script = (
        "from abduce.retrievers.bm25 import BM25Retriever; from abduce.retrievers.taxonomy import Taxonomy;"
        "from abduce.signatures.types import Concept;"
        "print(BM25Retriever(Taxonomy([Concept(id='a', label='cash')])).search(['cash'], 1)[0].ids)"
    )
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG", "PYTHON"))}
    env |= {"PYTHONPATH": str(root), "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "['a']", done.stderr
