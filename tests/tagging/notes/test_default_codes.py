"""What codes a note where no program is named: the model that comes with abduce."""

import pytest
from abduce import InputError, Tagger

CODES = {
    "Appendicitis": "K37",
    "T2DM": "E11.9",
    "CKD stage 4": "N18.4",
    "Acute on chronic systolic heart failure": "I50.23",
    "Sprain of right ankle": "S93.401A",
    "BMI 34.2": "Z68.34",
    "pneumonia": "J18.9",
    "pnuemonia": "J18.9",
    "BMI 41": "Z68.41",
    "R carpal tunnel syndrome": "G56.01",
    "acute otitis media, left": "H66.92",
    "OA of both knees": "M17.0",
    "bilateral cataracts": "H26.9",
    "haemorrhoids": "K64.9",
    "displaced fracture of the right femoral neck": "S72.001A",
    "open fracture of shaft of right tibia": "S82.201B",
    "Lt wrist fracture, follow-up with routine healing": "S62.102D",
    "s/p CABG": "Z95.1",
}


@pytest.fixture(scope="module")
def codes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("note")
    (folder / "note.txt").write_text("\n".join(f"- {mention}" for mention in CODES))
    (folder / "m.tsv").write_text("\n".join(["mention", *CODES]))
    return Tagger("icd10cm-2018").code_note(folder / "note.txt", folder / "m.tsv")


def test_a_term_that_is_the_mention_is_its_code(codes):
    assert {c.mention.fact.value: c.code for c in codes} == CODES
    assert codes.program == "trained"


def test_codes_have_a_confidence_and_say_what_may_be_accepted(codes):
    assert all(0 < c.confidence < 1 for c in codes)
    least = codes.thresholds.of(0.9)
    assert [c.code for c in codes.accept(0.9)] == [c.code for c in codes if c.confidence >= least]
    assert codes.accepted[0.9] == len(codes.accept(0.9))
    with pytest.raises(InputError, match=r"0\.42"):
        codes.accept(0.42)
