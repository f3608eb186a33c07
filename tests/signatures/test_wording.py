"""How clinicians write what the classification words otherwise."""

import pytest
from abduce.signatures.wording import Wording, load_wording, stem

CLINICAL = load_wording("icd10cm")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("HTN", "hypertension"),
        ("htn", "htn"),
        ("T2DM", "type 2 diabetes mellitus"),
        ("t2dm", "type 2 diabetes mellitus"),
        ("DM II with nephropathy", "type 2 diabetes mellitus with nephropathy"),
        ("CKD stage 3", "chronic kidney disease stage 3"),
        ("CHF", "heart failure"),
        ("h/o UTI", "history of urinary tract infection"),
        ("MIld pain", "MIld pain"),
        ("L knee pain", "left knee pain"),
        ("L4 radiculopathy", "L4 radiculopathy"),
        ("L-spine stenosis", "lumbar spine stenosis"),
        ("CKD 4", "chronic kidney disease, stage 4"),
        ("CKD IIIb", "chronic kidney disease, stage 3"),
        ("Bilat cataracts", "bilateral cataracts"),
        ("Haemoptysis and leg oedema", "Hemoptysis and localized edema"),
        ("swollen toes", "swollen toes"),
        ("distal radius fracture", "lower end of radius fracture"),
    ],
)
def test_abbreviations_are_read_in_the_words_of_the_classification(written, read):
    assert CLINICAL.expand(written) == read


def test_a_text_without_abbreviations_is_itself():
    assert CLINICAL.expand("Pneumonia of the left lung") == "Pneumonia of the left lung"
    assert load_wording("us-gaap").expand("HTN") == "HTN"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("diabetes", "diabetic"),
        ("hypertension", "hypertensive"),
        ("anaemia", "anemia"),
        ("tumour", "tumor"),
        ("gynaecological", "gynecological"),
    ],
)
def test_forms_of_a_word_have_one_stem(one, other):
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("nephritis", "nephrosis"), ("hypertension", "hypotension"), ("hyperkalemia", "hypokalemia")],
)
def test_words_of_another_meaning_have_another(one, other):
    assert stem(one) != stem(other)


def test_words_that_are_the_same_are_one():
    wording = Wording("made", same=[["kidney", "renal"], ["2", "ii"]])
    assert wording.stems("Renal stage II") == wording.stems("kidney stage 2")
