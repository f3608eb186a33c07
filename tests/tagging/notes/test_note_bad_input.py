"""Mentions and notes that are none: one line that names the place, and nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest
from abduce.retrievers.errors import InputError
from abduce.tagging.notes.coder import Coder, code_mentions
from abduce.tagging.notes.note import MAX_NOTE, read_mentions, read_note
from made_note import coder, write


@pytest.fixture(scope="module")
def program() -> Coder:
    return coder("locus")


@pytest.mark.parametrize(
    ("mentions", "message"),
    [
        ("mention\n \n", "m.csv:2: field 'mention': is empty"),
        ("mention\nmeasles\n", "m.csv:2: field 'mention': 'measles' does not stand in the note"),
        ("start,end\n0,5000\n", r"m.csv:2: field 'start': span \[0, 5000\) is outside the note"),
        ("start,end\n5,5\n", "is outside the note"),
        ("start,end\nx,5\n", "m.csv:2: field 'start': start and end must be whole numbers"),
        ("start,end\n1,2\n", "the span holds white space only"),
        ("mention,start,end\ncholera,0,5\n", "the span holds 'A man', not 'cholera'"),
        ("words\nx\n", "m.csv:2: needs mention, or start and end; it has 'words'"),
        ("mention|code\nfever|R50\n", "m.csv:2: needs mention, or start and end; it has 'mention|code'"),
        ("start,end\n3,\n", "m.csv:2: field 'end': is missing"),
        ("start,end\n,3\n", "m.csv:2: field 'start': is missing"),
        ("mention,code\nfever,hello\n", "m.csv:2: field 'code': 'HELLO' is not a code"),
        ("id,mention\na,fever\na,cholera\n", "m.csv:3: field 'id': duplicate id 'a', first in line 2"),
        ("mention\n", "m.csv: has no mentions"),
    ],
)
def test_a_bad_mention_is_one_line_that_names_its_place(tmp_path: Path, mentions: str, message: str) -> None:
    note, file = write(tmp_path, mentions)
    with pytest.raises(InputError, match=message) as caught:
        read_mentions(file, read_note(note), {})
    assert "\n" not in str(caught.value)


def test_a_mention_that_is_no_text_is_named(tmp_path: Path) -> None:
    note, file = write(tmp_path, '{"mention": "fever"}\n{"mention": ["fever"]}\n', name="m.jsonl")
    with pytest.raises(InputError, match=r"m\.jsonl:2: field 'mention': must be a text"):
        read_mentions(file, read_note(note), {})


def test_a_code_outside_the_inventory_is_refused(tmp_path: Path, program: Coder) -> None:
    note, file = write(tmp_path, "mention,code\nfever,Q99.9\n")
    with pytest.raises(
        InputError,
        match=r"m\.csv:2: field 'code': Q99\.9 is neither one of the 5 codes of icd-test nor a category$",
    ):
        code_mentions(read_mentions(file, read_note(note), {}), program)


def test_bad_notes(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    with pytest.raises(InputError, match="no such file"):
        read_note(note)
    note.write_text("x" * (MAX_NOTE * 2))
    with pytest.raises(InputError, match="a note has at most 1,000,000"):
        read_note(note)
    note.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is not UTF-8"):
        read_note(note)
    note.write_text(" \n")
    with pytest.raises(InputError, match="is empty"):
        read_note(note)
