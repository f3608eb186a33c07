"""A tiny ICD-10-CM release and a tiny CodiEsp archive, written by hand in the official formats."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "clinical"

CODES = """\
A000    Cholera due to Vibrio cholerae 01, biovar cholerae
A009    Cholera, unspecified
S0000XA Unspecified superficial injury of scalp, initial encounter
S0000XS Unspecified superficial injury of scalp, sequela
S40011A Contusion of right shoulder, initial encounter
S40012A Contusion of left shoulder, initial encounter
S40019A Contusion of unspecified shoulder, initial encounter
"""

HEADERS = {"A00": "Cholera", "S00": "Superficial injury of head", "S000": "Superficial injury of scalp",
           "S0000": "Unspecified superficial injury of scalp", "S40": "Superficial injury of shoulder",
           "S4001": "Contusion of shoulder", "S40011": "Contusion of right shoulder",
           "S40012": "Contusion of left shoulder", "S40019": "Contusion of unspecified shoulder"}  # fmt: skip

TABULAR = """<?xml version="1.0" encoding="utf-8"?>
<ICD10CM.tabular><version>2018</version>
<chapter><name>1</name><desc>Certain infectious and parasitic diseases (A00-B99)</desc>
 <includes><note>diseases recognized as communicable</note></includes>
 <excludes1><note>of the whole chapter</note></excludes1>
 <section id="A00-A09"><desc>Intestinal infectious diseases (A00-A09)</desc>
  <diag><name>A00</name><desc>Cholera</desc><excludes1><note>carrier of cholera (Z22.1)</note></excludes1>
   <diag><name>A00.0</name><desc>Cholera due to Vibrio cholerae 01, biovar cholerae</desc>
    <inclusionTerm><note>Classical cholera</note></inclusionTerm></diag>
   <diag><name>A00.9</name><desc>Cholera, unspecified</desc></diag>
   <diag><name>A00.5</name><desc>Gone since</desc></diag>
  </diag></section></chapter>
<chapter><name>19</name><desc>Injury, poisoning and certain other consequences (S00-T88)</desc>
 <section id="S00-S09"><desc>Injuries to the head (S00-S09)</desc>
  <diag><name>S00</name><desc>Superficial injury of head</desc>
   <sevenChrDef><extension char="A">initial encounter</extension><extension char="S">sequela</extension>
   </sevenChrDef>
   <diag><name>S00.0</name><desc>Superficial injury of scalp</desc>
    <diag><name>S00.00</name><desc>Unspecified superficial injury of scalp</desc>
     <inclusionTerm><note>Scalp injury NOS</note></inclusionTerm></diag></diag></diag></section>
 <section id="S40-S49"><desc>Injuries to the shoulder (S40-S49)</desc>
  <diag><name>S40</name><desc>Superficial injury of shoulder</desc>
   <sevenChrDef><extension char="A">initial encounter</extension></sevenChrDef>
   <diag><name>S40.01</name><desc>Contusion of shoulder</desc>
    <diag><name>S40.011</name><desc>Contusion of right shoulder</desc></diag>
    <diag><name>S40.012</name><desc>Contusion of left shoulder</desc></diag>
    <diag><name>S40.019</name><desc>Contusion of unspecified shoulder</desc></diag></diag></diag></section>
</chapter></ICD10CM.tabular>
"""

INDEX = """<?xml version="1.0" encoding="utf-8"?>
<ICD10CM.index><version>2018</version><letter><title>C</title>
 <mainTerm><title>Cholera<nemod>(Asiatic) (epidemic)</nemod></title><code>A00.9</code>
  <term level="1"><title>classical</title><code>A00.0</code></term>
  <term level="1"><title>carrier</title><see>Carrier</see></term></mainTerm>
 <mainTerm><title>Injury</title><term level="1"><title>scalp</title><code>S00.00</code></term>
  <term level="1"><title>head</title><code>S00.-</code></term>
  <term level="1"><title>nowhere</title><code>Q99.9</code></term></mainTerm>
</letter></ICD10CM.index>
"""

NEOPLASM = """<?xml version="1.0" encoding="utf-8"?>
<ICD10CM.index><version>2018</version>
<indexHeading><head col="1">Neoplasm</head><head col="2">Malignant Primary</head></indexHeading>
<letter><title>N</title><mainTerm><title>Neoplasm</title><cell col="2">A00.9</cell><cell col="3">-</cell>
</mainTerm></letter></ICD10CM.index>
"""


def order_lines() -> str:
    lines = [(code, "0", title) for code, title in HEADERS.items()]
    lines += [(line[:7].strip(), "1", line[8:]) for line in CODES.splitlines()]
    return "".join(
        f"{i:05d} {code:<7} {flag} {title[:60]:<60} {title}\n"
        for i, (code, flag, title) in enumerate(sorted(lines), 1)
    )


def write_release(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "codes.zip", "w") as archive:
        archive.writestr("icd10cm_codes_2018.txt", CODES)
        archive.writestr(
            "icd10cm_codes_addenda_2018.txt",
            "Add:         A000    Cholera due to\nDelete:      A005    Gone\n",
        )
    (folder / "icd10cm_order_2018.txt").write_text(order_lines())
    (folder / "icd10cm_tabular_2018.xml").write_text(TABULAR)
    (folder / "icd10cm_index_2018.xml").write_text(INDEX)
    (folder / "icd10cm_neoplasm_2018.xml").write_text(NEOPLASM)
    return folder


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return write_release(tmp_path / "release")


CASES = {
    "S1": (
        "Paciente con cólera clásico. Presentaba fiebre alta.\nFue dado de alta sin fiebre.\n",
        "A patient with classical cholera.\nHe had high fever.\nHe was discharged without fever.\n",
    ),
    "S2": (
        "Mujer con cólera clásico y tos. La fiebre alta cedió.\n",
        "A woman with classical cholera and cough.\nThe high fever subsided.\n",
    ),
    "S3": (
        "Tensión alta.\nGlucosa alta.\nVelocidad alta.\n",
        "High tension.\nHigh glucose.\nHigh speed.\n",
    ),
}

ANNOTATIONS = (
    "S1\tDIAGNOSTICO\ta00.0\tcólera clásico\t13 27\n"
    "S1\tPROCEDIMIENTO\tbt41zzz\talta\t0 4\n"
    "S1\tDIAGNOSTICO\tz99.9\tfiebre alta\t40 51\n"
    "S1\tDIAGNOSTICO\ta00.9\tfiebre alta\t40 51\n"
    "S1\tDIAGNOSTICO\ta00.9\tfiebre alta\t40 51\n"
    "S2\tDIAGNOSTICO\ta00.0\tcólera clásico\t10 24\n"
)


def write_corpus(folder: Path, table: str = ANNOTATIONS) -> Path:
    for name, place in (("text_files", 0), ("text_files_en", 1)):
        (folder / "dev" / name).mkdir(parents=True, exist_ok=True)
        for case, texts in CASES.items():
            (folder / "dev" / name / f"{case}.txt").write_text(texts[place], encoding="utf-8")
    (folder / "dev" / "devX.tsv").write_text(table, encoding="utf-8")
    return folder


@pytest.fixture
def corpus_folder(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "codiesp")
