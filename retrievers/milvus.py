"""Milvus, for collections too large for one machine: a local file by default, any cluster by its URI.

A Milvus collection holds each document's id, datatype, fields for exclusion, tokens (for Milvus's BM25) and
vector. Documents are inserted in batches; existing ones are skipped, so an interrupted insert continues.
:attr:`MilvusRetriever.notes` says what the embedded Milvus Lite cannot do.
"""

from __future__ import annotations

import inspect
import json
import logging
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .base import Ranking, Where, check_search
from .collection import Collection
from .dense import document_texts
from .encoders import Encoder
from .errors import InputError, MissingExtra
from .filters import EVERYTHING, applied_datatype, fell_back, passing
from .remade import Remade
from .tokenize import tok, tokenizer_hash

log = logging.getLogger(__name__)

LITE_NOTES = (
    "Milvus Lite: the file is open in one process at a time",
    "Milvus Lite: every index is searched exactly, whatever index type is asked for",
    "Milvus Lite: BM25 scores come back negated (turned round here) and only the analyzers standard and "
    "jieba exist, so tokens of other scripts may be cut again",
    "Milvus Lite: no users, roles or replicas",
)
_NOTES = (
    "Milvus BM25: document frequencies are those of the whole collection, not of the datatype, and a query "
    "without a known token finds nothing",
)
_ABOUT = "abduce.about"
_MOST = 16_384
_TEXT = 65_535


