"""Corpora from files, saved data sets and folders; complaints."""

from __future__ import annotations

import json
import math
from datetime import date
from decimal import Decimal

import pytest
from abduce.data.build.corpus import build_corpus
from abduce.data.corpora import load_corpus
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.errors import InputError

ROWS = [
    {"id": "b", "title": "T", "content": "two", "url": "u"},
    {"id": "a", "title": "", "content": "one", "url": ""},
]


READ = [("a", "", "one", {}), ("b", "T", "two", {"url": "u"})]
"""What every kind of file comes to: in id order, empty fields left out."""


def read(corpus):
    return [(p.id, p.title, p.content, dict(p.metadata)) for p in corpus]


def test_jsonl(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    assert read(load_corpus(str(path))) == READ


def test_parquet_file_and_folder(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "c.parquet")
    assert read(load_corpus(str(tmp_path / "c.parquet"))) == READ
    assert read(load_corpus(str(tmp_path))) == READ


def test_saved_data_set(tmp_path):
    import datasets

    datasets.Dataset.from_list(ROWS).save_to_disk(str(tmp_path / "saved"))
    assert read(load_corpus(str(tmp_path / "saved"))) == READ


def test_a_data_set_with_two_splits_needs_a_choice(tmp_path):
    import datasets

    part = datasets.Dataset.from_list(ROWS)
    datasets.DatasetDict({"train": part, "test": part}).save_to_disk(str(tmp_path / "saved"))
    with pytest.raises(InputError, match="splits train, test"):
        load_corpus(str(tmp_path / "saved"))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "has no passages"),
        ([{"id": "a", "title": "T"}], "field 'content': is missing"),
        ([{"title": "T", "content": "c"}], "field 'id': is missing"),
        ([ROWS[0], ROWS[0]], "duplicate id 'b', first in"),
    ],
)
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_complaints(kind, rows, message, tmp_path):
    path = tmp_path / f"c.{kind}"
    if kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path)
    with pytest.raises(InputError, match=message):
        load_corpus(str(path))


@pytest.mark.parametrize("name", ["nowhere", "no/such.jsonl", "no/such.parquet"])
def test_no_such_corpus(name):
    with pytest.raises(InputError, match=r"no corpus|no such file"):
        load_corpus(name)


def test_a_folder_without_a_data_set(tmp_path):
    with pytest.raises(InputError, match="neither"):
        load_corpus(str(tmp_path))


def test_dates_and_bytes_of_parquet_do_not_end_an_index_or_a_corpus(tmp_path):
    row = {"id": 7, "title": None, "content": "Scurvy is a lack of vitamin C.", "raw": b"\xff"}
    row |= {"day": date(2020, 1, 2), "cost": Decimal("1.50"), "ratio": math.nan}
    rows = [row | {"parts": [{"at": date(2021, 3, 4)}]}]
    import pyarrow
    import pyarrow.parquet as parquet

    path = tmp_path / "p.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    metadata = {"day": "2020-01-02", "cost": "1.50", "parts": [{"at": "2021-03-04"}]}
    assert load_corpus(str(path))["7"].metadata == metadata
    out = tmp_path / "passages.jsonl"
    build_corpus([path], out)
    assert load_corpus(str(out))["7_0"].metadata == metadata
    BM25Retriever(load_corpus(str(path))).save(tmp_path / "index")
    opened = BM25Retriever.open(tmp_path / "index")
    assert opened.collection["7"].metadata == metadata
