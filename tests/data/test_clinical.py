"""The clinical domain end to end: raw files to data folder to table; the bundled data; the experiments."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from abduce.data.build.codiesp.build import build_codiesp
from abduce.data.build.icd10cm.build import build_icd10cm
from abduce.data.domains import CLINICAL
from abduce.data.folder import DataFolder
from abduce.eval.experiments.evaluate import evaluate
from abduce.eval.experiments.files import load_experiment
from abduce.eval.report.parts import subset
from abduce.eval.report.report import load_run, report_tables, result_tables
from abduce.retrievers.errors import InputError
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.dimensions import load_schema
from clinical_release import write_corpus

TABLE = (
    "S1\tDIAGNOSTICO\ta00.9\tcólera clásico\t13 27\n"
    "S1\tDIAGNOSTICO\ta00.9\tfiebre alta\t40 51\n"
    "S2\tDIAGNOSTICO\ta00.9\tcólera clásico\t10 24\n"
)


@pytest.fixture
def data(release: Path, tmp_path: Path) -> Path:
    """A data folder made from the tiny raw files by the two builders."""
    folder = tmp_path / "data" / "clinical"
    build_icd10cm(release, 2018, folder)
    inventory = folder / "icd10cm_fy2018_taxonomy.jsonl.gz"
    build_codiesp(write_corpus(tmp_path / "corpus", TABLE), inventory, folder)
    return folder.parent


def test_from_raw_files_to_a_table(data: Path) -> None:
    run = evaluate("clinical-no-model", data=data, split="dev")
    assert len(run.examples) == 3
    # the third mention shares no word with any code: nothing is found
    assert run["locus"].mean("R@1")[0] == pytest.approx(2 / 3)
    assert run["probe: label + definition"].mean("R@1")[0] == 1.0
    assert "clinical dev, 3 facts" in run.data


def test_facts_are_mentions_with_the_diagnosis_code_class(data: Path) -> None:
    examples = DataFolder.find(data).facts(CLINICAL, "dev")
    first = examples[0]
    fact = first.inputs["fact"]
    assert (fact.value, fact.modality, fact.datatype) == ("classical cholera", "text", "diagnosis")
    assert fact.context.text[fact.mention_start : fact.mention_end] == fact.value
    assert (first.gold, first.cluster) == ("A00.9", "S1")
    assert first.groups["tier"] in ("A", "B")
    assert CLINICAL.serializer.locus(fact) == "classical cholera"


def test_tier_a_alone_is_the_same_rows_on_its_facts(data: Path) -> None:
    run = evaluate("clinical-no-model", data=data, split="dev", rows=["locus"])
    tiers = [e.groups["tier"] for e in run.examples]
    for tier in set(tiers):
        part = subset(run, "tier", tier)
        assert [e.groups["tier"] for e in part.examples] == [tier] * tiers.count(tier)
        assert part["locus"].done.shape == (1, tiers.count(tier))
        assert f"tier {tier} alone" in part.data


def test_tier_a_stands_beside_the_whole_in_the_output_and_in_the_report(data: Path, tmp_path: Path) -> None:
    facts = data / "clinical" / "facts_dev.jsonl.gz"
    rows = [json.loads(line) for line in gzip.decompress(facts.read_bytes()).decode().splitlines()]
    for i, row in enumerate(rows):
        row["relocation_tier"] = "AB"[i % 2]
    facts.write_bytes(gzip.compress("".join(json.dumps(r) + "\n" for r in rows).encode()))
    out = tmp_path / "run"
    run = evaluate("clinical-no-model", data=data, split="dev", rows=["locus"], out=out)
    titles = [t.title for t in report_tables(load_run(out))]
    whole, apart = titles[:2]
    assert "clinical dev, 3 facts" in whole
    assert "alone" not in whole
    assert apart == f"{whole}, tier A alone"
    assert [t.title for t in result_tables(run)] == [whole, apart]


def test_a_fact_whose_code_is_not_in_the_inventory_is_named(data: Path) -> None:
    facts = data / "clinical" / "facts_dev.jsonl"
    facts.write_text(
        '{"fact_id": "x", "case_id": "S1", "mention": "classical cholera", "mention_start": 15, '
        '"mention_end": 32, "gold_code": "A00.0"}\n'
    )
    (data / "clinical" / "facts_dev.jsonl.gz").unlink()
    with pytest.raises(InputError, match=r"'A00\.0' of fact 'x' is not in icd10cm-2018"):
        evaluate("clinical-no-model", data=data, split="dev")


def test_a_span_outside_its_case_is_named(data: Path) -> None:
    facts = data / "clinical" / "facts_dev.jsonl"
    facts.write_text(
        '{"fact_id": "x", "case_id": "S1", "mention": "cholera", "mention_start": 15, "mention_end": 3200, '
        '"gold_code": "A00.9"}\n'
    )
    (data / "clinical" / "facts_dev.jsonl.gz").unlink()
    with pytest.raises(InputError, match=r"facts_dev\.jsonl:1: field 'mention_start': span"):
        DataFolder.find(data).facts(CLINICAL, "dev")


@pytest.fixture(scope="module")
def bundled() -> Taxonomy:
    return DataFolder(DataFolder.find().root, bundled=True).taxonomy(CLINICAL)


def test_the_bundled_inventory_is_the_papers(bundled: Taxonomy) -> None:
    assert len(bundled) == 71_344
    assert dict(bundled.datatypes) == {"diagnosis": 71_344}
    concept = bundled["S52.101R"]
    assert load_schema("icd10cm").profile(concept) == (
        ("injury_poisoning",),
        ("injury",),
        ("open", "unspecified"),
        ("right",),
        ("subsequent_encounter", "malunion"),
    )
    assert "Fracture of forearm" in concept.definition
    assert any(note.startswith("S52: ") for note in concept.metadata["excludes1"])


def test_the_bundled_release_is_whole_for_coders() -> None:
    whole = DataFolder(DataFolder.find().root, bundled=True).taxonomy(CLINICAL, whole=True)
    assert len(whole) == 71_704
    assert whole["A04.71"].label == "Enterocolitis due to Clostridium difficile, recurrent"
    codes = ("A00.0", "E11.9", "O80", "S00.00XA", "I10")
    notes = {c: whole[c].metadata.get("chapter_excludes1", []) for c in codes}
    assert notes == {
        "A00.0": ["certain localized infections - see body system-related chapters"],
        "E11.9": ["transitory endocrine and metabolic disorders specific to newborn (P70-P74)"],
        "O80": ["supervision of normal pregnancy (Z34.-)"],
        "S00.00XA": ["birth trauma (P10-P15)", "obstetric trauma (O70-O71)"],
        "I10": [],
    }
    assert len(whole["I10"].metadata["chapter_excludes2"]) == 10

    schema = load_schema("icd10cm")
    assert whole.profiles is not None
    stored = whole.profiles.read(schema)
    assert stored == {concept.id: schema.profile(concept) for concept in whole}


def test_every_code_has_one_family_role_and_side(bundled: Taxonomy) -> None:
    schema = load_schema("icd10cm")
    for concept in bundled:
        family, role, _, side, _ = schema.profile(concept)
        assert len(family) == len(role) == 1, concept.id
        assert side, concept.id


def test_the_bundled_facts_have_codes_of_the_inventory(bundled: Taxonomy) -> None:
    examples = DataFolder(DataFolder.find().root, bundled=True).facts(CLINICAL, "dev")
    assert 250 <= len(examples) <= 350
    assert all(e.gold in bundled for e in examples)


@pytest.mark.parametrize("name", ["clinical-no-model", "clinical-main"])
def test_the_experiments_resolve(name: str) -> None:
    experiment = load_experiment(name)
    assert experiment.table.domain == "clinical"
    names = {row.name for row in experiment.rows}
    assert {"direct", "locus"} <= names
    assert any(row.spec.needs_model for row in experiment.rows) == (name == "clinical-main")
