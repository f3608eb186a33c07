"""BM25 with label coverage, one index per datatype (paper: D.3).

``s(q, c) = bm25^(q, c) + w_cov * (cov_label + cov_query)``, where ``bm25^`` is the BM25 score
range-normalised over every document that passes the filter. bm25s computes the term weights. One pass over
the postings adds them up, counts label overlap, scores and ranks; it is compiled once a process has many
queries.
"""

from __future__ import annotations

import itertools
import math
import os
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .base import Ranking, Where, check_search
from .collection import Collection
from .columns import TextColumn
from .errors import InputError
from .filters import applied_datatype, excluded, fell_back
from .numbering import QueryNumbers
from .postings import Longs, Postings, TokenLists
from .remade import Remade
from .store import Stored, open_index, trusting, writing
from .tokenize import Tokenizer, tokenizer_hash, tokenizer_named

_ARRAYS = {
    "rows": "int64",
    "indptr": "int64",
    "indices": "int32",
    "weights": "float64",
    "label_indptr": "int64",
    "label_indices": "int32",
    "label_lengths": "int32",
}
_CHUNK = 64
"""Queries that one call of the kernel answers at most."""
_SHARED = 16
"""A batch of at least so many queries is shared out between threads."""
_SHARES = 4
"""Chunks a thread: enough that none waits long for the last one."""


@dataclass(frozen=True)
class _Index:
    """Postings with the ids of their documents, and the kernel's arrays."""

    postings: Postings
    ids: Any
    arrays: tuple[npt.NDArray[Any], ...]


WARM = 300
"""Small batches that a process answers before it loads the compiled pass: loading it (and, the first time on
a machine, compiling it) takes longer than they do."""

_answered = itertools.count(1)


def _pass(queries: int) -> Callable[..., None]:
    """The pass over the postings for a batch of this size: compiled, except for the first batches of a
    process.
    """
    if queries < _SHARED and next(_answered) <= WARM:
        from ._unbuilt import rank_batch as plain

        return plain
    from ._kernel import rank_batch

    return rank_batch


