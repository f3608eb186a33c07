"""Tagging the mentions of a note: places, codes, evidence, exclusion notes, categories, bad input."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from abduce.eval.clinical.excludes import Exclusion, billable_children, conflicts, named_codes
from abduce.eval.clinical.note import MAX_NOTE, read_mentions, read_note
from abduce.eval.clinical.tagnote import COLUMNS, code_mentions, tag_note
from abduce.programs.locus import Locus
from abduce.programs.serialize import Serializer
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.errors import InputError
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.types import Concept
from rich.console import Console

TEXT = "A man with classical cholera and fever. He was a carrier of cholera. Fever again, fevers never.\n"


def concept(code: str, label: str, definition: str = "", **metadata: object) -> Concept:
    return Concept(id=code, label=label, definition=definition, datatype="diagnosis", metadata=metadata)


TAXONOMY = Taxonomy(
    [
        concept(
            "A00.0",
            "Cholera due to Vibrio cholerae 01, biovar cholerae",
            "Classical cholera ; Intestinal infectious diseases > Cholera ; Cholera (epidemic), classical",
            excludes1=["A00: carrier of cholera (Z22.1)"],
            excludes2=["A00-A09: fever of another kind (R51-R52)"],
        ),
        concept("A00.9", "Cholera, unspecified", excludes1=["A00: carrier of cholera (Z22.1)"]),
        concept("R50.9", "Fever, unspecified"),
        concept("Z22.1", "Carrier of other intestinal infectious diseases", "Carrier of cholera"),
    ],
    "icd-test",
    ("id", "label", "definition"),
)


@pytest.fixture(scope="module")
def program() -> Locus:
    return Locus(BM25Retriever(TAXONOMY), Serializer(before=0, after=0), TAXONOMY)


def write(folder: Path, mentions: str, text: str = TEXT, name: str = "m.csv") -> tuple[Path, Path]:
    note = folder / "note.txt"
    note.write_text(text, encoding="utf-8")
    (folder / name).write_text(mentions, encoding="utf-8")
    return note, folder / name


def tagged(folder: Path, mentions: str, program: Locus) -> list[dict[str, str]]:
    note, file = write(folder, mentions)
    out = folder / "tags.csv"
    tag_note(
        note,
        file,
        lambda: (TAXONOMY, {"datatype": "diagnosis"}, program),
        10,
        out,
        Console(file=io.StringIO()),
    )
    with out.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == COLUMNS
    return rows


def test_a_mention_gets_its_code_place_evidence_and_alternatives(tmp_path: Path, program: Locus) -> None:
    (row,) = tagged(tmp_path, "id,mention\nx,classical cholera\n", program)
    assert (row["id"], row["code"]) == ("x", "A00.0")
    assert TEXT[int(row["start"]) : int(row["end"])] == row["mention"] == "classical cholera"
    assert row["evidence"] == "Classical cholera"
    assert row["alternatives"].split("; ")[0] == "A00.9"
    assert row["excludes2"] == "A00-A09: fever of another kind (R51-R52)"


def test_the_words_of_a_mention_are_counted_and_the_first_place_is_taken(
    tmp_path: Path, program: Locus
) -> None:
    (row,) = tagged(tmp_path, "mention\ncholera\n", program)
    assert (int(row["start"]), row["occurrences"]) == (TEXT.index("cholera"), "2")
    (row,) = tagged(
        tmp_path, "mention\nFEVER\n", program
    )  # in any case where it is not written so; no "fevers"
    assert (row["mention"], row["occurrences"]) == ("fever", "2")


def test_a_span_means_the_same_as_its_words(tmp_path: Path, program: Locus) -> None:
    start = TEXT.index("classical cholera")
    (by_span,) = tagged(tmp_path, f"start,end\n{start},{start + 17}\n", program)
    (by_words,) = tagged(tmp_path, "mention\nclassical cholera\n", program)
    assert by_span == by_words


def test_an_exclusion_note_that_names_another_code_of_the_note_is_a_warning(
    tmp_path: Path, program: Locus
) -> None:
    rows = tagged(tmp_path, "mention\nclassical cholera\ncarrier of cholera\nfever\n", program)
    assert [r["code"] for r in rows] == ["A00.0", "Z22.1", "R50.9"]
    assert rows[0]["warnings"] == "A00.0 and Z22.1: Excludes1 at A00: carrier of cholera (Z22.1)"
    assert rows[1]["warnings"] == rows[2]["warnings"] == ""


def test_a_category_is_coded_among_its_billable_children(tmp_path: Path, program: Locus) -> None:
    (row,) = tagged(tmp_path, "mention,code\nfever,A00\n", program)
    assert row["asked"] == "A00: a category with 2 billable codes"
    assert {row["code"], *row["alternatives"].split("; ")} == {"A00.0", "A00.9"}


def test_a_code_of_the_users_own_is_kept_and_its_rank_told(tmp_path: Path, program: Locus) -> None:
    (row,) = tagged(tmp_path, "mention,code\nclassical cholera,a009\n", program)
    assert (row["code"], row["asked"]) == ("A00.9", "A00.9: billable, rank 2")
    assert row["alternatives"].split("; ")[0] == "A00.0"


def test_the_page_shows_the_warning(tmp_path: Path, program: Locus) -> None:
    note, file = write(tmp_path, "mention\nclassical cholera\ncarrier of cholera\n")
    stream = io.StringIO()
    tag_note(note, file, lambda: (TAXONOMY, {}, program), 3, None, Console(file=stream, width=160))
    page = stream.getvalue()
    assert "Warning: A00.0 and Z22.1: Excludes1 at A00: carrier of cholera (Z22.1)" in page
    assert "Evidence: Classical cholera" in page


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
        ("words\nx\n", "m.csv:2: needs mention, or start and end"),
        ("mention,code\nfever,hello\n", "m.csv:2: field 'code': 'HELLO' is not a code"),
        ("id,mention\na,fever\na,cholera\n", "m.csv:3: field 'id': 'a' stands already in line 2"),
        ("mention\n", "m.csv: has no mentions"),
    ],
)
def test_a_bad_mention_is_one_line_that_names_its_place(tmp_path: Path, mentions: str, message: str) -> None:
    note, file = write(tmp_path, mentions)
    with pytest.raises(InputError, match=message) as caught:
        read_mentions(file, read_note(note), {})
    assert "\n" not in str(caught.value)


def test_a_code_outside_the_inventory_is_refused(tmp_path: Path, program: Locus) -> None:
    note, file = write(tmp_path, "mention,code\nfever,Q99.9\n")
    with pytest.raises(
        InputError,
        match=r"m\.csv:2: field 'code': Q99\.9 is neither a code of icd-test nor a category of its codes",
    ):
        code_mentions(read_mentions(file, read_note(note), {}), program, TAXONOMY)


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


def test_nothing_is_written_where_the_input_is_bad(tmp_path: Path, program: Locus) -> None:
    note, file = write(tmp_path, "mention,code\nfever,Q99.9\n")
    with pytest.raises(InputError):
        tag_note(
            note, file, lambda: (TAXONOMY, {}, program), 3, tmp_path / "out.csv", Console(file=io.StringIO())
        )
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("note", "code", "covered"),
    [
        ("carrier (Z22.1)", "Z22.1", True),
        ("carrier (Z22.1)", "Z22.11", True),
        ("carrier (Z22.1)", "Z22.2", False),
        ("burns (T20-T32)", "T25.011A", True),
        ("burns (T20-T32)", "T32.99", True),
        ("burns (T20-T32)", "T33.011A", False),
        ("vision (H53.4-, H54)", "H53.41", True),
        ("vision (H53.4-, H54)", "H54.7", True),
        ("vision (H53.4-, H54)", "H53.5", False),
        ("headache (R51)", "R52", False),
        ("some words without a code", "A00.0", False),
        ("psychosis (F20.0-F20.5)", "F20.3", True),
        ("psychosis (F20.0-F20.5)", "F20.9", False),
    ],
)
def test_which_codes_a_note_names(note: str, code: str, covered: bool) -> None:
    assert Exclusion("X", 1, "X", note).covers(code) is covered


def test_conflicts_leave_the_code_itself_out() -> None:
    metadata = {"excludes1": ["A00: this (A00.0)", "A00: that (R50.-)"]}
    assert [(e.note, other) for e, other in conflicts("A00.0", metadata, ["A00.0", "R50.9", "R50.9"])] == [
        ("that (R50.-)", "R50.9")
    ]


def test_billable_children() -> None:
    assert billable_children("a00", TAXONOMY) == ["A00.0", "A00.9"]
    assert billable_children("A00.-", TAXONOMY) == ["A00.0", "A00.9"]
    assert billable_children("A00.0", TAXONOMY) == []
    assert billable_children("A", TAXONOMY) == []


def test_codes_named_by_a_note() -> None:
    assert named_codes("a (A04.7-) or (B1.2, C00-C97)") == [("A04.7", "A04.7"), ("C00", "C97")]
