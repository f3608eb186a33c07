"""Decisions: read, merged, kept in a journal that survives being killed, written out and read back."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from abduce.retrievers.errors import InputError
from abduce.tagging.alike import numbered
from abduce.tagging.decisions import DECIDED as DECIDED_STATES
from abduce.tagging.decisions import STATES, Decision, latest, merged
from abduce.tagging.precedents import read_precedents
from abduce.tagging.review.again import read_decisions
from abduce.tagging.review.journal import Journal, read_journal
from abduce.tagging.review.out import write_reviewed
from abduce.tagging.review.written import is_tags_file, tags_of_file
from hypothesis import given
from hypothesis import strategies as st
from made_review import made_tags, made_taxonomy

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
DECISIONS = st.builds(
    lambda i, state, concept, note, flag, day: Decision(
        f"f{i}", state, (concept or "T0") if state in DECIDED_STATES else "", note, flag, f"2026-01-{day:02}"
    ),
    st.integers(0, 5), st.sampled_from(STATES), TEXT, TEXT, st.booleans(), st.integers(1, 28),
)  # fmt: skip


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"state": "open"}, "fact_id"),
        ({"fact_id": "f", "state": "maybe"}, "none of open, suggested"),
        ({"fact_id": "f", "state": "accepted"}, "is empty, and the state is accepted"),
        ({"fact_id": "f", "colour": "red"}, "no field of a decision"),
        ({"fact_id": "f", "flag": "yes"}, "neither true nor false"),
        ({"fact_id": "f", "note": "x" * 10_001}, "longer than"),
        ({"fact_id": 3}, "no text"),
        ([], "no JSON object"),
    ],
)
def test_what_is_no_decision_says_why(record: object, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Decision.of(record)  # type: ignore[arg-type]


@given(st.lists(DECISIONS), st.lists(DECISIONS))
def test_merging_keeps_every_fact_and_never_undoes_what_somebody_decided(
    first: list[Decision], second: list[Decision]
) -> None:
    a, b = latest(first), latest(second)
    both = merged(a, b)
    assert both.keys() == a.keys() | b.keys()
    for i, kept in both.items():
        assert kept in (a.get(i), b.get(i))
        if i in a and i in b and a[i].at > b[i].at:
            assert kept == a[i]
        if i in a and i in b and a[i].state not in ("open", "suggested") and b[i] == Decision(i, at=b[i].at):
            assert kept == a[i]


@given(st.lists(DECISIONS, max_size=6))
def test_a_journal_gives_back_what_it_was_given(
    tmp_path_factory: pytest.TempPathFactory, said: list[Decision]
) -> None:
    path = tmp_path_factory.mktemp("j") / "j.jsonl"
    with Journal(path) as journal:
        for decision in said:
            journal.append([decision])
    assert list(read_journal(path)) == said


def test_half_a_line_is_cut_off_and_a_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        journal.append([Decision("f1", "accepted", "T1"), Decision("f2", "rejected")])
    whole = path.read_bytes()
    for cut in range(len(whole) - 30, len(whole)):
        path.write_bytes(whole[:cut])
        with Journal(path) as journal:
            assert [d.fact_id for d in journal.decisions] == ["f1"]
            journal.append([Decision("f3", "open")])
        assert [d.fact_id for d in read_journal(path)] == ["f1", "f3"]
    path.write_bytes(b'{"fact_id": "f1"}\nnot json\n{"fact_id": "f2"}\n')
    with pytest.raises(InputError, match=r"j\.jsonl:2: is not JSON"):
        Journal(path)


def test_a_killed_writer_loses_nothing_that_it_said_was_saved(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from abduce.tagging.decisions import Decision\n"
        "from abduce.tagging.review.journal import Journal\n"
        f"with Journal(__import__('pathlib').Path({str(tmp_path / 'j.jsonl')!r})) as j:\n"
        "    for i in range(100000):\n"
        "        j.append([Decision(f'f{i}', 'accepted', 'T0')])\n"
        "        print(i, flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    said = [child.stdout.readline() for _ in range(20)]
    os.kill(child.pid, signal.SIGKILL)
    said += child.stdout.read().splitlines()
    child.wait()
    last = max(int(line) for line in said if line.strip().isdigit())
    assert [d.fact_id for d in read_journal(tmp_path / "j.jsonl")][: last + 1] == [
        f"f{i}" for i in range(last + 1)
    ]


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.jsonl"):
        code = (
            "import pathlib\nfrom abduce.tagging.review.journal import Journal\n"
            f"Journal(pathlib.Path({str(tmp_path / 'j.jsonl')!r}))"
        )
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "another review is writing here" in other.stderr
    Journal(tmp_path / "j.jsonl").close()


DECIDED = {
    "f0": Decision("f0", "accepted", "T0", note="=1+1 checked", flag=True),
    "f1": Decision("f1", "corrected", "T6"),
    "f2": Decision("f2", "rejected"),
    "f3": Decision("f3", "suggested", "T8"),
}


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_reviewed_tags_are_read_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"tags{ending}"
    tags = made_tags([["T0", "T6"], ["T0", "T6"], ["T1"], ["T1", "T2"], ["T2"]], [0.9, 0.8, 0.7, 0.6, 0.5])
    write_reviewed(path, tags, DECIDED)
    precedents = {one.fact.fact_id: one.concept for one in read_precedents(path)}
    assert precedents == {"f0": "T0", "f1": "T6"}
    first = next(iter(read_precedents(path))).fact
    assert (first.row_header, first.column_header, first.company) == ("Cash and equivalents", "2024", "Acme")
    said = read_decisions(path)
    assert {i: (d.state, d.concept, d.note, d.flag) for i, d in said.items()} == {
        "f0": ("accepted", "T0", "=1+1 checked", True),
        "f1": ("corrected", "T6", "", False),
        "f2": ("rejected", "", "", False),
    }
    assert is_tags_file(path)
    again = tags_of_file(path, made_taxonomy())
    assert [t.concept for t in again] == ["T0", "T6", "", "T8", "T2"]
    assert [t.confidence for t in again] == [0.9, 0.8, 0.7, 0.6, 0.5]
    assert list(again[0].ranking.ids) == ["T0", "T6"]


def test_a_cell_far_off_costs_nothing(tmp_path: Path) -> None:
    from openpyxl import load_workbook

    path = tmp_path / "t.xlsx"
    write_reviewed(path, made_tags([["T0"]]), {"f0": Decision("f0", "accepted", "T0")})
    book = load_workbook(path)
    book.active["XFD1048576"] = "far"
    book.save(path)
    assert is_tags_file(path)
    assert read_decisions(path)["f0"].concept == "T0"


def test_rows_of_numbers_and_dates_alone_are_alike_in_their_table(tmp_path: Path) -> None:
    labels = ["$750 3.5%, Feb 2024", "$500 5%, Oct 2024", "Notes payable"]
    tags = made_tags([["T0"]] * 6, labels=labels)
    alike, _ = numbered([tag.fact for tag in tags])
    close = [keys[0] for keys in alike]
    assert close[0] == close[1] == close[2] == close[3] != close[4] == close[5]
    elsewhere = tags[0].fact.context.model_copy(update={"context_id": "u"})
    other = tags[0].fact.model_copy(update={"context": elsewhere})
    said = tags[0].fact.model_copy(update={"value": "$750"})
    alike, _ = numbered([tags[0].fact, other, said])
    assert len({keys[0] for keys in alike}) == 3


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    from openpyxl import load_workbook

    write_reviewed(tmp_path / "t.xlsx", made_tags([["T0"]]), {"f0": Decision("f0", note="=HYPERLINK(1)\x01")})
    cells = [c for row in load_workbook(tmp_path / "t.xlsx").active.iter_rows() for c in row]
    assert all(c.data_type != "f" for c in cells)
    assert any(c.value == "'=HYPERLINK(1)\ufffd" for c in cells)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("t.csv", "fact_id,concept,state\nf0,T0,perhaps\n", "t.csv:2: field 'state': 'perhaps' is none of"),
        ("t.csv", "fact_id,state\nf0,accepted\n", "need a column 'concept'"),
        ("t.json", "{}", "not a list of tasks"),
        ("t.json", '[{"data": {}}]', "task 1 is not one of abduce's"),
        ("t.txt", "x", "is none of .jsonl"),
        ("t.xlsx", "no workbook", "is not an Excel workbook"),
    ],
)
def test_decisions_that_cannot_be_read_say_why(tmp_path: Path, name: str, text: str, problem: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as error:
        read_decisions(tmp_path / name)
    assert problem in str(error.value)
