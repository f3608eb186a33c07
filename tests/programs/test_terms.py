"""A mention against the terms of codes."""

import pytest
from abduce.programs.sayings import MentionSides
from abduce.programs.terms import Terms, read_term
from abduce.signatures.types import Concept
from abduce.signatures.wording import load_wording

CLINICAL = load_wording("icd10cm")
TERMS = Terms(CLINICAL)


def concept(id_, label, *said, parent="", **metadata):
    definition = " ; ".join([*said, f"Chapter > {label}"])
    return Concept(id=id_, label=label, definition=definition, metadata={"parent": parent or id_, **metadata})


HEART = [
    concept(
        "I50.9",
        "Heart failure, unspecified",
        "Congestive heart failure NOS",
    ),
    concept(
        "I50.23",
        "Acute on chronic systolic (congestive) heart failure",
        "Failure, failed, heart (acute) (senile), systolic (congestive), acute, and (on) chronic",
    ),
    concept("I50.22", "Chronic systolic (congestive) heart failure"),
]


def best(mention, concepts):
    found = TERMS.fits(mention, concepts)
    return max(range(len(concepts)), key=lambda i: (found[i].named, found[i].alike))


@pytest.mark.parametrize(
    ("mention", "place"),
    [
        ("Acute on chronic systolic heart failure", 1),
        ("acute on chronic systolic (congestive) heart failure", 1),
        ("chronic systolic heart failure", 2),
        ("heart failure", 0),
    ],
)
def test_the_term_that_is_the_mention_is_the_best(mention, place):
    assert best(mention, HEART) == place
    assert TERMS.fits(mention, HEART)[place].named == 1.0


def test_a_main_term_is_its_default_code():
    codes = [
        concept("K36", "Other appendicitis", "Appendicitis (pneumococcal) (retrocecal), chronic (recurrent)"),
        concept("K37", "Unspecified appendicitis", "Appendicitis (pneumococcal) (retrocecal)"),
        concept("K35.80", "Unspecified acute appendicitis"),
    ]
    named = [fit.named for fit in TERMS.fits("Appendicitis", codes)]
    assert named[1] == 1.0
    assert named[2] == 0.0


def test_a_term_that_many_codes_share_says_less_of_each():
    codes = [concept(f"E11.{i}", f"Diabetes with finding {i}", "diabetes NOS") for i in range(4)]
    assert [fit.named for fit in TERMS.fits("diabetes", codes)] == [0.25] * 4
    twins = [concept(f"S72.{i}", f"Fracture {i}", "broken thing", parent="S72") for i in range(4)]
    assert [fit.named for fit in TERMS.fits("broken thing", twins)] == [1.0] * 4


def test_what_need_not_be_said():
    needed = read_term("Sprain of unspecified ligament of right ankle, initial encounter", CLINICAL).needed
    assert needed == set(CLINICAL.stems("sprain right ankle"))
    label = (
        "Hypertensive heart and chronic kidney disease with heart failure and stage 1 through stage 4 "
        "chronic kidney disease, or unspecified chronic kidney disease"
    )
    said = CLINICAL.stems("Hypertensive heart and chronic kidney disease with heart failure")
    assert read_term(label, CLINICAL).needed == set(said)
    assert read_term("Osteoporosis without current pathological fracture", CLINICAL).needed == set(
        CLINICAL.stems("osteoporosis")
    )


def test_a_number_is_met_by_its_range():
    codes = [
        concept(f"Z68.{n}", f"Body mass index (BMI) {n}.0-{n}.9, adult", parent=f"Z68.{n}") for n in (33, 34)
    ]
    fits = TERMS.fits(CLINICAL.expand("BMI 34.2"), codes)
    assert fits[1].named == 1.0
    assert fits[0].named == 0.0


def test_what_a_code_has_against_a_mention():
    left = concept("L", "Pain in left knee", laterality=["left"])
    healed = concept("D", "Fracture, subsequent encounter", encounter=["subsequent_encounter"])
    fourth = concept("N18.4", "Chronic kidney disease, stage 4 (severe)")
    assert MentionSides.of("right knee pain").against(left) == (True, False, False, False)
    assert MentionSides.of("knee pain").against(left) == (False, True, False, False)
    assert MentionSides.of("fracture").against(healed) == (False, False, True, False)
    assert MentionSides.of("healing fracture").against(healed) == (False, False, False, False)
    assert MentionSides.of("CKD stage III").against(fourth) == (False, False, False, True)
    assert MentionSides.of("CKD stage IV").against(fourth) == (False, False, False, False)
    assert MentionSides.of("acute kidney disease").against(fourth)[3]
