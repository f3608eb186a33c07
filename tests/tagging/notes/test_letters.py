"""Notes and mentions that differ in line ends, Unicode form, invisible characters, apostrophes and dashes."""

import unicodedata

import pytest
from abduce.retrievers.errors import InputError
from abduce.signatures.letters import fold, folded_with_places
from abduce.tagging.notes.note import read_mentions, read_note
from hypothesis import given
from hypothesis import strategies as st

NOTE = "Age 61.\r\nNo fever.\r\nParkinson\u2019s disease, non\u2011invasive; neumoni\u0301a; dia\u00adbetes"


def mentions(tmp_path, rows, note=NOTE):
    (tmp_path / "n.txt").write_bytes(note.encode("utf-8"))
    (tmp_path / "m.csv").write_text(rows, encoding="utf-8")
    return read_mentions(tmp_path / "m.csv", read_note(tmp_path / "n.txt"), {})


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("neumonía", "neumoni\u0301a"),
        ("Parkinson's disease", "Parkinson\u2019s disease"),
        ("non-invasive", "non\u2011invasive"),
        ("diabetes", "dia\u00adbetes"),
        ("no FEVER", "No fever"),
    ],
)
def test_words_are_found_in_whatever_form(tmp_path, asked, value):
    [found] = mentions(tmp_path, f"mention\n{asked}\n")
    assert found.fact.value == value
    start, end = found.fact.mention_start, found.fact.mention_end
    assert found.fact.context.text[start:end] == value


def test_offsets_that_count_a_line_end_once_are_told(tmp_path):
    lines = NOTE.replace("\r\n", "\n")
    start = lines.index("fever")
    with pytest.raises(InputError, match=r"m\.csv:2: .*inside a word .*CR LF"):
        mentions(tmp_path, f"start,end\n{start},{start + 5}\n")
    right = NOTE.index("fever")
    [found] = mentions(tmp_path, f"start,end\n{right},{right + 5}\n")
    assert found.fact.value == "fever"


@given(st.text(alphabet="ae\u0301\u00e9n\u0303 \u200b\u00ad\u2019-\u2013x", max_size=30))
def test_folding_keeps_places(text):
    plain, places = folded_with_places(text)
    assert plain == fold(plain)
    assert len(places) == len(plain) + 1
    assert places == sorted(places)
    assert unicodedata.normalize("NFC", plain) == plain
