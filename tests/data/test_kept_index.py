"""Indexes of whole releases are built once on a machine and named by what is in them."""

import pytest
from abduce.data import kept_index
from abduce.data.domains import FINANCE
from abduce.data.folder import DataFolder


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("ABDUCE_INDEXES", str(tmp_path / "indexes"))
    monkeypatch.setattr(kept_index, "FEWEST", 2)
    return tmp_path / "indexes"


def test_it_is_built_once_and_holds_the_release(place, folder):
    data = DataFolder.find(folder.path)
    first, where = kept_index.kept_release(FINANCE, data)
    assert [p.name for p in place.iterdir()] == [where.rpartition("/")[2]]
    made = (place / where / "manifest.json").stat().st_mtime_ns
    again, same = kept_index.kept_release(FINANCE, data)
    assert (same, (place / where / "manifest.json").stat().st_mtime_ns) == (where, made)
    assert list(again.ids) == list(first.ids)
    assert again.content_hash == first.content_hash
    assert again.name == FINANCE.taxonomy


def test_another_release_has_another_and_a_damaged_one_is_built_again(place, folder):
    data = DataFolder.find(folder.path)
    _, where = kept_index.kept_release(FINANCE, data)
    (place / where / "manifest.json").write_text("{")
    taxonomy, same = kept_index.kept_release(FINANCE, data)
    assert same == where
    folder.concepts[0]["label"] = "Another label"
    folder.write()
    changed, other = kept_index.kept_release(FINANCE, data)
    assert other != where
    assert changed.content_hash != taxonomy.content_hash


def test_a_small_one_is_not_kept_and_neither_where_nothing_can_be_written(place, folder, monkeypatch):
    data = DataFolder.find(folder.path)
    place.write_text("a file in the way")
    assert kept_index.kept_release(FINANCE, data)[1] == ""
    place.unlink()
    monkeypatch.setattr(kept_index, "FEWEST", 100)
    assert kept_index.kept_release(FINANCE, data)[1] == ""
    assert not place.exists()
