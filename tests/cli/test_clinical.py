"""The clinical commands on the command line: what they print, and bad input as one line and exit code 2."""

from __future__ import annotations

import csv
import json
import zipfile
from pathlib import Path

import pytest
from clinical_release import write_corpus


@pytest.fixture
def built(cli, release: Path, tmp_path: Path) -> Path:
    out = tmp_path / "data" / "clinical"
    ran = cli("data", "build", "icd10cm", "--from", release, "--year", 2018, "--out", out)
    assert ran.code == 0, ran.err
    assert "ICD-10-CM 2018: 7 billable codes, 6 of them for CodiEsp" in ran.out
    assert "read tabular: icd10cm_tabular_2018.xml (2018)" in ran.out
    return out


def test_build_both_and_code_a_note(cli, built: Path, tmp_path: Path) -> None:
    inventory = built / "icd10cm_fy2018_taxonomy.jsonl.gz"
    corpus = write_corpus(tmp_path / "corpus")
    ran = cli("data", "build", "codiesp", "--from", corpus, "--inventory", inventory, "--out", built)
    assert ran.code == 0, ran.err
    assert "dropped 3: code outside the inventory" in ran.out
    manifest = json.loads((built / "codiesp_manifest.json").read_text())
    assert manifest["kept"]["dev"] == 1

    note, mentions = tmp_path / "note.txt", tmp_path / "m.csv"
    note.write_text("Contusion of the right shoulder.")
    mentions.write_text("mention,code\nright shoulder,S40\n")
    tag = ("tag", note, "--taxonomy", "icd10cm-2018", "--mentions", mentions, "--data", built.parent)
    ran = cli(*tag)
    assert ran.code == 0, ran.err
    said = " ".join(ran.out.split())
    assert "Your code S40: a category with 3 billable codes, ranked among these alone" in said
    assert "-> │ S40.011A" in ran.out
    ran = cli(*tag, "--out", tmp_path / "codes.csv")
    assert "1 mention, 1 coded, 0 with warnings" in ran.out
    assert "S40.011A" in (tmp_path / "codes.csv").read_text()

    index = tmp_path / "icd.index"
    ran = cli("index", "build", "icd10cm-2018", index, "--data", built.parent)
    assert ran.code == 0, ran.err
    ran = cli("tag", note, "--taxonomy", index, "--mentions", mentions, "--out", tmp_path / "stored.csv")
    assert ran.code == 0, ran.err
    assert (tmp_path / "stored.csv").read_text() == (tmp_path / "codes.csv").read_text()
    given = ("--precedents", built / "facts_dev.jsonl.gz", "--program", "precedents + locus")
    voted = cli(*tag[:-2], "--taxonomy", index, *given)
    assert voted.code == 0, voted.err
    assert "-> │ S40.011A" in voted.out
    voted = cli(*tag, "--program", "precedents + locus")
    assert voted.code == 0, voted.err
    assert "-> │ S40.011A" in voted.out


