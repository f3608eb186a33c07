"""Category profiles that are stored beside an inventory: used as they are, never where they are stale."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from abduce.data.build.icd10cm.build import build_icd10cm, jsonl_gz
from abduce.data.domains import CLINICAL
from abduce.data.folder import DataFolder
from abduce.programs.methods import Parts, build_program
from abduce.programs.presets import spec_named
from abduce.programs.profiles import Profiles
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.errors import InputError
from abduce.signatures.dimensions import DimensionSchema, load_schema
from abduce.signatures.types import Fact, SourceContext
from clinical_release import write_corpus

SCHEMA = load_schema("icd10cm")
SIDES = {"S40.011A": ("right",), "S40.012A": ("left",), "S40.019A": ("unspecified_side",)}
Rows = list[dict[str, Any]]


@pytest.fixture
def data(release: Path, tmp_path: Path) -> Path:
    """A data folder that was built from the release files."""
    build_icd10cm(release, 2018, tmp_path / "data" / "clinical")
    return tmp_path / "data"


def profiles(data: Path, schema: DimensionSchema = SCHEMA) -> Profiles:
    return Profiles(schema, DataFolder.find(data).taxonomy(CLINICAL))


def change(data: Path, edit: Callable[[Rows], object]) -> None:
    """Rewrite the profiles file of a data folder."""
    file = data / "clinical" / str(CLINICAL.profiles)
    rows = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    edit(rows)
    file.write_bytes(jsonl_gz(rows))


def turn(rows: Rows) -> None:
    """Say left for right: a profile that nobody would work out."""
    for row in rows[1:]:
        row["profile"][3] = ["left" if side == "right" else side for side in row["profile"][3]]


def test_a_build_stores_the_profile_of_every_code(data: Path) -> None:
    whole = DataFolder.find(data).taxonomy(CLINICAL, whole=True)
    assert whole.profiles is not None
    stored = whole.profiles.read(SCHEMA)
    assert stored == {concept.id: SCHEMA.profile(concept) for concept in whole}
    assert len(stored) == 7
    assert {id_: stored[id_][3] for id_ in SIDES} == SIDES


def test_a_stored_profile_is_used_as_it_stands(data: Path) -> None:
    change(data, turn)
    found = profiles(data)
    assert found.profile("S40.011A")[3] == found["S40.011A"].profile[3] == ("left",)


def rows_of_the_inventory(data: Path) -> None:
    file = data / "clinical" / CLINICAL.inventory
    rows = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    for row in rows:
        if row["code"] == "S40.011A":
            row["laterality"] = ["bilateral"]
    file.write_bytes(jsonl_gz(rows))


def test_stale_profiles_are_worked_out_anew(data: Path) -> None:
    change(data, turn)
    other = SCHEMA.model_copy(update={"concept": "a code"})
    assert profiles(data, other).profile("S40.011A")[3] == ("right",)  # another schema
    rows_of_the_inventory(data)
    assert profiles(data).profile("S40.011A")[3] == ("bilateral",)  # another inventory


def test_profiles_of_another_version_are_worked_out_anew(data: Path) -> None:
    change(data, turn)
    change(data, lambda rows: rows[0].update(version=0))
    assert profiles(data).profile("S40.011A")[3] == ("right",)


def test_a_folder_without_stored_profiles_has_them_all_the_same(data: Path) -> None:
    (data / "clinical" / str(CLINICAL.profiles)).unlink()
    found = profiles(data)
    assert {id_: found.profile(id_)[3] for id_ in SIDES} == SIDES


def test_a_row_ranks_the_same_with_and_without_them(data: Path) -> None:
    text = "Contusion of the left shoulder."
    context = SourceContext(context_id="c", text=text)
    fact = Fact(
        fact_id="f", value="contusion of the left shoulder", context=context, modality="text",
        datatype="diagnosis", mention_start=0, mention_end=len(text) - 1,
    )  # fmt: skip

    def ranked() -> list[tuple[str, float]]:
        taxonomy = DataFolder.find(data).taxonomy(CLINICAL)
        index = BM25Retriever(taxonomy)
        parts = Parts(lambda _: index, taxonomy, SCHEMA, CLINICAL.serializer, Profiles(SCHEMA, taxonomy))
        ranking = build_program(spec_named("FHS-rules"), parts)(fact=fact).ranking
        return [(hit.id, hit.score) for hit in ranking]

    stored = ranked()
    assert stored[0][0] == "S40.012A"
    (data / "clinical" / str(CLINICAL.profiles)).unlink()
    assert ranked() == stored


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda rows: rows.pop(), "lacks profiles; build the inventory again"),
        (lambda rows: rows[1]["ids"].pop(), "lacks profiles"),
        (lambda rows: rows[1].pop("ids"), "gz:2: is no profile of the schema"),
        (lambda rows: rows[2]["ids"].append(7), "gz:3: is no profile of the schema"),
        (lambda rows: rows[2].update(profile=[["infectious"]]), "gz:3: is no profile of the schema"),
        (lambda rows: rows[2]["profile"].__setitem__(0, ["hats"]), "gz:3: is no profile of the schema"),
        (lambda rows: rows[0].clear(), "is not a file of category profiles"),
        (lambda rows: rows.clear(), "is not a file of category profiles"),
    ],
)
def test_damaged_profiles_are_one_line(data: Path, edit: Callable[[Rows], object], message: str) -> None:
    change(data, edit)
    with pytest.raises(InputError, match=message) as caught:
        profiles(data)
    assert "\n" not in str(caught.value)


def test_damaged_profiles_end_a_run_before_it_writes_anything(cli, data: Path, tmp_path: Path) -> None:
    inventory = data / "clinical" / CLINICAL.inventory
    corpus = write_corpus(tmp_path / "corpus")
    ran = cli(
        "data", "build", "codiesp", "--from", corpus, "--inventory", inventory, "--out", data / "clinical"
    )
    assert ran.code == 0, ran.err
    file = data / "clinical" / str(CLINICAL.profiles)
    file.write_bytes(file.read_bytes()[:-20])
    out = tmp_path / "run"
    ran = cli("eval", "clinical-no-model", "--data", data, "--split", "dev", "--out", out)
    assert (ran.code, len(ran.errors)) == (2, 1)
    assert "icd10cm_fy2018_profiles.jsonl.gz" in ran.err
    assert not out.exists()
