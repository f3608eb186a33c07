"""The inventory builder on a release made by hand, and on the official files where they are."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from abduce.data.build.icd10cm.addenda import apply_to_index, apply_to_tabular, parse_changes
from abduce.data.build.icd10cm.alphabetic import IndexPath
from abduce.data.build.icd10cm.build import build_icd10cm
from abduce.data.build.icd10cm.release import Release
from abduce.data.build.icd10cm.tabular import Node, read_tabular
from abduce.data.icd10cm import compact_row, load_inventory
from abduce.data.icd10cm_fields import documentation
from abduce.retrievers.errors import InputError
from clinical_release import DATA, TABULAR

OFFICIAL = DATA / "raw" / "icd10cm"


def rows_of(folder: Path) -> dict[str, dict[str, Any]]:
    with gzip.open(folder / "icd10cm_fy2018_taxonomy.jsonl.gz", "rt") as stream:
        return {(r := json.loads(line))["code"]: r for line in stream}


@pytest.fixture
def rows(release: Path, tmp_path: Path) -> dict[str, dict[str, Any]]:
    build_icd10cm(release, 2018, tmp_path / "out")
    return rows_of(tmp_path / "out")


def test_every_billable_code_and_no_other(rows: dict[str, dict[str, Any]]) -> None:
    assert list(rows) == ["A00.0", "A00.9", "S00.00XA", "S00.00XS", "S40.011A", "S40.012A", "S40.019A"]


def test_documentation_in_the_papers_order(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["A00.0"]["documentation"] == (
        "Classical cholera ; diseases recognized as communicable ; "
        "Certain infectious and parasitic diseases > Intestinal infectious diseases > "
        "Cholera > Cholera due to Vibrio cholerae 01, biovar cholerae ; "
        "Cholera (Asiatic) (epidemic), classical"
    )


def test_exclusion_notes_stay_out_of_the_documentation(rows: dict[str, dict[str, Any]]) -> None:
    row = rows["A00.9"]
    assert row["excludes1"] == ["A00: carrier of cholera (Z22.1)"]
    assert "carrier" not in row["documentation"]


def test_a_7th_character_code_inherits_from_its_base(rows: dict[str, dict[str, Any]]) -> None:
    row = rows["S00.00XA"]
    assert row["tabular_node"] == row["parent"] == "S00.00"
    assert row["seventh_character"] == {"char": "A", "meaning": "initial encounter"}
    assert row["inclusion_terms"] == []
    assert row["inclusion_terms_base"] == ["Scalp injury NOS"]
    assert row["index_terms_seventh_char_base"] == ["Injury, scalp"]
    assert row["path_codes"] == ["19", "S00-S09", "S00", "S00.0", "S00.00", "S00.00XA"]


def test_a_path_to_a_category_belongs_to_none_of_its_codes(rows: dict[str, dict[str, Any]]) -> None:
    assert not any(
        "head" in t for r in rows.values() for t in r["index_terms"] + r["index_terms_seventh_char_base"]
    )


def test_neoplasm_table_terms_name_their_column(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["A00.9"]["neoplasm_table_terms"] == ["Neoplasm, malignant primary"]
    assert documentation(rows["A00.9"], ("alphabetic",)) == rows["A00.9"]["documentation"].removesuffix(
        " ; Neoplasm, malignant primary"
    )


def test_codes_that_the_year_added_are_not_in_the_codiesp_inventory(rows: dict[str, dict[str, Any]]) -> None:
    assert [c for c, r in rows.items() if not r["in_codiesp_inventory"]] == ["A00.0"]


def test_sides_are_judged_among_the_inventorys_labels(rows: dict[str, dict[str, Any]]) -> None:
    assert {c: r["laterality"] for c, r in rows.items() if c.startswith("S")} == {
        "S00.00XA": ["no_side"],
        "S00.00XS": ["no_side"],
        "S40.011A": ["right"],
        "S40.012A": ["left"],
        "S40.019A": ["unspecified_side"],
    }


def test_the_compact_form_loads_as_the_same_taxonomy(rows: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    compact = tmp_path / "compact.jsonl"
    compact.write_text("".join(json.dumps(compact_row(r)) + "\n" for r in rows.values()))
    small = load_inventory(compact, "x", whole=True)
    full = load_inventory(tmp_path / "out" / "icd10cm_fy2018_taxonomy.jsonl.gz", "x", whole=True)
    assert list(small) == list(full)
    assert len(load_inventory(compact)) == len(full) - 1
    for taxonomy in (small, full):
        metadata = taxonomy["A00.9"].metadata
        assert metadata["chapter_excludes1"] == ["of the whole chapter"]
        assert metadata["excludes1"] == ["A00: carrier of cholera (Z22.1)"]
        assert "chapter_excludes1" not in taxonomy["S00.00XA"].metadata


def test_a_file_without_the_chapters_notes_takes_them_from_the_nodes_beside(
    rows: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    plain = [{k: v for k, v in r.items() if not k.startswith("chapter_")} for r in rows.values()]
    file = out / "icd10cm_fy2018_taxonomy.jsonl"
    file.write_text("".join(json.dumps(r) + "\n" for r in plain))
    assert load_inventory(file)["A00.9"].metadata["chapter_excludes1"] == ["of the whole chapter"]
    (out / "icd10cm_fy2018_tabular_nodes.jsonl.gz").unlink()
    assert "chapter_excludes1" not in load_inventory(file)["A00.9"].metadata


def test_comparing_names_the_field_and_the_code_that_differ(release: Path, tmp_path: Path) -> None:
    build_icd10cm(release, 2018, tmp_path / "a")
    other = rows_of(tmp_path / "a")
    other["A00.0"]["label"] = "Something else"
    theirs = tmp_path / "theirs.jsonl"
    theirs.write_text("".join(json.dumps(r) + "\n" for r in other.values()))
    found = {a.field: a for a in build_icd10cm(release, 2018, tmp_path / "b", theirs).agreement}
    assert (found["label"].equal, found["label"].codes, found["label"].first) == (6, 7, "A00.0")
    assert found["path_text"].equal == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: (f / "icd10cm_tabular_2018.xml").write_text("<ICD10CM.tabular><chapter>"), "is not XML"),
        (
            lambda f: (f / "icd10cm_tabular_2018.xml").write_text("<other/>"),
            "is not an ICD-10-CM tabular list",
        ),
        (
            lambda f: (f / "icd10cm_tabular_2018.xml").write_text(
                TABULAR.replace("<version>2018", "<version>2017")
            ),
            "says that it is of 2017",
        ),
        (
            lambda f: (f / "icd10cm_index_2018.xml").write_text(
                '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><ICD10CM.index>&e;</ICD10CM.index>'
            ),
            "declares a document type",
        ),
        (lambda f: (f / "codes.zip").write_bytes((f / "codes.zip").read_bytes()[:60]), "is a corrupted zip"),
        (
            lambda f: (f / "icd10cm_order_2018.txt").write_text("00001 A00     7 Cholera\n"),
            "order_2018.txt:1: column 15 must be 0 or 1",
        ),
        (
            lambda f: zipfile.ZipFile(f / "codes.zip", "w").writestr(
                "icd10cm_codes_2018.txt", "nonsense here\n"
            ),
            "icd10cm_codes_2018.txt:1: 'nonsens' is not an ICD-10-CM code",
        ),
    ],
)
def test_a_bad_release_is_one_clear_line_and_writes_nothing(
    release: Path, tmp_path: Path, change: Any, message: str
) -> None:
    change(release)
    with pytest.raises(InputError, match=message) as caught:
        build_icd10cm(release, 2018, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_a_year_that_is_not_there_names_those_that_are(release: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no codes file of 2019; there is 2018"):
        build_icd10cm(release, 2019, tmp_path / "out")


def test_an_entity_is_never_resolved(release: Path) -> None:
    secret = release / "secret.txt"
    secret.write_text("SECRET")
    (release / "icd10cm_tabular_2018.xml").write_text(
        f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
        "<ICD10CM.tabular><chapter><name>1</name><desc>&e;</desc></chapter></ICD10CM.tabular>"
    )
    with pytest.raises(InputError) as caught:
        read_tabular(Release(release).need("tabular", 2018))
    assert "SECRET" not in str(caught.value)


def test_addenda_change_notes_in_place() -> None:
    nodes = {
        "chapter 1": Node("chapter 1", "chapter", None, "Certain infectious diseases"),
        "section A00-A09": Node("section A00-A09", "section", "chapter 1", "Intestinal infectious diseases"),
        "A05": Node(
            "A05", "code", "section A00-A09", "Other", {"excludes1": ["infection (A04.7)", "other (B1)"]}
        ),
    }
    text = (
        "TABULAR LIST\n2018 Addenda\nNo Change Chapter 1\n"
        "No Change Intestinal infectious diseases (A00-A09)\nAdd Includes: all of the\ngut (A00-A09)\n \n"
        "No Change A05 Other\nNo Change Excludes1:\nRevise from infection (A04.7)\n"
        "Revise to infection (A04.7-)\nDelete not there (X1)\nAdd A05.1 New code\nAdd Newly included\n"
        "Add The appropriate 7th character is to be added\nAdd A initial encounter\n"
    )
    assert apply_to_tabular(nodes, list(parse_changes(text))) == 1
    assert nodes["section A00-A09"].notes == {"includes": ["all of the gut (A00-A09)"]}
    assert nodes["A05"].notes["excludes1"] == ["other (B1)", "infection (A04.7-)"]
    assert nodes["A05.1"].notes == {"inclusionTerm": ["Newly included"]}
    assert nodes["A05.1"].seventh == {"A": "initial encounter"}


def test_addenda_change_index_paths_by_level() -> None:
    paths = [
        IndexPath("alphabetic", ("Abscess",), ("(acute)",), "L02.91"),
        IndexPath("alphabetic", ("Abscess", "wound"), ("(acute)", ""), "T81.40"),
    ]
    text = (
        "No Change Abscess (acute) L02.91\nRevise from - wound T81.40\n"
        "Revise to - wound (see also Sepsis) T81.4\n"
        "Add - - deep (old) - see Elsewhere\nAdd - - late E85.4 [I43]\nDelete - nothing Q1\n"
    )
    found = {
        (p.path, p.code, p.manifestation) for p in apply_to_index(paths, list(parse_changes(text)), "index")
    }
    assert found == {
        ("Abscess (acute)", "L02.91", False),
        ("Abscess (acute), wound", "T81.4", False),
        ("Abscess (acute), wound, late", "E85.4", False),
        ("Abscess (acute), wound, late", "I43", True),
    }


@pytest.mark.skipif(not OFFICIAL.exists(), reason="needs the official release files")
def test_the_official_release_agrees_with_the_projects_inventory(tmp_path: Path) -> None:
    report = build_icd10cm(OFFICIAL, 2018, tmp_path, DATA / "icd10cm_fy2018_taxonomy.jsonl.gz")
    assert (report.codes, report.codiesp) == (71_704, 71_344)
    assert not report.only_ours
    assert not report.only_theirs
    agreement = {a.field: a.equal / a.codes for a in report.agreement}
    for field in (
        "label",
        "short_label",
        "chapter",
        "section",
        "category",
        "tabular_node",
        "seventh_character",
    ):
        assert agreement[field] == 1.0, field
    assert min(agreement.values()) > 0.99