def test_codes_new_in_the_year_are_coded_and_an_index_of_the_evaluation_says_what_it_lacks(
    cli, built: Path, tmp_path: Path
) -> None:
    note, mentions = tmp_path / "note.txt", tmp_path / "m.csv"
    note.write_text("Classical cholera.")
    mentions.write_text("mention,code\nClassical cholera,A00.0\nClassical cholera,\n")
    out = tmp_path / "codes.csv"
    tag = ("tag", note, "--mentions", mentions, "--out", out)
    ran = cli(*tag, "--taxonomy", "icd10cm-2018", "--data", built.parent)
    assert ran.code == 0, ran.err
    first, second = csv.DictReader(out.read_text().splitlines())
    assert first["asked"] == "A00.0: billable, rank 1"
    assert first["code"] == second["code"] == "A00.0"
    assert first["excludes1"] == "chapter 1: of the whole chapter | A00: carrier of cholera (Z22.1)"

    index = tmp_path / "evaluation.index"
    assert cli("index", "build", "clinical", index, "--data", built.parent).code == 0
    tag = ("tag", note, "--mentions", mentions, "--data", built.parent, "--out", tmp_path / "no.csv")
    ran = cli(*tag, "--taxonomy", index)
    assert (ran.code, len(ran.errors)) == (2, 1)
    assert (
        "m.csv:2: field 'code': A00.0 is neither one of the 6 codes of icd10cm-2018 nor a category" in ran.err
    )
    assert "the whole release (7 codes) has it: index icd10cm-2018, not clinical" in ran.err

    mentions.write_text("mention,code\nClassical cholera,A00.5\n")  # no index has it
    whole = tmp_path / "whole.index"
    assert cli("index", "build", "icd10cm-2018", whole, "--data", built.parent).code == 0
    for folder in (index, whole):
        ran = cli(*tag, "--taxonomy", folder)
        assert (ran.code, len(ran.errors)) == (2, 1)
        assert "A00.5 is neither one of" in ran.err
        assert "release" not in ran.err
    assert not (tmp_path / "no.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("data", "build", "icd10cm", "--from", "RELEASE", "--year", 2019), "holds no codes file of 2019"),
        (("data", "build", "icd10cm", "--from", "NOWHERE"), "no such folder"),
        (("data", "build", "codiesp", "--from", "NOWHERE", "--inventory", "NOWHERE"), "no such file"),
        (("tag", "NOTE", "--taxonomy", "icd10cm-2018", "--mentions", "EMPTY"), "has no header line"),
        (
            ("tag", "NOTE", "--taxonomy", "icd10cm-2018", "--mentions", "MENTIONS"),
            "'x' does not stand in the note",
        ),
        (("tag", "--taxonomy", "icd10cm-2018", "--mentions", "MENTIONS"), "needs the note they stand in"),
        (
            ("tag", "NOTE", "--mentions", "GOOD"),
            "--mentions needs the release to code in: give --taxonomy icd10cm-2018",
        ),
        (
            ("tag", "NOTE", "--taxonomy", "icd10cm-2019", "--mentions", "GOOD"),
            "no taxonomy 'icd10cm-2019'",
        ),
        (
            ("tag", "NOTE", "--mentions", "MENTIONS", "--explain", "m1"),
            "--explain is for documents and facts files, not for a note",
        ),
        (("tag", "NOTE", "--mentions", "MENTIONS", "--gold"), "--gold is for documents"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    cli, release: Path, tmp_path: Path, arguments: tuple[object, ...], message: str
) -> None:
    files = {
        "RELEASE": release,
        "NOWHERE": tmp_path / "nowhere",
        "NOTE": tmp_path / "note.txt",
        "EMPTY": tmp_path / "empty.csv",
        "MENTIONS": tmp_path / "m.csv",
        "GOOD": tmp_path / "good.csv",
    }
    files["NOTE"].write_text("A note.")
    files["EMPTY"].write_text("")
    files["MENTIONS"].write_text("mention\nx\n")
    files["GOOD"].write_text("mention\nnote\n")
    out = ("--out", tmp_path / "out") if arguments[0] == "data" else ()
    ran = cli(*(files.get(str(a), a) for a in arguments), *out)
    assert ran.code == 2
    assert len(ran.errors) == 1
    assert message in ran.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "name", ["icd10cm_tabular_2018.xml", "icd10cm_index_2018.xml", "icd10cm_neoplasm_2018.xml"]
)
@pytest.mark.parametrize("damage", ["cut off", "a stray character", "a damaged archive"])
def test_corrupted_xml_is_one_line_and_nothing_is_written(
    cli, release: Path, tmp_path: Path, name: str, damage: str
) -> None:
    file = release / name
    sound = file.read_bytes()
    half = len(sound) // 2
    if damage == "cut off":
        file.write_bytes(sound[:half])
    elif damage == "a stray character":
        file.write_bytes(sound[:half] + b"<\x01&" + sound[half:])
    else:
        file.unlink()
        archive = release / "xml.zip"
        with zipfile.ZipFile(archive, "w") as stored:
            stored.writestr(name, sound)
        archive.write_bytes(archive.read_bytes().replace(sound[half : half + 9], b"\x00" * 9))
    out = tmp_path / "data" / "clinical"
    ran = cli("data", "build", "icd10cm", "--from", release, "--year", 2018, "--out", out)
    assert (ran.code, len(ran.errors)) == (2, 1)
    assert name in ran.err
    assert "is corrupted" in ran.err if damage == "a damaged archive" else "is not XML" in ran.err
    assert not out.exists()
