"""Every ranking equals a brute force, over real and made inventories, filtered and not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from abduce.retrievers import bm25
from abduce.retrievers.base import Where
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.types import Concept
from bm25_oracle import agree, brute_force, passing
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import WORDS, made_taxonomy


@pytest.fixture(params=[0, 10**9], ids=["compiled", "not compiled"], autouse=True, scope="module")
def each_pass(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both passes over the postings: the compiled one, and that of a process's first queries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bm25, "WARM", request.param)
        yield


def test_equals_a_brute_force_over_the_whole_inventory(taxonomy: Taxonomy) -> None:
    retriever = BM25Retriever(taxonomy)
    rng = random.Random(3)
    chosen = rng.sample(taxonomy.ids, 6)
    for id_ in chosen:
        concept = taxonomy[id_]
        query = f"total {concept.label} at year end nosuchword"
        for datatype in (concept.datatype, None):
            [got] = retriever.search([query], 200, [Where(datatype)])
            expected = brute_force(taxonomy, query, datatype, lambda c: True)
            agree(got, expected, 200)
            assert got.candidates == passing(taxonomy, datatype, lambda c: True)


@settings(max_examples=60)
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
    assert got.candidates == passing(taxonomy, datatype, lambda c: c.metadata["filing_id"] != filing)
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


@settings(max_examples=80)
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


def test_the_first_queries_of_a_process_are_ranked_as_the_later_ones_bit_for_bit(
    sparse: list[Taxonomy],
) -> None:
    rng = random.Random(5)
    queries = [" ".join(rng.choices([*WORDS, "rare1", "rare7", "unknown"], k=n)) for n in (0, 1, 2, 9, 40)]
    filing = (("filing_id", "F2"),)
    wheres = [None, Where("sharesItemType"), Where(None, filing), Where("monetaryItemType", filing)]

    def ranked(taxonomy: Taxonomy, repeats: bool, k: int) -> list[tuple[object, ...]]:
        retriever = BM25Retriever(taxonomy, repeats=repeats)
        rankings = [r for w in wheres for r in retriever.search(queries, k, [w] * len(queries))]
        return [
            (r.ids, r.candidates, *(x.tobytes() for x in (r.scores, *r.components.values())))
            for r in rankings
        ]

    for case in product(sparse, (False, True), (1, 7, 200, 10_000)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bm25, "WARM", 0)
            compiled = ranked(*case)
            patch.setattr(bm25, "WARM", 10**9)
            assert ranked(*case) == compiled
