"""What tagging on Ray does before Ray is started: files found, cut into pieces, settings kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from abduce.retrievers.errors import InputError
from abduce.tagging.far import Place, find
from abduce.tagging.on_ray import pieces
from abduce.tagging.tagger import Tagger

MENTION = {"mention_start": 9, "mention_end": 10}


def written(path: Path, contexts: str, modality: str) -> Path:
    """A fact per letter of ``contexts``, which names its source context."""
    place = {"row_header": "Cash", "column_header": "2024"} if modality == "table" else MENTION
    rows = [
        {"fact_id": f"f{i}", "value": "7", "source_context": "Cash was 7.", "context_id": c}
        | {"modality": modality}
        | place
        for i, c in enumerate(contexts)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def cut(path: Path, size: int | None) -> list[list[str]]:
    found: list[dict[str, Any]] = list(pieces({"source": str(path)}, size))
    assert [row["number"] for row in found] == list(range(len(found)))
    assert not any(row["error"] for row in found)
    return [[json.loads(text)["fact_id"] for text in row["facts"]] for row in found]


def test_a_file_is_cut_where_a_source_context_ends(tmp_path: Path) -> None:
    path = written(tmp_path / "facts.jsonl", "aaabbccd", "table")
    assert cut(path, 2) == [["f0", "f1", "f2"], ["f3", "f4"], ["f5", "f6"], ["f7"]]
    assert cut(path, 4) == [["f0", "f1", "f2", "f3", "f4"], ["f5", "f6", "f7"]]
    assert cut(path, None) == [[]]  # whole: read where it is tagged


def test_cells_of_a_table_that_stand_apart_are_refused(tmp_path: Path) -> None:
    table = written(tmp_path / "table.jsonl", "aba", "table")
    [*_, last] = pieces({"source": str(table)}, 1)
    assert "'a' stand apart" in last["error"]
    assert cut(written(tmp_path / "text.jsonl", "aba", "text"), 1) == [["f0"], ["f1"], ["f2"]]


def test_files_by_pattern_and_by_address(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("b.jsonl", "a.jsonl", "contexts.jsonl", "c.htm", "deep/d.jsonl"):
        (tmp_path / name).write_text(name)
    assert [Path(f).name for f in find(f"{tmp_path}/*.jsonl")] == ["a.jsonl", "b.jsonl"]
    assert [Path(f).name for f in find(f"{tmp_path}/**/*.jsonl")] == ["a.jsonl", "b.jsonl", "d.jsonl"]
    far = find(f"file://{tmp_path}/*.jsonl")
    assert far[0] == f"file://{tmp_path}/a.jsonl"
    with Place.of(far[0]).local() as path:
        assert (path.read_text(), (path.parent / "contexts.jsonl").read_text()) == (
            "a.jsonl",
            "contexts.jsonl",
        )
    with pytest.raises(InputError, match="no file is there"):
        find(f"{tmp_path}/*.csv")
    with pytest.raises(InputError, match="is no address"):
        Place.of("nosuch://x/y")


def test_a_file_is_written_in_one_step(tmp_path: Path) -> None:
    place = Place.of(f"file://{tmp_path}") / "out" / "part.parquet"
    assert not place.exists()
    place.write(b"one")
    place.write(b"two")
    assert (place.read(), [p.name for p in (tmp_path / "out").iterdir()]) == (b"two", ["part.parquet"])
    place.remove()
    assert not place.exists()


def test_only_a_program_that_looks_at_one_source_context_lets_facts_be_tagged_apart(tmp_path: Path) -> None:
    taxonomy = tmp_path / "t.csv"
    taxonomy.write_text("id,label\nCash,Cash\n")
    for program, splits in (("locus", True), (None, False)):
        with Tagger(taxonomy, program) as tagger:
            assert tagger.splits == splits
    with Tagger(program="precedents (others)") as tagger:
        assert not tagger.splits


def test_parquet_facts_are_tagged_as_jsonl_is(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    path = written(tmp_path / "facts.jsonl", "ab", "text")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "facts.parquet")
    taxonomy = tmp_path / "t.csv"
    taxonomy.write_text("id,label\nCash,Cash\nDebt,Debt\n")
    with Tagger(taxonomy, "locus") as tagger:
        one, other = ([*tagger.tag(tmp_path / f"facts.{kind}").rows()] for kind in ("jsonl", "parquet"))
    assert one == other
