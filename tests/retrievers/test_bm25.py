from __future__ import annotations

import math
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import abduce.retrievers
import numpy as np
import pytest
from abduce.retrievers.base import Retriever, Where
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.collection import Collection
from abduce.retrievers.corpus import Corpus
from abduce.retrievers.errors import InputError
from abduce.retrievers.taxonomy import Taxonomy
from abduce.retrievers.tokenize import tok
from abduce.signatures.types import Concept
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import WORDS, made_taxonomy, us_gaap


def brute_force(
    collection: Collection[Any], query: str, datatype: str | None, keep: Any, w_cov: float = 1.0
) -> list[tuple[float, ...]]:
    """SPEC section 2, written down as slowly as it reads: (-score, -label, -query, -bm25, id), ascending."""
    with_datatype = datatype is None
    chosen = [c for c in collection if datatype is None or collection.datatype(c) == datatype]
    docs = [Counter(tok(collection.document(c, with_datatype))) for c in chosen]
    average = sum(d.total() for d in docs) / len(docs)
    df = Counter(t for d in docs for t in d)
    q = set(tok(query))
    raw = []
    for d in docs:
        parts = [
            math.log(1 + (len(docs) - df[t] + 0.5) / (df[t] + 0.5))
            * d[t]
            / (d[t] + 1.5 * (0.25 + 0.75 * d.total() / average))
            for t in q
            if t in d
        ]
        raw.append(sum(parts))
    rows = [(c, r) for c, r in zip(chosen, raw, strict=True) if keep(c)]
    low, high = min(r for _, r in rows), max(r for _, r in rows)
    ranked = []
    for c, r in rows:
        label = set(tok(collection.heading(c)))
        cov_label, cov_query = len(q & label) / max(len(label), 1), len(q & label) / max(len(q), 1)
        norm = (r - low) / (high - low) if high > low else 1.0
        ranked.append((-(norm + w_cov * (cov_label + cov_query)), -cov_label, -cov_query, -r, c.id))
    return sorted(ranked)


def agree(ranking: Any, expected: list[tuple[float, ...]], k: int) -> None:
    """The same scores, and the same ids wherever scores are further apart than rounding."""
    expected = expected[:k]
    c = ranking.components
    columns = (ranking.scores, c["cov_label"], c["cov_query"], c["bm25"])
    keys = [tuple(-float(x) for x in row) for row in zip(*columns, strict=True)]
    assert [*zip(keys, ranking.ids, strict=True)] == sorted(zip(keys, ranking.ids, strict=True))
    np.testing.assert_allclose(ranking.scores, [-e[0] for e in expected], rtol=0, atol=1e-9)
    for place, (id_, e) in enumerate(zip(ranking.ids, expected, strict=True)):
        near = [x[-1] for x in expected if abs(x[0] - e[0]) < 1e-9]
        assert id_ == e[-1] or (id_ in near and len(near) > 1), (place, id_, e)


def test_equals_a_brute_force_over_the_whole_inventory(taxonomy: Taxonomy) -> None:
    retriever = BM25Retriever(taxonomy)
    rng = random.Random(3)
    chosen = rng.sample(taxonomy.ids, 6)
    for id_ in chosen:
        concept = taxonomy[id_]
        query = f"total {concept.label} at year end nosuchword"
        for datatype in (concept.datatype, None):
            [got] = retriever.search([query], 200, [Where(datatype)])
            agree(got, brute_force(taxonomy, query, datatype, lambda c: True), 200)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 5),
    words=st.lists(st.sampled_from([*WORDS, "unknown", "assetLiability"]), max_size=8),
    datatype=st.sampled_from(["monetaryItemType", "sharesItemType", None]),
    k=st.sampled_from([1, 3, 50, 1000]),
    filing=st.sampled_from([None, "F3"]),
    w_cov=st.sampled_from([0.0, 1.0, 2.5]),
)
def test_equals_a_brute_force_under_every_filter(
    seed: int, words: list[str], datatype: str | None, k: int, filing: str | None, w_cov: float
) -> None:
    taxonomy = made_taxonomy(60, seed)
    query = " ".join(words)
    where = Where(datatype, (("filing_id", filing),) if filing else ())
    [got] = BM25Retriever(taxonomy, w_cov=w_cov).search([query], k, [where])
    expected = brute_force(taxonomy, query, datatype, lambda c: c.metadata["filing_id"] != filing, w_cov)
    agree(got, expected, k)
    assert got.candidates == len(expected)
    assert len(got) == min(k, len(expected))


