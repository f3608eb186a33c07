"""CodiEsp: reading the layout, relocation by alignment, relocation by a scripted model."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dspy
import pytest
from abduce.data.build.codiesp.align import align_sentences, cognate, sentences_en, sentences_es
from abduce.data.build.codiesp.archive import read_corpus
from abduce.data.build.codiesp.build import NO_ALIGNMENT, OUTSIDE, build_codiesp, build_with
from abduce.data.build.codiesp.project import Aligner
from abduce.data.build.codiesp.relocate import DROPPED
from abduce.retrievers.errors import InputError
from clinical_release import ANNOTATIONS, DATA, write_corpus
from dspy.utils.exceptions import ContextWindowExceededError
from hypothesis import given
from hypothesis import strategies as st
from openai_stub import Stub


class Copyist(dspy.BaseLM):
    """Answers with what ``reply`` makes of the Spanish mention; remembers every prompt."""

    def __init__(self, reply: Callable[[str], str]) -> None:
        super().__init__("scripted", "chat", 0.0, 1000, cache=False)
        self.reply = reply
        self.prompts: list[str] = []

    def forward(self, prompt: Any = None, messages: Any = None, **kwargs: Any) -> Any:
        text = messages[-1]["content"]
        self.prompts.append(text)
        mention = text.split("[[ ## spanish_mention ## ]]")[1].split("\n")[1].strip()
        content = self.reply(mention)
        choice = SimpleNamespace(message=SimpleNamespace(content=content), finish_reason="stop")
        return SimpleNamespace(choices=[choice], usage={}, model="scripted")


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    path = tmp_path / "inventory.jsonl"
    codes = {"A00.0": "Cholera due to Vibrio cholerae 01", "A00.9": "Cholera, unspecified"}
    path.write_text("".join(json.dumps({"code": c, "label": x}) + "\n" for c, x in codes.items()))
    return path


def facts(folder: Path, split: str = "dev") -> list[dict[str, Any]]:
    with gzip.open(folder / f"facts_{split}.jsonl.gz", "rt") as stream:
        return [json.loads(line) for line in stream]


def answer(words: str) -> str:
    return json.dumps({"answer": {"mention": words}})


def by_model(folder: Path, inventory: Path, out: Path, reply: Callable[[str], str]) -> tuple[Any, Copyist]:
    lm = Copyist(reply)
    with dspy.context(lm=lm):
        return build_codiesp(folder, inventory, out, "model", threads=2, splits=["dev"]), lm


ENGLISH = {"cólera clásico": "classical cholera", "fiebre alta": "high fever"}


def test_a_model_relocates_every_mention(corpus_folder: Path, inventory: Path, tmp_path: Path) -> None:
    report, lm = by_model(corpus_folder, inventory, tmp_path / "out", lambda m: answer(ENGLISH[m]))
    found = facts(tmp_path / "out")
    assert [(f["fact_id"], f["gold_code"], f["mention"]) for f in found] == [
        ("dev-X00001", "A00.0", "classical cholera"),
        ("dev-X00004", "A00.9", "high fever"),
        ("dev-X00006", "A00.0", "classical cholera"),
    ]
    texts = {c.case_id: c.text_en for c in read_corpus(corpus_folder).cases.values()}
    for f in found:
        assert texts[f["case_id"]][f["mention_start"] : f["mention_end"]] == f["mention"]
        assert f["relocation_scope"] == "aligned_sentence"
    assert report.kept == {"dev": 3}
    assert report.dropped == {OUTSIDE: 1, "same code on the same span": 1}
    assert len(lm.prompts) == 3


def test_the_model_sees_the_mention_its_sentence_and_the_aligned_english(
    corpus_folder: Path, inventory: Path, tmp_path: Path
) -> None:
    _, lm = by_model(corpus_folder, inventory, tmp_path / "out", lambda m: answer(ENGLISH[m]))
    prompt = next(p for p in lm.prompts if "fiebre alta" in p.split("spanish_mention")[1])
    part = prompt.split("[[ ## aligned_sentences ## ]]")[1].split("[[ ##")[0]
    assert part.strip() == "He had high fever."
    assert "Presentaba fiebre alta." in prompt
    assert "cholera" in prompt


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (answer("Classical Cholera"), "substring"),
        (answer("cal cholera"), "substring"),
        (answer(""), "empty"),
        ("no JSON at all", "parse"),
    ],
)
def test_what_does_not_stand_in_the_text_is_dropped_by_reason(
    corpus_folder: Path, inventory: Path, tmp_path: Path, reply: str, reason: str
) -> None:
    report, lm = by_model(
        corpus_folder,
        inventory,
        tmp_path / "out",
        lambda m: reply if m == "cólera clásico" else answer(ENGLISH[m]),
    )
    assert report.dropped[DROPPED[reason]] == 2
    assert [f["mention"] for f in facts(tmp_path / "out")] == ["high fever"]
    assert len(lm.prompts) == (5 if reason == "parse" else 3)  # an unparseable reply is asked for once more


def test_words_outside_the_aligned_sentences_are_found_in_the_document(
    corpus_folder: Path, inventory: Path, tmp_path: Path
) -> None:
    report, _ = by_model(corpus_folder, inventory, tmp_path / "out", lambda m: answer("fever"))
    by_id = {f["fact_id"]: f for f in facts(tmp_path / "out")}
    assert by_id["dev-X00001"]["relocation_scope"] == "document"
    assert by_id["dev-X00001"]["context_sentence"] == "He had high fever."  # the nearer of two
    assert report.scopes == {"document": 2, "aligned_sentence": 1}


def test_alignment_finds_cognates_and_words_it_learnt(tmp_path: Path) -> None:
    corpus = read_corpus(write_corpus(tmp_path / "c"))
    aligner = Aligner(corpus)
    found = {}
    for a in corpus.annotations:
        relocation = aligner.relocate(a)
        assert relocation is not None
        found[a.mention_es] = corpus.cases[a.case_id].text_en[relocation.start : relocation.end]
    assert found == {"cólera clásico": "classical cholera", "fiebre alta": "high fever"}


def test_alignment_drops_what_no_word_matches(tmp_path: Path, inventory: Path) -> None:
    folder = write_corpus(tmp_path / "c", "S1\tDIAGNOSTICO\ta00.0\tdado de\t57 64\n")
    (folder / "dev" / "text_files_en" / "S1.txt").write_text("\n")
    report = build_codiesp(folder, inventory, tmp_path / "out", splits=["dev"])
    assert report.dropped == {NO_ALIGNMENT: 1}
    assert facts(tmp_path / "out") == []


@pytest.mark.parametrize("kind", ["folder", "tar.gz", "zip"])
def test_folder_tar_and_zip_read_alike(tmp_path: Path, kind: str) -> None:
    folder = write_corpus(tmp_path / "c")
    path = folder
    if kind == "tar.gz":
        path = tmp_path / "c.tar.gz"
        with tarfile.open(path, "w:gz") as tar:
            tar.add(folder, "final")
    elif kind == "zip":
        path = tmp_path / "c.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for p in folder.rglob("*.*"):
                archive.write(p, f"final/{p.relative_to(folder)}")
    assert read_corpus(path) == read_corpus(folder)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("S1\tDIAGNOSTICO\ta00.0\tx\t0 900\n", "devX.tsv:1: span outside the case's text"),
        ("S1\tDIAGNOSTICO\ta00.0\tx\t0-9\n", "devX.tsv:1: field 'position': '0-9' are not spans"),
        ("S1\tDIAGNOSTICO\ta00.0\t \t0 9\n", "devX.tsv:1: field 'text-reference': is empty"),
        ("S1\tDIAGNOSTICO\ta00.0\n", "devX.tsv:1: has 3 columns; needed are 5"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, inventory: Path, table: str, message: str) -> None:
    folder = write_corpus(tmp_path / "c", table)
    with pytest.raises(InputError, match=message):
        build_codiesp(folder, inventory, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_bad_archives_are_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "x.tar.gz"
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        tar.add(write_corpus(tmp_path / "c"), "c")
    broken.write_bytes(data.getvalue()[:400])
    with pytest.raises(InputError, match="is corrupted"):
        read_corpus(broken)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="is not the CodiEsp layout"):
        read_corpus(tmp_path / "empty")
    with pytest.raises(InputError, match="no such file or folder"):
        read_corpus(tmp_path / "none")


@pytest.mark.parametrize(("place", "value"), [(8, 1), (6, 200)], ids=["encrypted", "unknown version"])
def test_a_zip_that_cannot_be_unpacked_is_one_line(tmp_path: Path, place: int, value: int) -> None:
    path = tmp_path / "c.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "text")
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + place] = value  # in the central directory
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match="corrupted") as caught:
        read_corpus(path)
    assert "\n" not in str(caught.value)


def test_the_model_method_needs_a_model_and_the_other_refuses_one(tmp_path: Path, inventory: Path) -> None:
    with pytest.raises(InputError, match="needs a file with an \\[lm\\] table"):
        build_with(tmp_path, inventory, tmp_path / "out", "model", None, 1)
    with pytest.raises(InputError, match="is not used by --method alignment"):
        build_with(tmp_path, inventory, tmp_path / "out", "alignment", inventory, 1)


def test_the_lm_table_reaches_a_server(
    corpus_folder: Path, inventory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABDUCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(dspy, "cache", dspy.cache)  # put back what loading a model replaces
    with Stub() as stub:
        table = tmp_path / "lm.toml"
        table.write_text(f'[lm]\nkind = "vllm"\nmodel = "m"\nbase_url = "{stub.url}"\n')
        report = build_with(corpus_folder, inventory, tmp_path / "out", "model", table, 2)
    assert report.method == "model"
    assert sum(report.kept.values()) + sum(report.dropped.values()) == report.annotations == 5
    assert set(report.dropped) <= {
        OUTSIDE,
        "same code on the same span",
        DROPPED["empty"],
        DROPPED["substring"],
    }


def test_nobody_at_the_models_address_is_one_line_and_nothing_is_written(
    cli, corpus_folder: Path, inventory: Path, tmp_path: Path
) -> None:
    table = tmp_path / "lm.toml"
    table.write_text('[lm]\nkind = "vllm"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n')
    out = tmp_path / "out"
    given = (
        "--from",
        corpus_folder,
        "--inventory",
        inventory,
        "--out",
        out,
        "--method",
        "model",
        "--lm",
        table,
    )
    ran = cli("data", "build", "codiesp", *given)
    assert ran.code == 2
    assert len(ran.errors) == 1
    assert "127.0.0.1:9" in ran.err
    assert not out.exists()


def test_a_model_that_goes_away_ends_the_build(corpus_folder: Path, inventory: Path, tmp_path: Path) -> None:
    def gone(mention: str) -> str:
        raise dspy.LMTransportError("gone")

    with pytest.raises(dspy.LMError, match="gone"):
        by_model(corpus_folder, inventory, tmp_path / "out", gone)
    assert not (tmp_path / "out").exists()


def test_a_text_that_is_too_long_for_the_model_drops_its_mention(
    corpus_folder: Path, inventory: Path, tmp_path: Path
) -> None:
    def short(mention: str) -> str:
        if mention == "cólera clásico":
            raise ContextWindowExceededError(message="too long")
        return answer(ENGLISH[mention])

    report, _ = by_model(corpus_folder, inventory, tmp_path / "out", short)
    assert report.dropped[DROPPED["context"]] == 2
    assert [f["mention"] for f in facts(tmp_path / "out")] == ["high fever"]


def test_sentences_align_across_a_split_and_an_omission() -> None:
    es = ["La paciente tiene 45 años y fiebre; la evolución fue favorable.", "Alta a los 7 días."]
    en = [
        "The patient is 45 years old and has fever.",
        "The evolution was favorable.",
        "Discharged after 7 days.",
    ]
    assert align_sentences(es, en) == [((0,), (0, 1)), ((1,), (2,))]


@given(
    st.lists(st.text("abc .\n", max_size=30), max_size=6),
    st.lists(st.text("abc .\n", max_size=30), max_size=6),
)
def test_alignment_covers_every_sentence_once_and_in_order(es: list[str], en: list[str]) -> None:
    beads = align_sentences(es, en)
    assert [i for left, _ in beads for i in left] == list(range(len(es)))
    assert [j for _, right in beads for j in right] == list(range(len(en)))


@given(st.text())
def test_sentences_are_trimmed_parts_of_their_text(text: str) -> None:
    for spans in (sentences_es(text), sentences_en(text)):
        assert all(text[a:b] == text[a:b].strip() != "" for a, b in spans)
        assert all(b <= c for (_, b), (c, _) in pairwise(spans))


def test_likeness_of_spelling() -> None:
    assert cognate("nefropatía", "nephropathy") > 0.3 > cognate("dolor", "pain")
    assert cognate("uréter", "ureter") == 1.0
    assert cognate("de", "do") == 0.0


@pytest.mark.skipif(not (DATA / "raw" / "codiesp").exists(), reason="needs the official archive")
def test_relocation_agrees_with_the_projects_facts(tmp_path: Path) -> None:
    """On train and dev facts, never on test ones: most spans are the same, letter by letter."""
    report = build_codiesp(
        DATA / "raw" / "codiesp" / "codiesp_v4_part.tar.gz",
        DATA / "icd10cm_fy2018_taxonomy.jsonl.gz",
        tmp_path,
        splits=["dev"],
    )
    assert report.annotations == 3_431
    ours = {f["fact_id"]: (f["mention_start"], f["mention_end"]) for f in facts(tmp_path)}
    with gzip.open(DATA / "facts_dev.jsonl.gz", "rt") as stream:
        theirs = {(r := json.loads(x))["fact_id"]: (r["mention_start"], r["mention_end"]) for x in stream}
    both = [i for i in theirs if i in ours]
    assert len(both) > 0.95 * len(theirs)
    assert sum(ours[i] == theirs[i] for i in both) > 0.85 * len(both)
    assert report.kept["dev"] + sum(report.dropped.values()) == report.annotations


def test_annotations_are_counted_not_lost(corpus_folder: Path, inventory: Path, tmp_path: Path) -> None:
    report = build_codiesp(corpus_folder, inventory, tmp_path / "out", splits=["dev"])
    diagnoses = sum("DIAGNOSTICO" in line for line in ANNOTATIONS.splitlines())
    assert sum(report.kept.values()) + sum(report.dropped.values()) == diagnoses
