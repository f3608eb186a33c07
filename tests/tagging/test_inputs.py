"""What is given to a tagger."""

from __future__ import annotations

from abduce.tagging.inputs import is_document


def test_what_is_a_document(tmp_path):
    (tmp_path / "facts.csv").write_text("fact_id,value\n1,2\n")
    (tmp_path / "sheet.csv").write_text("name,2024\nCash,2\n")
    assert not is_document(tmp_path / "facts.csv")
    assert is_document(tmp_path / "sheet.csv")
    assert is_document(tmp_path / "x.htm.gz")
    assert not is_document(tmp_path / "facts.jsonl.gz")