class MilvusRetriever(Remade):
    """Searches one Milvus collection; the constructor connects, :meth:`insert` fills.

    Args:
        collection: the taxonomy or corpus to search.
        encoder: texts to vectors; None: no vector field.
        uri: a path ending in ``.db`` (Milvus Lite), or the address of a server.
        token: ``user:password`` or an API key of a server.
        name: the name of the Milvus collection; None: that of ``collection``.
        field: the searched field: ``dense`` or ``bm25``.
        w_cov: weight of the label-coverage terms. With coverage, range and ranking are taken over the best
            ``pool`` documents that pass the filter. If ``pool`` covers all, the result equals the local
            retriever's.
        pool: see ``w_cov``; at most 16,384, Milvus's own limit.
        index: the vector index (``FLAT`` is exact; ``HNSW``, ``IVF_FLAT``, ``AUTOINDEX`` ...).
        k1, b: BM25's constants.
        filter_fields: metadata fields that ``Where.exclude`` may name, besides ``id`` and ``datatype``.
        batch: documents per insert call.

    Components are ``similarity`` or ``bm25``, and with coverage the normalised score, ``cov_label`` and
    ``cov_query``. Ties fall as in the local retrievers.

    Raises:
        MissingExtra: pymilvus (or milvus-lite for a ``.db`` path) is not installed.
        InputError: the server cannot be reached, or has something else under that name.
    """

    def __init__(
        self,
        collection: Collection[Any],
        encoder: Encoder | None = None,
        uri: str = "abduce.db",
        token: str = "",
        name: str | None = None,
        field: Literal["dense", "bm25"] = "dense",
        w_cov: float = 0.0,
        pool: int = 1000,
        index: str = "FLAT",
        k1: float = 1.5,
        b: float = 0.75,
        filter_fields: Sequence[str] = (),
        batch: int = 500,
    ) -> None:
        if field not in ("dense", "bm25") or (field == "dense" and encoder is None):
            raise ValueError("field must be bm25, or dense with an encoder")
        if not w_cov >= 0 or not 1 <= pool <= _MOST or batch < 1:
            raise ValueError(f"need w_cov >= 0, 1 <= pool <= {_MOST} and batch >= 1")
        self.collection, self.encoder, self.field = collection, encoder, field
        self.w_cov, self.pool, self.batch = w_cov, pool, batch
        self.name = name or "abduce_" + re.sub(r"\W", "_", collection.name)
        self.lite = uri.endswith(".db")
        self.notes: list[str] = [*(LITE_NOTES if self.lite else ()), *_NOTES]
        self._index, self._k1, self._b = index, k1, b
        self._fields = {f: f"f_{i}" for i, f in enumerate(filter_fields)}
        self._client = _connect(uri, token)
        given = inspect.signature(type(self)).bind(*self._given[0], **self._given[1]).arguments
        self._given = (), {k: v for k, v in given.items() if k != "token"}  # no pickle holds a secret
        self._ready = False

    def close(self) -> None:
        """Close the connection; a Milvus Lite file can then be opened by others."""
        self._client.close()

    def insert(self, progress: bool = False) -> int:
        """Insert the missing documents; returns their number.

        Args:
            progress: log a line every 10,000 documents.

        Raises:
            InputError: the Milvus collection was made for other documents or another encoder, or a vector is
                not finite.
        """
        about = self._about()
        inserted, cut = 0, 0
        fresh = not self._client.has_collection(self.name)
        if not fresh:
            self._check(about)
            fresh = self._count() == 0
        records = list(self._rows())
        for start in range(0, len(records), self.batch):
            part = records[start : start + self.batch]
            if not fresh:
                present = self._client.get(self.name, ids=[r["id"] for r in part], output_fields=["id"])
                there = {row["id"] for row in present}
                part = [r for r in part if r["id"] not in there]
            if not part:
                continue
            cut += self._complete(part)
            if not self._client.has_collection(self.name):
                self._create(about, len(part[0]["dense"]) if self.encoder else 0)
            self._client.upsert(self.name, part)
            inserted += len(part)
            if progress and inserted % 10_000 < self.batch:
                log.info("%s of %s documents inserted", f"{inserted:,}", f"{len(records):,}")
        if cut:
            self.notes.append(f"{cut} documents are cut to {_TEXT} bytes for Milvus's BM25")
        self._client.flush(self.name)
        self._client.load_collection(self.name)
        self._ready = self._count() == len(records)
        return inserted

    def search(
        self, queries: Sequence[str], k: int, where: Sequence[Where | None] | None = None
    ) -> list[Ranking]:
        """Rank documents for each query; see :class:`~abduce.retrievers.base.Retriever`.

        Raises:
            InputError: not everything is inserted, a filter names a field that Milvus lacks, or a query
                vector is not finite.
        """
        check_search(queries, k, where)
        self._require_all()
        if self.field == "bm25":
            return self._search([" ".join(sorted(tok.distinct(q))) for q in queries], k, where, queries)
        assert self.encoder is not None
        return (
            self.search_by_vector(self.encoder.encode_queries(queries), k, where, queries) if queries else []
        )

    def search_by_vector(
        self,
        vectors: npt.ArrayLike,
        k: int,
        where: Sequence[Where | None] | None = None,
        queries: Sequence[str] | None = None,
    ) -> list[Ranking]:
        """Rank documents for each query vector (Q, d); coverage is added if ``queries`` are given."""
        self._require_all()
        rows = np.atleast_2d(np.asarray(vectors, dtype=np.float32))
        if not np.isfinite(rows).all():
            raise InputError("a query vector is not finite")
        return self._search(list(rows), k, where, queries)

    def _require_all(self) -> None:
        if not self._ready:
            self._check(self._about())
            count = self._count()
            if count != len(self.collection):
                raise InputError(
                    f"{self.name!r} holds {count} of {len(self.collection)} documents; insert first"
                )
            self._ready = True

    def _search(
        self,
        wanted: Sequence[Any],
        k: int,
        where: Sequence[Where | None] | None,
        texts: Sequence[str] | None,
    ) -> list[Ranking]:
        filters: Sequence[Where | None] = [None] * len(wanted) if where is None else where
        groups: defaultdict[str, list[int]] = defaultdict(list)
        for i, w in enumerate(filters):
            groups[self._expression(w or EVERYTHING)].append(i)
        answers: dict[int, Ranking] = {}
        covered = texts is not None and self.w_cov > 0
        for expression, members in groups.items():
            mask = passing(self.collection, filters[members[0]])
            n = len(self.collection) if mask is None else int(mask.sum())
            limit = min(n, max(k + 32, self.pool if covered else 0), _MOST)
            if min(k, n) > _MOST:
                raise ValueError(f"Milvus returns at most {_MOST} places, not {k}")
            for start in range(0, len(members), 32):
                part = members[start : start + 32]
                found = self._ask([wanted[i] for i in part], expression, limit)
                for i, (ids, scores) in zip(part, found, strict=True):
                    text = texts[i] if covered and texts is not None else None
                    fell = fell_back(self.collection, filters[i])
                    answers[i] = self._ranking(ids, scores, text, k, n, fell)
        return [answers[i] for i in range(len(wanted))]

    def _ask(self, wanted: list[Any], expression: str, limit: int) -> list[tuple[list[str], Any]]:
        """Ids and scores of each query, in no guaranteed order."""
        if limit == 0:
            return [([], np.zeros(0))] * len(wanted)
        dense = self.field == "dense"
        results = self._client.search(
            self.name,
            [w.tolist() for w in wanted] if dense else wanted,
            anns_field="dense" if dense else "sparse",
            limit=limit,
            filter=expression,
            search_params={"metric_type": "IP" if dense else "BM25"},
            output_fields=["dense"] if dense else ["id"],
        )
        found = []
        for query, hits in zip(wanted, results, strict=True):
            ids = [hit["id"] for hit in hits]
            if dense:  # computed again in double precision, so that ties are ties as in the local index
                rows = np.array([hit["entity"]["dense"] for hit in hits], dtype=np.float32).astype(np.float64)
                scores = (rows * query.astype(np.float64)).sum(axis=1) if len(hits) else np.zeros(0)
            else:
                scores = np.array([abs(hit["distance"]) for hit in hits], dtype=np.float64)
            found.append((ids, scores))
        return found

    def _ranking(self, ids: list[str], scores: Any, text: str | None, k: int, n: int, fell: bool) -> Ranking:
        raw = "similarity" if self.field == "dense" else "bm25"
        columns = {raw: scores}
        total = scores
        label = query = np.zeros(len(ids))
        if text is not None and ids:
            low = 0.0 if self.field == "bm25" and len(ids) < n else float(scores.min())
            span = float(scores.max()) - low
            norm = (scores - low) / span if span > 0 else np.ones(len(ids))
            label, query = self._coverage(text, ids)
            total = norm + self.w_cov * (label + query)
            columns |= {f"{raw}_norm": norm, "cov_label": label, "cov_query": query}
        order = sorted(range(len(ids)), key=lambda i: (-total[i], -label[i], -query[i], -scores[i], ids[i]))[
            :k
        ]
        parts = {name: values[order] for name, values in columns.items()}
        return Ranking([ids[i] for i in order], total[order], parts, n, fell)

    def _coverage(self, text: str, ids: list[str]) -> tuple[Any, Any]:
        tokens = tok.distinct(text)
        labels = [tok.distinct(self.collection.heading(self.collection[i])) for i in ids]
        shared = np.array([len(tokens & label) for label in labels], dtype=np.float64)
        sizes = np.array([max(len(label), 1) for label in labels])
        return shared / sizes, shared / max(len(tokens), 1)

    def _expression(self, where: Where) -> str:
        parts = []
        datatype = applied_datatype(self.collection, where)
        if datatype is not None:
            parts.append(f"datatype == {json.dumps(datatype)}")
        for field, value in where.exclude:
            column = {"id": "id", "datatype": "datatype", **self._fields}.get(field)
            if column is None:
                raise InputError("is not held by Milvus; name it in filter_fields", field=field)
            parts.append(f"{column} != {json.dumps(value)}")
        return " and ".join(parts)

    def _rows(self) -> Iterator[dict[str, Any]]:
        """The fields of every document without an encoder; ``place`` is dropped before inserting."""
        for place, item in enumerate(self.collection):
            record = self.collection.record(item)
            row = {"id": record.id, "datatype": record.datatype or "", "place": place}
            for field, column in self._fields.items():
                row[column] = str(record.metadata.get(field))
            yield row

    def _complete(self, rows: list[dict[str, Any]]) -> int:
        """Add tokens and vectors to rows before inserting; returns how many texts were cut."""
        items = [self.collection[row["id"]] for row in rows]
        cut = 0
        for row, item in zip(rows, items, strict=True):
            del row["place"]
            text = " ".join(tok(self.collection.document(item, with_datatype=True))).encode()
            cut += len(text) > _TEXT
            row["text"] = text[:_TEXT].decode("utf-8", "ignore")
        if self.encoder is not None:
            texts = document_texts(self.collection, self.encoder.pairs, items)
            vectors = self.encoder.encode_documents(texts)
            bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
            if len(bad):
                raise InputError(f"the encoder's vector of {rows[bad[0]]['id']!r} is not finite")
            for row, vector in zip(rows, vectors, strict=True):
                row["dense"] = vector.tolist()
        return cut

    def _create(self, about: str, width: int) -> None:
        from pymilvus import DataType, Function, FunctionType

        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False, description=about)
        schema.add_field("id", DataType.VARCHAR, max_length=512, is_primary=True)
        for column in ("datatype", *self._fields.values()):
            schema.add_field(column, DataType.VARCHAR, max_length=1024)
        analyzer = {"tokenizer": "standard"}
        schema.add_field(
            "text", DataType.VARCHAR, max_length=_TEXT, enable_analyzer=True, analyzer_params=analyzer
        )
        schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
        schema.add_function(
            Function(
                name="bm25",
                input_field_names=["text"],
                output_field_names=["sparse"],
                function_type=FunctionType.BM25,
            )
        )
        indexes = self._client.prepare_index_params()
        constants = {"bm25_k1": self._k1, "bm25_b": self._b}
        indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=constants)
        if width:
            schema.add_field("dense", DataType.FLOAT_VECTOR, dim=width)
            settings = {"M": 32, "efConstruction": 200, "nlist": 1024}
            indexes.add_index("dense", index_type=self._index, metric_type="IP", params=settings)
        self._client.create_collection(
            self.name,
            schema=schema,
            index_params=indexes,
            consistency_level="Strong",
            properties={_ABOUT: about},  # Milvus Lite forgets the description
        )

    def _about(self) -> str:
        """What the Milvus collection was made from, stored with it."""
        return json.dumps(
            {
                "abduce": 1,
                "corpus": self.collection.content_hash,
                "encoder": self.encoder.name.rsplit("/", 1)[-1] if self.encoder else None,
                "tokenizer": tokenizer_hash(tok),
                "bm25": [self._k1, self._b],
                "fields": self._fields,
            },
            sort_keys=True,
        )

    def _check(self, about: str) -> None:
        if not self._client.has_collection(self.name):
            raise InputError(f"Milvus has no collection {self.name!r}; insert first")
        held: Mapping[str, Any] = self._client.describe_collection(self.name)
        if about not in (held.get("description"), (held.get("properties") or {}).get(_ABOUT)):
            raise InputError(
                f"the Milvus collection {self.name!r} was made from other documents or settings; "
                "give another name, or drop it"
            )

    def _count(self) -> int:
        [row] = self._client.query(self.name, filter="", output_fields=["count(*)"])
        return int(row["count(*)"])


def _connect(uri: str, token: str) -> Any:
    try:
        import pymilvus
    except ImportError as e:
        raise MissingExtra("pymilvus", "scale") from e
    if uri.endswith(".db"):
        from importlib.util import find_spec

        if find_spec("milvus_lite") is None:
            raise MissingExtra("milvus-lite", "scale")
    try:
        return pymilvus.MilvusClient(uri, token=token)
    except (pymilvus.MilvusException, OSError, ValueError) as e:
        reason = (str(e).strip() or type(e).__name__).splitlines()[0]
        raise InputError(f"Milvus at {uri!r} cannot be opened: {reason}", field="uri") from e
