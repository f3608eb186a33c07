"""Which codes an exclusion note names, and what follows for the codes of a document."""

from __future__ import annotations

import pytest
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.types import Concept
from abduce.tagging.notes.excludes import Exclusion, Meeting, billable_children, exclusions
from abduce.tagging.notes.named_codes import named_codes
from hypothesis import given
from hypothesis import strategies as st


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
        # Real notes whose code stands without brackets, or whose range is written with two hyphens or "to"
        ("at risk for fall (history of fall) Z91.81", "Z91.81", True),
        ("conditions classified to A74.-", "A74.0", True),
        ("skin of nose C44.301, C44.311, C44.321, C44.391)", "C44.321", True),
        ("acquired absence of knee joint (Z89.52-", "Z89.521", True),
        ("specific infections classified to A00-B99", "B20", True),
        ("conditions classified to Q67.0-Q67.4", "Q67.5", False),
        ("any type in A15 (J65)", "A15.0", False),  # brackets say what is meant
        ("any type in A15 (J65)", "J65", True),
        ("primary cutaneous CD30-positive T-cell proliferations", "D30.00", False),
        ("influenza A/H1N1", "H11.0", False),
        ("atherosclerosis of the extremities (I70.2--I70.7-)", "I70.511", True),
        ("atherosclerosis of the extremities (I70.2--I70.7-)", "I70.8", False),
        ("drug dependence (F10.- -F19.-)", "F14.20", True),
        ("rheumatic fever with heart involvement (I01.0 -I01.9)", "I01.1", True),
        ("classified in S06.1- to S06.6- , S06.81- and S06.82- code to injury", "S06.4X0A", True),
        ("classified in S06.1- to S06.6- , S06.81- and S06.82- code to injury", "S06.890A", False),
        ("drugs (A00-R94 and T80-T88.6, T88.8)", "T88.7XXA", False),
        ("drugs (A00-R94 and T80-T88.6, T88.8)", "T88.8XXA", True),
        # Real notes that say what the further characters must be
        ("diabetic mononeuropathy (E08-E13 with .41)", "E11.41", True),
        ("diabetic mononeuropathy (E08-E13 with .41)", "E11.9", False),
        ("diabetic angiopathy (E08-E13 with .51-.52)", "E10.52", True),
        ("diabetic angiopathy (E08-E13 with .51-.52)", "E10.59", False),
        ("amnestic disorder (F10, F13, F19 with .26, .96)", "F13.96", True),
        ("amnestic disorder (F10, F13, F19 with .26, .96)", "F10.20", False),
        ("dementia (F10-F19, with .17, .27, .97)", "F18.27", True),
        ("drug use (F11-F19 with .15. .25, .95)", "F11.250", True),
        ("mononucleosis with liver disease (B27.0-B27.9 with .9)", "B27.09", True),
        ("mononucleosis with liver disease (B27.0-B27.9 with .9)", "B27.90", False),
        ("infectious mononucleosis (B27.0-B27.9 with 1)", "B27.11", True),
        ("infectious mononucleosis (B27.0-B27.9 with 1)", "B27.10", False),
        ("dysarthria (I69. with final characters -22)", "I69.122", True),
        ("dysarthria (I69. with final characters -22)", "I69.120", False),
        ("open fracture of foot (S92.-with 7th character B)", "S92.011B", True),
        ("open fracture of foot (S92.-with 7th character B)", "S92.011A", False),
        ("open fracture (S42.- with 7th character B or C)", "S42.201C", True),
        ("open fracture of elbow (S52.- with open fracture 7th character)", "S52.001E", True),
        ("open fracture of elbow (S52.- with open fracture 7th character)", "S52.001D", False),
        ("burns of shoulder (T22.- with fifth character 5)", "T22.251A", True),
        ("burns of shoulder (T22.- with fifth character 5)", "T22.241A", False),
        ("whooping cough (A37 with fifth-character 1)", "A37.01", True),
        ("poisoning (T36-T65 with fifth or sixth character 1-4 or 6)", "T39.011A", True),
        ("poisoning (T36-T65 with fifth or sixth character 1-4 or 6)", "T39.015A", False),
        ("poisoning (T36-T65 with fifth or sixth character 1-4 or 6)", "T36.91XA", True),
        ("acidosis - see categories E08-E10, E13 with ketoacidosis", "E10.10", True),
    ],
)
def test_which_codes_a_note_names(note: str, code: str, covered: bool) -> None:
    assert Exclusion("X", 1, "X", note).covers(code) is covered


