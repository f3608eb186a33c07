from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from abduce.retrievers.base import Where
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.columns import TextColumn
from abduce.retrievers.corpus import Corpus
from abduce.retrievers.errors import InputError
from abduce.retrievers.store import MANIFEST, _seal, file_hash, open_index, verify, writing
from abduce.retrievers.taxonomy import Taxonomy
from abduce.retrievers.tokenize import tok
from hypothesis import given
from hypothesis import strategies as st

QUERIES = ["deferred tax lease", "", "unknown", "revenue net AssetLiability"]


@pytest.fixture
def folder(made: Taxonomy, tmp_path: Path) -> Path:
    place = tmp_path / "made.index"
    BM25Retriever(made, k1=1.2, w_cov=0.5).save(place)
    return place


def edit(folder: Path, change: Any, sealed: bool) -> None:
    path = folder / MANIFEST
    manifest = json.loads(path.read_text())
    change(manifest)
    if sealed:
        manifest["seal"] = _seal(manifest)
    path.write_text(json.dumps(manifest))


def test_an_opened_index_answers_like_the_one_that_was_saved(made: Taxonomy, folder: Path) -> None:
    built, opened = BM25Retriever(made, k1=1.2, w_cov=0.5), BM25Retriever.open(folder)
    for where in (None, Where("sharesItemType"), Where("nosuch"), Where(None, (("filing_id", "F2"),))):
        filters = None if where is None else [where] * len(QUERIES)
        for a, b in zip(built.search(QUERIES, 50, filters), opened.search(QUERIES, 50, filters), strict=True):
            assert a.ids == b.ids
            np.testing.assert_array_equal(a.scores, b.scores)
            assert (a.candidates, a.fell_back) == (b.candidates, b.fell_back)


def test_an_opened_taxonomy_is_the_same_taxonomy(made: Taxonomy, folder: Path) -> None:
    opened = BM25Retriever.open(folder).collection
    assert opened.ids == made.ids
    assert list(opened) == list(made)
    assert opened["C0007"] == made["C0007"]
    assert opened.datatypes == made.datatypes
    assert "C0007" in opened
    assert "nosuch" not in opened
    with pytest.raises(KeyError):
        opened["nosuch"]


def test_a_corpus_and_its_passages_are_kept(passages: Corpus, tmp_path: Path) -> None:
    BM25Retriever(passages).save(tmp_path / "p")
    opened = BM25Retriever.open(tmp_path / "p")
    assert isinstance(opened.collection, Corpus)
    assert opened.collection["p007"] == passages["p007"]


def test_the_coverage_weight_may_change_when_opening(made: Taxonomy, folder: Path) -> None:
    a = BM25Retriever.open(folder, w_cov=0.0).search(["tax lease"], 20)[0]
    b = BM25Retriever(made, k1=1.2, w_cov=0.0).search(["tax lease"], 20)[0]
    assert a.ids == b.ids


def test_only_plain_arrays_and_json_are_written(folder: Path) -> None:
    assert {p.suffix for p in folder.iterdir()} == {".npy", ".json"}
    for path in folder.glob("*.npy"):
        np.load(path, allow_pickle=False)


def test_a_changed_byte_is_noticed_in_every_file(folder: Path) -> None:
    names = sorted(p.name for p in folder.glob("*.npy"))
    assert len(names) > 10
    for name in names:
        path = folder / name
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        with pytest.raises(InputError, match=rf"{name}: does not match its hash") as caught:
            open_index(folder)
        assert "\n" not in str(caught.value)
        data[-1] ^= 1
        path.write_bytes(data)
    assert verify(folder) == []


def test_truncated_missing_and_strange_files(folder: Path) -> None:
    weights = folder / "weights.npy"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-8])
    with pytest.raises(InputError, match=r"weights.npy: has \d+ bytes, not \d+"):
        BM25Retriever.open(folder)
    weights.unlink()
    with pytest.raises(InputError, match=r"weights\.npy: cannot be read"):
        BM25Retriever.open(folder)
    weights.write_bytes(whole)
    (folder / "notes.txt").write_text("")
    assert [str(p) for p in verify(folder)] == [f"{folder / 'notes.txt'}: is not part of the index"]


