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


UNSAID = {"parent": "H66.9", "laterality": ["unspecified_side"]}
SIDED = [
    concept("H66.90", "Otitis media, unspecified ear", "Otitis (acute), media, acute, subacute", **UNSAID),
    concept("H66.92", "Otitis media, left ear", parent="H66.9", laterality=["left"]),
    concept("H65.02", "Acute serous otitis media, left ear", parent="H65.0", laterality=["left"]),
]


def test_a_code_of_the_mentions_side_has_the_terms_of_the_one_without_a_side():
    named = [fit.named for fit in TERMS.fits("acute otitis media, left", SIDED)]
    assert named == [0.0, 1.0, 0.0]
    assert best("acute otitis media", SIDED) == 0


def test_a_heading_that_names_no_side_is_a_term_of_the_codes_below_it():
    codes = [
        Concept(
            id=id_,
            label=f"Carpal tunnel syndrome, {side} upper limb",
            definition=f"Chapter > Carpal tunnel syndrome > Carpal tunnel syndrome, {side} upper limb",
            metadata={"parent": "G56.0", "laterality": [field]},
        )
        for id_, side, field in (
            ("G56.00", "unspecified", "unspecified_side"),
            ("G56.01", "right", "right"),
            ("G56.02", "left", "left"),
        )
    ]
    assert best("right carpal tunnel syndrome", codes) == 1
    assert best("carpal tunnel syndrome", codes) == 0


def test_a_side_asks_nothing_of_a_code_that_knows_none():
    codes = [
        concept("H26.9", "Unspecified cataract", laterality=["no_side"]),
        concept("H26.213", "Cataract with neovascularization, bilateral", laterality=["bilateral"]),
        concept("R52", "Pain, unspecified", laterality=["no_side"]),
        concept("L03.90", "Cellulitis, unspecified", laterality=["no_side"]),
        concept("L03.116", "Cellulitis of left leg", laterality=["left"]),
    ]
    assert [fit.named for fit in TERMS.fits("bilateral cataracts", codes)] == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert best("cellulitis of left leg", codes) == 4
    assert TERMS.fits("right ear pain", codes)[2].named == 0.0


def test_an_organ_of_a_heading_need_not_stand_in_the_term():
    codes = [
        Concept(id=id_, label=label, definition=f"{chapter} > {label}", metadata={"laterality": [side]})
        for id_, label, chapter, side in (
            ("H40.9", "Unspecified glaucoma", "Diseases of the eye and adnexa", "no_side"),
            ("H44.512", "Absolute glaucoma, left eye", "Diseases of the eye and adnexa", "left"),
            ("X", "Unspecified glaucoma", "Symptoms", "no_side"),
        )
    ]
    named = [TERMS.fits("glaucoma, left eye", [code])[0].named for code in codes]
    assert named == [1.0, 0.0, 0.0]


def test_a_term_that_excludes_what_is_not_said_stands_behind_one_that_does_not():
    codes = [
        concept("K64.0", "First degree hemorrhoids", "Hemorrhoids (bleeding) without prolapse"),
        concept("K64.9", "Unspecified hemorrhoids"),
    ]
    assert [fit.named for fit in TERMS.fits("hemorrhoids", codes)] == [0.0, 1.0]
    assert [fit.named for fit in TERMS.fits("hemorrhoids without prolapse", codes)] == [1.0, 0.0]


@pytest.mark.parametrize(("said", "place"), [("41", 1), ("43.2", 1), ("17", 0), ("72.5", 2), ("71", 2)])
def test_a_number_of_any_form_is_met_by_its_range(said, place):
    labels = ("19.9 or less", "40.0-44.9", "70 or greater")
    codes = [
        concept(f"Z68.{n}", f"Body mass index (BMI) {label}, adult", parent=f"Z68.{n}")
        for n, label in enumerate(labels)
    ]
    named = [fit.named for fit in TERMS.fits(CLINICAL.expand(f"BMI {said}"), codes)]
    assert named == [float(n == place) for n in range(3)]


@pytest.mark.parametrize(
    ("mention", "label", "against"),
    [
        ("fracture of tibia", "initial encounter for closed fracture", False),
        ("fracture of tibia", "initial encounter for open fracture type I or II", True),
        ("open fracture of tibia", "initial encounter for open fracture type I or II", False),
        ("open fracture of tibia", "initial encounter for closed fracture", True),
        ("healing fracture", "subsequent encounter for closed fracture with routine healing", False),
        ("healing fracture", "subsequent encounter for closed fracture with delayed healing", True),
        ("fracture, non-union", "subsequent encounter for closed fracture with nonunion", False),
        ("fracture, non-union", "subsequent encounter for closed fracture with routine healing", True),
    ],
)
def test_a_fracture_is_closed_and_heals_unless_the_mention_says_otherwise(mention, label, against):
    encounter = ["initial_encounter" if label.startswith("initial") else "subsequent_encounter"]
    code = concept("S82", f"Fracture of tibia, {label}", encounter=encounter)
    assert MentionSides.of(mention).against(code)[2] is against


def test_words_of_a_later_visit_need_not_stand_in_a_term():
    codes = [concept("S62.102D", "Fracture of wrist", laterality=["no_side"])]
    assert TERMS.fits("wrist fracture, follow-up with routine healing", codes)[0].named == 1.0
    assert TERMS.fits("wrist fracture with infection", codes)[0].named == 0.0