class BM25Retriever(Remade):
    """The shared first stage of every method.

    Args:
        collection: the taxonomy (or corpus of passages) to search.
        k1, b: BM25's constants, ``k1 >= 0`` and ``0 <= b <= 1``.
        w_cov: weight of the two label-coverage terms, at least 0; for passages, of the title's.
        tokenizer: the tokenizer of queries, documents and labels, or its name
            (:data:`~abduce.retrievers.tokenize.TOKENIZERS`).
        threads: the number of threads per batch; None: one per processor. Small batches use one.
        repeats: count repeated query tokens each time, as Lucene does; default: once.

    A ranking's score components are ``bm25`` (raw), ``bm25_norm``, ``cov_label`` and ``cov_query``. Order:
    score, label coverage, query coverage, raw BM25, then id. A query that shares no token with any document
    finds nothing. Otherwise ``k`` concepts of a taxonomy are ranked, and those that share no token with the
    query come last; passages that share none are not returned. In the index over everything, a document's
    tokens are those of its datatype followed by those of its text.

    Raises:
        ValueError: a setting out of range.
        InputError: an unknown tokenizer.
    """

    def __init__(
        self,
        collection: Collection[Any],
        k1: float = 1.5,
        b: float = 0.75,
        w_cov: float = 1.0,
        tokenizer: str | Tokenizer = "tok",
        threads: int | None = None,
        repeats: bool = False,
    ) -> None:
        if not (0 <= k1 < math.inf and 0 <= b <= 1 and 0 <= w_cov < math.inf):
            raise ValueError(f"need k1 >= 0, 0 <= b <= 1, w_cov >= 0; not k1={k1}, b={b}, w_cov={w_cov}")
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self.collection = collection
        self.k1, self.b, self.w_cov, self.repeats = k1, b, w_cov, repeats
        self.threads = threads or os.cpu_count() or 1
        self.tokenizer_name = tokenizer if isinstance(tokenizer, str) else ""
        self.tokenizer: Tokenizer = tokenizer_named(tokenizer) if isinstance(tokenizer, str) else tokenizer
        self._vocabulary: Mapping[str, int] | None = None
        self._tables: tuple[TokenLists, TokenLists] | None = None
        self._stored: dict[str | None, Postings] = {}
        self._indexes: dict[str | None, _Index] = {}
        self._lock = threading.RLock()
        self._spare: list[tuple[Any, ...]] = []

    @property
    def taxonomy(self) -> Collection[Any]:
        """The searched taxonomy or corpus."""
        return self.collection

    @property
    def vocabulary(self) -> Mapping[str, int]:
        """Every known token and its number."""
        if self._vocabulary is None:
            self._tokenise()
        assert self._vocabulary is not None
        return self._vocabulary

    @cached_property
    def _numbers(self) -> QueryNumbers:
        return QueryNumbers(self.tokenizer, self.vocabulary)

    def postings(self, datatype: str | None) -> Postings:
        """The postings of one datatype, or of everything (None); built on first use."""
        return self._index(datatype).postings

    def save(self, folder: str | Path, overwrite: bool = False) -> None:
        """Write everything that :meth:`open` needs into an index folder (:mod:`.store`).

        Raises:
            InputError: the folder exists or cannot be written.
        """
        with writing(folder, overwrite) as files:
            files.collection(self.collection)
            datatypes = [None, *sorted(self.collection.datatypes)]
            parts = [self.postings(d) for d in datatypes]
            for name in _ARRAYS:
                files.array(name, np.concatenate([getattr(p, name) for p in parts]))
            files.texts("vocabulary", TextColumn.of(self.vocabulary))
            files.manifest["tokenizer"] = {
                "name": self.tokenizer_name,
                "hash": tokenizer_hash(self.tokenizer),
            }
            files.manifest["segments"] = [
                {
                    "datatype": d,
                    "documents": len(p.rows),
                    "postings": len(p.indices),
                    "label_postings": len(p.label_indices),
                }
                for d, p in zip(datatypes, parts, strict=True)
            ]
            files.finish("bm25", {"k1": self.k1, "b": self.b, "w_cov": self.w_cov, "repeats": self.repeats})

    @classmethod
    def open(
        cls,
        folder: str | Path,
        w_cov: float | None = None,
        tokenizer: str | Tokenizer | None = None,
        threads: int | None = None,
    ) -> BM25Retriever:
        """Open an index folder; its arrays are memory-mapped.

        Args:
            folder: a folder written by :meth:`save`.
            w_cov: replaces the stored coverage weight.
            tokenizer: required if the index was built with an unnamed tokenizer; it must give the same
                tokens.
            threads: see the constructor.

        Raises:
            InputError: the folder is not a valid BM25 index, or the tokenizer differs.
        """
        stored = open_index(folder, "bm25")
        with trusting(folder):
            return cls._opened(stored, w_cov, tokenizer, threads)

    @classmethod
    def _opened(
        cls, stored: Stored, w_cov: float | None, tokenizer: str | Tokenizer | None, threads: int | None
    ) -> BM25Retriever:
        folder = stored.folder
        about, parameters = stored.manifest["tokenizer"], stored.parameters
        chosen = tokenizer or about["name"]
        if not chosen:
            raise InputError("was built with a tokenizer of the user's own; give it", file=folder)
        w_cov = parameters["w_cov"] if w_cov is None else w_cov
        constants = parameters["k1"], parameters["b"], w_cov
        made = cls(stored.collection(), *constants, chosen, threads, bool(parameters["repeats"]))
        if tokenizer_hash(made.tokenizer) != about["hash"]:
            raise InputError("was built with another tokenizer; build the index again", file=folder)
        made._vocabulary = {token: i for i, token in enumerate(stored.texts("vocabulary"))}
        arrays = {name: stored.take(name, dtype) for name, dtype in _ARRAYS.items()}
        starts = dict.fromkeys(_ARRAYS, 0)
        for segment in stored.manifest["segments"]:
            lengths = dict.fromkeys(("rows", "label_lengths"), segment["documents"])
            lengths |= dict.fromkeys(("indices", "weights"), segment["postings"])
            lengths |= {"label_indices": segment["label_postings"]}
            lengths |= dict.fromkeys(("indptr", "label_indptr"), len(made._vocabulary) + 1)
            parts = {a: arrays[a][starts[a] : starts[a] + lengths[a]] for a in _ARRAYS}
            starts = {a: starts[a] + lengths[a] for a in _ARRAYS}
            postings = Postings(**parts)
            if not postings.sound(len(made.collection)):
                raise InputError("its postings do not fit together; build the index again", file=folder)
            made._stored[segment["datatype"]] = postings
        return made

    def search(
        self, queries: Sequence[str], k: int, where: Sequence[Where | None] | None = None
    ) -> list[Ranking]:
        """Rank documents for each query; see :class:`~abduce.retrievers.base.Retriever`.

        Batches of 16 queries or more are answered by several threads.
        """
        check_search(queries, k, where)
        filters: Sequence[Where | None] = [None] * len(queries) if where is None else where
        groups: defaultdict[tuple[str | None, tuple[tuple[str, str], ...]], list[int]] = defaultdict(list)
        for i, w in enumerate(filters):
            key = (None, ()) if w is None else (applied_datatype(self.collection, w), w.exclude)
            groups[key].append(i)
        threads = self.threads if len(queries) >= _SHARED else 1
        size = _CHUNK if threads == 1 else min(_CHUNK, -(-len(queries) // (threads * _SHARES)))
        jobs: deque[tuple[_Index, Any, list[int]]] = deque()
        for (datatype, exclude), members in groups.items():
            index = self._index(datatype)
            allowed = np.zeros(0, dtype=np.bool_)
            if exclude:
                allowed = ~excluded(self.collection, exclude)[index.postings.rows]
            chunks = (members[i : i + size] for i in range(0, len(members), size))
            jobs.extend((index, allowed, chunk) for chunk in chunks)
        fell = [fell_back(self.collection, w) for w in filters]
        answers: list[Ranking | None] = [None] * len(queries)

        def work() -> None:
            while jobs:
                try:
                    job = jobs.popleft()
                except IndexError:  # another thread took the last one
                    return
                for i, ranking in zip(job[2], self._answer(queries, k, fell, *job), strict=True):
                    answers[i] = ranking

        helpers = min(threads, len(jobs)) - 1
        if helpers > 0:
            with ThreadPoolExecutor(helpers) as pool:
                others = [pool.submit(work) for _ in range(helpers)]
                work()
                for other in others:
                    other.result()
        else:
            work()
        return [a for a in answers if a is not None]

    def _answer(
        self,
        queries: Sequence[str],
        k: int,
        fell: Sequence[bool],
        index: _Index,
        allowed: Any,
        members: list[int],
    ) -> Iterable[Ranking]:
        """Rankings of the queries ``members``, which search the same documents."""
        rank_batch = _pass(len(queries))
        postings = index.postings
        numbered = self._numbers.repeated if self.repeats else self._numbers.distinct
        n = len(postings.label_lengths)
        k = min(k, n)
        q = len(members)
        flat: list[int] = []
        starts, n_query = np.zeros(q + 1, dtype=np.int64), np.zeros(q, dtype=np.int64)
        for place, i in enumerate(members):
            known, n_query[place] = numbered(queries[i])
            flat.extend(known)
            starts[place + 1] = len(flat)
        tokens = np.array(flat, dtype=np.int32)
        counts = np.zeros((q, 2), dtype=np.int64)
        found = np.zeros((q, k), dtype=np.int32)  # places past the count stay 0
        columns = np.empty((q, 5, k))
        buffers = self._buffers(n)
        rank_batch(
            tokens, starts, n_query, index.arrays, allowed, self.w_cov, k, buffers, counts, found, columns
        )
        self._spare.append(buffers)  # not where the kernel raised: its scratch is in disorder then
        candidates = int(allowed.sum()) if allowed.size else n
        whole = self.collection.ranked_whole
        for i, numbers, parts, (count, hits) in zip(members, found, columns, counts.tolist(), strict=True):
            if hits == 0 or not whole:
                count = hits
            scores, norm, cov_label, cov_query, raw = parts[:, :count]
            yield Ranking(
                index.ids[numbers[:count]].tolist(),
                scores,
                {"bm25": raw, "bm25_norm": norm, "cov_label": cov_label, "cov_query": cov_query},
                candidates,
                fell[i],
            )

    def _buffers(self, n: int) -> tuple[Any, ...]:
        """Scratch of at least n elements, the first two arrays zeroed; the kernel zeroes them again."""
        while self._spare:
            try:
                buffers = self._spare.pop()
            except IndexError:  # another thread took the last one
                break
            if len(buffers[0]) >= n:
                return buffers
        n = max([n, *(len(index.ids) for index in list(self._indexes.values()))])
        return (
            np.zeros(n),
            np.zeros(n, dtype=np.int32),
            np.empty(n, dtype=np.int32),
            np.empty(n),
            np.empty(n, dtype=np.int32),
            np.empty(n, dtype=np.int32),
            np.empty(2048, dtype=np.int32),
        )

    def _tokenise(self) -> tuple[TokenLists, TokenLists]:
        """Document and label tokens of the whole collection, by position."""
        with self._lock:
            if self._tables is None:
                vocabulary: defaultdict[str, int] = defaultdict()
                vocabulary.default_factory = vocabulary.__len__
                c = self.collection
                documents = TokenLists.of(map(c.document, c), self.tokenizer, vocabulary)
                labels = TokenLists.of(map(c.heading, c), self.tokenizer, vocabulary)
                if c.datatypes:
                    for datatype in c.datatypes:
                        for token in self.tokenizer(datatype):
                            vocabulary[token]
                self._vocabulary = dict(vocabulary)
                self._tables = documents, labels
            return self._tables

    def _index(self, datatype: str | None) -> _Index:
        with self._lock:
            if datatype not in self._indexes:
                self._indexes[datatype] = self._build(datatype)
            return self._indexes[datatype]

    def _build(self, datatype: str | None) -> _Index:
        postings = self._stored.get(datatype) or self._post(datatype)
        ids = np.array(self.collection.ids, dtype=object)
        lengths = postings.label_lengths
        shares = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
        p = postings
        lists = p.indptr, p.indices, p.weights, p.label_indptr, p.label_indices, p.label_lengths
        return _Index(postings, ids[p.rows], (*lists, shares.astype(np.float32)))

    def _post(self, datatype: str | None) -> Postings:
        documents, labels = self._tokenise()
        rows: Longs = np.arange(len(self.collection), dtype=np.int64)
        if self.collection.datatypes:
            numbers, codes = self.collection.field_codes("datatype")
            if datatype is not None:
                rows = rows[codes == numbers[datatype]]
                documents, labels = documents.take(rows), labels.take(rows)
            else:
                known = defaultdict(int, self.vocabulary)
                names = ("" if name == "None" else name for name in numbers)
                heads = TokenLists.of(names, self.tokenizer, known)
                documents = documents.prefixed(heads.take(codes.astype(np.int64)))
        return Postings.build(rows, documents, labels, len(self.vocabulary), self.k1, self.b)