@pytest.mark.parametrize(
    ("change", "sealed", "message"),
    [
        (lambda m: m.update(version=3), True, r"version 3, .* reads 2; update abduce"),
        (lambda m: m.update(version=1), True, "build the index again"),
        (lambda m: m.update(version="1"), True, "build the index again"),
        (lambda m: m.update(format="other"), True, "not the manifest of an abduce index"),
        (lambda m: m["parameters"].update(k1=9), False, "changed after it was written"),
        (lambda m: m.update(kind="dense", version=1), True, "kind 'dense', not 'bm25'"),
        (lambda m: m.update(version="2"), True, "version '2', this abduce reads 2"),
        (
            lambda m: m.pop("files"),
            True,
            r"manifest.json: field 'files': Field required",
        ),
        (lambda m: m.update(files=[1]), True, "field 'files': Input should be"),
        (
            lambda m: m["files"].update({"../x": {"bytes": 1, "sha256": "0" * 64}}),
            True,
            "should match pattern",
        ),
        (lambda m: m["files"]["rows.npy"].pop("sha256"), True, "rows.npy.sha256': Field required"),
        (lambda m: m.update(collection=None), True, "field 'collection': Input should be"),
        (lambda m: m.pop("tokenizer"), True, "KeyError: 'tokenizer'"),
        (lambda m: m.pop("segments"), True, "KeyError: 'segments'"),
        (lambda m: m["segments"][0].pop("postings"), True, "segments.0.postings': Field required"),
        (lambda m: m["parameters"].pop("k1"), True, "KeyError: 'k1'"),
        (lambda m: m.update(kind="graph"), True, "kind 'graph', which this abduce does not read"),
        (lambda m: m["tokenizer"].update(hash="0"), True, "another tokenizer"),
        (lambda m: m["tokenizer"].update(name="nosuch"), True, "no tokenizer 'nosuch'"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(
    folder: Path, change: Any, sealed: bool, message: str
) -> None:
    edit(folder, change, sealed)
    with pytest.raises(InputError, match=message):
        BM25Retriever.open(folder)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("indices", lambda a: a.fill(10**6)),
        ("indices", lambda a: a.fill(-1)),
        ("label_indices", lambda a: a.fill(10**6)),
        ("indptr", lambda a: a.fill(10**6)),
        ("weights", lambda a: a.fill(0)),
        ("weights", lambda a: a.fill(np.nan)),
        ("weights", lambda a: a.fill(np.inf)),
        ("label_lengths", lambda a: a.fill(0)),
        ("rows", lambda a: a.fill(10**7)),
        ("rows", lambda a: a.fill(-1)),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(folder: Path, name: str, change: Any) -> None:
    """An index of somebody's, its hashes in order: compiled code must not run over the end of an array."""
    path = folder / f"{name}.npy"
    array = np.load(path)
    change(array)
    np.save(path, array)
    entry = {"bytes": path.stat().st_size, "sha256": file_hash(path)}
    edit(folder, lambda m: m["files"].update({path.name: entry}), True)
    with pytest.raises(InputError, match=r"postings do not fit together|not finite"):
        BM25Retriever.open(folder)


def test_a_folder_that_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not an index folder"):
        BM25Retriever.open(tmp_path / "nosuch")
    (tmp_path / MANIFEST).write_text("{ half")
    with pytest.raises(InputError, match="damaged"):
        BM25Retriever.open(tmp_path)
    (tmp_path / MANIFEST).write_text("[]")
    with pytest.raises(InputError, match="not the manifest"):
        BM25Retriever.open(tmp_path)


def test_a_tokenizer_of_ones_own_must_be_given_again(made: Taxonomy, tmp_path: Path) -> None:
    BM25Retriever(made, tokenizer=str.split).save(tmp_path / "i")
    with pytest.raises(InputError, match="of the user's own"):
        BM25Retriever.open(tmp_path / "i")
    with pytest.raises(InputError, match="another tokenizer"):
        BM25Retriever.open(tmp_path / "i", tokenizer=tok)
    assert len(BM25Retriever.open(tmp_path / "i", tokenizer=str.split).search(["tax"], 5)[0]) == 5


def test_nothing_is_left_of_a_write_that_fails(tmp_path: Path) -> None:
    def half_written() -> None:
        with writing(tmp_path / "i") as files:
            files.array("a", np.zeros(3))
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        half_written()
    assert list(tmp_path.iterdir()) == []


def test_an_index_is_replaced_only_when_asked_and_nothing_else_ever(
    made: Taxonomy, folder: Path, tmp_path: Path
) -> None:
    retriever = BM25Retriever(made)
    with pytest.raises(InputError, match="exists already"):
        retriever.save(folder)
    retriever.save(folder, overwrite=True)
    assert BM25Retriever.open(folder).k1 == 1.5
    assert [p.name for p in tmp_path.iterdir()] == [folder.name]
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "cat.jpg").write_text("")
    with pytest.raises(InputError, match="not an index, so it is not overwritten"):
        retriever.save(photos, overwrite=True)
    assert (photos / "cat.jpg").exists()


def test_readers_keep_their_index_while_it_is_replaced(made: Taxonomy, folder: Path) -> None:
    reader = BM25Retriever.open(folder)
    expected = reader.search(QUERIES, 30)
    BM25Retriever(made, k1=0.0, b=0.0).save(folder, overwrite=True)
    wrong: list[str] = []

    def read() -> None:
        for _ in range(50):
            for a, b in zip(expected, reader.search(QUERIES, 30), strict=True):
                if a.ids != b.ids or (a.scores != b.scores).any():
                    wrong.append("differs")

    threads = [threading.Thread(target=read) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True))
def test_a_text_column_gives_back_its_texts_and_finds_them(texts: list[str]) -> None:
    texts = sorted(texts)
    column = TextColumn.of(texts)
    assert list(column) == [column[i] for i in range(len(column))] == texts
    assert [column.find(t) for t in texts] == list(range(len(texts)))
    assert column.find("\x00not there") is None
    assert column[1:3] == texts[1:3]
