"""The engines that retrieval is measured against, each answering a batch of token lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Tokens = Sequence[str]
Answer = Callable[[Sequence[Tokens]], object]


def bm25s_numba(documents: Sequence[Tokens], k: int, threads: int = 1) -> Answer:
    """bm25s with its compiled backend: BM25 alone."""
    import bm25s

    engine = bm25s.BM25(k1=1.5, b=0.75, method="lucene", backend="numba")
    engine.index([list(d) for d in documents], show_progress=False)

    def answer(queries: Sequence[Tokens]) -> object:
        return engine.retrieve([list(q) for q in queries], k=k, show_progress=False, n_threads=threads)

    return answer


def tantivy_ram(documents: Sequence[Tokens], k: int) -> Answer:
    """tantivy, in memory, one segment; a query is the disjunction of its terms (block-max WAND)."""
    import tantivy

    schema = tantivy.SchemaBuilder().add_text_field("body", stored=False, tokenizer_name="whitespace").build()
    index = tantivy.Index(schema)
    writer = index.writer(heap_size=512_000_000, num_threads=1)
    for d in documents:
        writer.add_document(tantivy.Document(body=" ".join(d)))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    should, term, boolean = tantivy.Occur.Should, tantivy.Query.term_query, tantivy.Query.boolean_query

    def answer(queries: Sequence[Tokens]) -> object:
        return [
            searcher.search(boolean([(should, term(schema, "body", t)) for t in q]), k, count=False).hits
            for q in queries
        ]

    return answer


def rank_bm25_okapi(documents: Sequence[Tokens], k: int) -> Answer:
    """rank_bm25: BM25 in plain Python and numpy."""
    from rank_bm25 import BM25Okapi

    engine = BM25Okapi([list(d) for d in documents], k1=1.5, b=0.75)

    def answer(queries: Sequence[Tokens]) -> object:
        return [np.argsort(-engine.get_scores(list(q)))[:k] for q in queries]

    return answer