def test_conflicts_leave_the_code_itself_out() -> None:
    metadata = {"excludes1": ["A00: this (A00.0)", "A00: that (R50.-)"]}
    meeting = Meeting({"A00.0": ["m1"], "R50.9": ["m2", "m3", "m4"]})
    (found,) = meeting.conflicts(exclusions("A00.0", metadata))
    assert found.line == "A00.0 and R50.9 (m2, m3 and 1 more): Excludes1 at A00: that (R50.-)"
    assert meeting.conflicts(exclusions("A00.0", metadata), but={"R50.9"}) == []


def test_a_note_that_names_several_codes_is_one_line() -> None:
    meeting = Meeting({"R50.9": ["m2"], "R51": ["m3"], "R10.0": ["m4"]})
    (found,) = meeting.conflicts(exclusions("A00.0", {"excludes2": ["A00: symptoms (R50-R52)"]}))
    assert found.line == "A00.0 and R50.9 (m2), R51 (m3): Excludes2 at A00: symptoms (R50-R52)"


def test_an_item_of_a_list_says_its_heading() -> None:
    notes = [
        "N30-N39: a (A00)",
        "N30-N39: infection (in):",
        "N30-N39: abortion (O00)",
        "N30-N39: birth (O80)",
    ]
    notes += ["N30-N39: anuria (R34)", "N39: calculus (N20)"]
    found = exclusions("N39.0", {"excludes1": notes})
    under = 'Excludes1 at section N30-N39: abortion (O00) [after "infection (in):"]'
    assert found[2].line == under
    assert [bool(e.under) for e in found] == [False, False, True, True, False, False]


CODES = st.from_regex(r"[A-TV-Z][0-9][0-9](\.[0-9]{1,3})?", fullmatch=True)


@given(CODES, st.text("0123456789", max_size=2))
def test_a_note_covers_its_code_and_all_below_it(code: str, more: str) -> None:
    below = code + ("." if "." not in code and more else "") + more
    for note in (f"x ({code})", f"x ({code}-)", f"classified to {code}", f"x ({code}-{code})"):
        assert any(n.covers(below) for n in named_codes(note)), note
    assert named_codes(f"nothing of {code.lower()}") == ()


@given(st.lists(CODES, min_size=3, max_size=3, unique=True))
def test_a_range_covers_what_lies_between_its_ends(codes: list[str]) -> None:
    first, middle, last = sorted(code[:3] for code in codes)
    (named,) = named_codes(f"x ({first}-{last})")
    assert named.covers(middle)
    assert named.covers(middle + ".1")
    assert named.covers(chr(ord(last[0]) + 1) + "00") is False


def test_levels_of_notes() -> None:
    metadata = {
        "chapter": "4",
        "chapter_excludes1": ["newborn (P70-P74)"],
        "excludes1": ["E08-E13: a", "E11: b", "E11.6: c"],
        "excludes2": ["E08-E13: d"],
    }
    found = exclusions("E11.65", metadata)
    assert [(e.kind, e.level) for e in found] == [
        (1, "chapter"), (1, "section"), (1, "category"), (1, "code"), (2, "section"),
    ]  # fmt: skip
    assert found[0].line == "Excludes1 at chapter 4: newborn (P70-P74)"
    assert found[1].line == "Excludes1 at section E08-E13: a"


def test_billable_children() -> None:
    codes = ("A00.0", "A00.9", "R50.9")
    taxonomy = Taxonomy([Concept(id=code, label=code, datatype="diagnosis") for code in codes], "icd-test")
    assert billable_children("a00", taxonomy) == ["A00.0", "A00.9"]
    assert billable_children("A00.-", taxonomy) == ["A00.0", "A00.9"]
    assert billable_children("A00.0", taxonomy) == []
    assert billable_children("A", taxonomy) == []


def test_codes_named_by_a_note() -> None:
    found = named_codes("a (A04.7-) or (B1.2, C00-C97)")
    assert [(n.first, n.last) for n in found] == [("A04.7", "A04.7"), ("C00", "C97")]
