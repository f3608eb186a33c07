"""Corpora from files, saved data sets and folders; complaints."""

from __future__ import annotations

import json

import pytest
from abduce.eval.corpora import load_corpus
from abduce.retrievers.errors import InputError

ROWS = [
    {"id": "b", "title": "T", "content": "two", "url": "u"},
    {"id": "a", "title": "", "content": "one", "url": ""},
]


def check(corpus):
    assert [p.id for p in corpus] == ["a", "b"]
    assert (corpus["b"].title, corpus["b"].content, corpus["b"].metadata) == ("T", "two", {"url": "u"})


def test_jsonl(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    check(load_corpus(str(path)))


def test_parquet_file_and_folder(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "c.parquet")
    check(load_corpus(str(tmp_path / "c.parquet")))
    check(load_corpus(str(tmp_path)))


def test_saved_data_set(tmp_path):
    import datasets

    datasets.Dataset.from_list(ROWS).save_to_disk(str(tmp_path / "saved"))
    check(load_corpus(str(tmp_path / "saved")))


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
        ([ROWS[0], ROWS[0]], "'b' stands already in"),
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