def sparse_taxonomy(n: int, seed: int) -> Taxonomy:
    """Concepts with common words, words of some and words of one or two; many score alike."""
    rng = random.Random(seed)
    rare = [f"rare{i}" for i in range(n)]
    common = WORDS[:4]
    concepts = []
    for i in range(n):
        label = [*rng.choices(common, k=rng.randint(0, 2)), *rng.choices(WORDS, k=1), *rng.choices(rare, k=1)]
        definition = [*rng.choices(common, k=2), *rng.choices(rare, k=rng.randint(0, 2))]
        datatype = rng.choice(["monetaryItemType", "sharesItemType"])
        filing = {"filing_id": f"F{i % 3}"}
        concepts.append(
            Concept(
                id=f"C{i:04d}",
                label=" ".join(label),
                definition=" ".join(definition),
                datatype=datatype,
                metadata=filing,
            )
        )
    return Taxonomy(concepts, "sparse")


@pytest.fixture(scope="module")
def sparse() -> list[Taxonomy]:
    return [sparse_taxonomy(n, seed) for seed, n in enumerate((63, 400, 640, 641))]


@settings(max_examples=80, deadline=None)
@given(data=st.data(), k=st.sampled_from([1, 2, 5, 10, 300]), w_cov=st.sampled_from([0.0, 0.3, 1.0]))
def test_equals_a_brute_force_for_rare_and_for_common_words(
    sparse: list[Taxonomy], data: st.DataObject, k: int, w_cov: float
) -> None:
    taxonomy = data.draw(st.sampled_from(sparse))
    rare = st.integers(0, len(taxonomy) - 1).map(lambda i: f"rare{i}")
    words = st.one_of(rare, st.sampled_from(WORDS[:4]), st.sampled_from([*WORDS, "unknown"]))
    query = " ".join(data.draw(st.lists(words, max_size=6)))
    filing = data.draw(st.sampled_from([None, "F1"]))
    datatype = data.draw(st.sampled_from([None, "sharesItemType"]))
    where = Where(datatype, (("filing_id", filing),) if filing else ())
    expected = brute_force(taxonomy, query, datatype, lambda c: c.metadata["filing_id"] != filing, w_cov)
    [got] = BM25Retriever(taxonomy, w_cov=w_cov).search([query], k, [where])
    agree(got, expected, k)
    assert len(got) == min(k, len(expected))


def test_one_retriever_leaves_nothing_behind_between_queries(sparse: list[Taxonomy]) -> None:
    """Common and rare words, filtered and not, one after the other on one scratch."""
    rng = random.Random(7)
    retriever = BM25Retriever(sparse[2], threads=1)
    pool = [*WORDS, *(f"rare{i}" for i in range(640))]
    for _ in range(60):
        query = " ".join(rng.choices(pool, k=rng.randint(0, 5)) + rng.choices(WORDS[:4], k=rng.randint(0, 3)))
        where = [rng.choice([None, Where("sharesItemType"), Where(None, (("filing_id", "F1"),))])]
        [used], [fresh] = (
            r.search([query], 10, where) for r in (retriever, BM25Retriever(sparse[2], threads=1))
        )
        assert used.ids == fresh.ids
        np.testing.assert_array_equal(used.scores, fresh.scores)


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
    np.testing.assert_allclose([ours[i] for i in ids], theirs, rtol=1e-12)


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
    assert ranked(same, "nothing known") == ["a", "b", "c"]


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
    if taxonomy is None:  # the same mechanism on made concepts: a short label drowned by longer documents
        concepts = [
            Concept(id="Assets", label="Assets", definition="sum " + "of the carrying amounts all " * 20)
        ]
        concepts += [Concept(id=f"Asset{i}", label=f"Asset {i}", definition="assets " * 3) for i in range(30)]
        taxonomy, names = Taxonomy(concepts), ["Assets"]
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
    assert inside.components["bm25"].tolist() == [0.0]


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
        assert raw == pytest.approx(2 * (one[id_] + more[id_]))
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
def test_a_query_without_a_known_token_ties_everything(made: Taxonomy, query: str) -> None:
    [got] = BM25Retriever(made).search([query], 5)
    assert got.ids == made.ids[:5]
    assert got.scores.tolist() == [1.0] * 5  # all equal: the range norm is 1, coverage 0


def test_a_megabyte_of_query(made: Taxonomy) -> None:
    words, blob = ("lease liability noise " * 50_000), "x" * 1_000_000
    retriever = BM25Retriever(made)
    long, plain, unbroken = retriever.search([words, "lease liability noise", blob], 10)
    assert long.ids == plain.ids
    assert unbroken.ids == made.ids[:10]


def test_k_beyond_the_inventory_returns_everything(made: Taxonomy) -> None:
    [got] = BM25Retriever(made).search(["tax"], 10**6)
    assert sorted(got.ids) == made.ids


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


def test_documents_without_a_single_token_are_searchable() -> None:
    assert ranked([Concept(id="b", label="---"), Concept(id="a", label="+++")], "cash") == ["a", "b"]


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
