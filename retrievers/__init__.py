"""Query to ranking: taxonomies, BM25 with label coverage, and the retrievers behind one protocol."""
