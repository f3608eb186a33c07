"""Bad input through the command line: one line that names file, line and field, exit code 2, no traceback."""

from __future__ import annotations

import gzip
import json

import pytest


def refused(ran, *words, out=None):
    """The line in which the command refused: it has all the words, and nothing was written."""
    assert ran.code == 2, ran.err
    (line,) = ran.errors
    assert line.startswith("abduce: ")
    assert "Traceback" not in ran.out
    for word in words:
        assert str(word) in line
    if out is not None:
        assert not out.exists() or not any(out.iterdir() if out.is_dir() else [out])
    return line


WRONG_FACTS = [
    ({"context_id": "c9"}, ["3", "field 'context_id'", "no source context 'c9'"]),
    ({"context_id": None}, ["3", "field 'context_id'", "missing"]),
    ({"context_id": "c2", "mention_start": 8, "mention_end": 99}, ["3", "field 'mention_start'", "outside"]),
    ({"context_id": "c2", "mention_start": 8}, ["3", "field 'mention_start'", "outside"]),
    ({"context_id": "c2", "mention_start": "x", "mention_end": 9}, ["3", "field 'mention_start'"]),
    ({"value": ""}, ["3", "field 'value'", "is empty"]),
    ({"value": "  "}, ["3", "field 'value'", "is empty"]),
    ({"value": None}, ["3", "field 'value'", "missing"]),
    ({"value": ["7"]}, ["3", "field 'value'", "must be a text, not list"]),
    ({"fact_id": None}, ["3", "field 'fact_id'", "missing"]),
    ({"fact_id": "f1"}, ["3", "field 'fact_id'", "duplicate id", "first in line 1"]),
    ({"modality": "picture"}, ["3", "field 'modality'"]),
    ({"datatype": 7}, ["3", "field 'datatype'"]),
]
SOUND = {
    "fact_id": "f3",
    "context_id": "c1",
    "value": "9",
    "datatype": "monetaryItemType",
    "gold": "Goodwill",
}
BROKEN_LINES = [
    ('{"fact_id": "f3", ', ["3", "is not JSON"]),
    ("[1, 2]", ["3", "is not a JSON object"]),
    ("[" * 100_000, ["3", "is not JSON"]),
]


MANY = b"".join(b'{"fact_id": "%d", "value": "7", "source_context": "a 7"}\n' % i for i in range(500))


def broken(change):
    return change if isinstance(change, str) else {k: v for k, v in (SOUND | change).items() if v is not None}


class TestFacts:
    @pytest.mark.parametrize(("change", "words"), WRONG_FACTS + BROKEN_LINES)
    def test_tag_names_file_line_and_field(self, cli, folder, tmp_path, change, words):
        folder.facts.append(broken(change))
        folder.write()
        facts, out = folder.file("facts_dev.jsonl"), tmp_path / "tags.csv"
        ran = cli("tag", facts, "--data", folder.path, "--out", out)
        assert refused(ran, f"{facts}:3:", *words[1:], out=out)

    @pytest.mark.parametrize(("change", "words"), [*WRONG_FACTS, ({"gold": None}, ["3", "field 'gold'"])])
    def test_eval_too(self, cli, folder, tmp_path, change, words):
        folder.facts.append(broken(change))
        folder.write()
        out = tmp_path / "run"
        ran = cli(
            "eval",
            "finance-no-model",
            "--row",
            "locus",
            "--data",
            folder.path,
            "--split",
            "dev",
            "--out",
            out,
        )
        assert refused(ran, f"{folder.file('facts_dev.jsonl')}:3:", *words[1:], out=out)

    def test_a_gold_concept_that_is_not_in_the_taxonomy(self, cli, folder):
        folder.facts[0]["gold"] = "NoSuchConcept"
        folder.write()
        ran = cli("eval", "finance-no-model", "--row", "locus", "--data", folder.path, "--split", "dev")
        assert refused(ran, folder.file("facts_dev.jsonl"), "field 'gold'", "NoSuchConcept", "f1")

    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            ("facts.parquet", b"x", ["is not a readable Parquet file"]),
            ("facts.xlsx", b"x", ["is not an Excel workbook"]),
            ("facts.jsonl", b'{"fact_id": "\xff"}', ["is not UTF-8"]),
            ("facts.jsonl", b"", ["has no facts"]),
            ("facts.csv", b"", ["is empty"]),
            ("facts.csv", b"fact_id,value\nf1,2,3\n", [":2", "more cells than the header"]),
            ("facts.jsonl.gz", gzip.compress(MANY)[:-30], ["truncated or corrupt"]),
            ("facts.jsonl.gz", b"no gzip", ["truncated or corrupt"]),
        ],
    )
    def test_files_that_are_none(self, cli, folder, tmp_path, name, content, words):
        path = tmp_path / name
        path.write_bytes(content)
        assert refused(cli("tag", path, "--data", folder.path), path, *words)

    def test_missing_files_and_folders(self, cli, folder, tmp_path):
        nowhere = tmp_path / "nowhere"
        assert refused(
            cli("tag", nowhere / "f.jsonl", "--data", folder.path), nowhere / "f.jsonl", "no such file"
        )
        assert refused(cli("tag", "--data", nowhere), nowhere, "no such data folder")
        assert refused(cli("tag", "--data", folder.file("concepts.jsonl")), "is not a folder")
        assert refused(cli("tag", tmp_path, "--data", folder.path), tmp_path)
        assert refused(
            cli("eval", "finance-no-model", "--data", folder.path, "--split", "test"),
            folder.file("facts_test.jsonl.gz"),
            "no such file",
        )
        folder.file("contexts.jsonl").unlink()
        assert refused(
            cli("eval", "finance-no-model", "--data", folder.path, "--split", "dev"),
            folder.file("contexts.jsonl.gz"),
            "no such file",
        )

    def test_a_context_without_text(self, cli, folder):
        folder.contexts.append({"context_id": "c3", "source_context": ""})
        folder.write()
        facts = folder.file("facts_dev.jsonl")
        assert refused(
            cli("tag", facts, "--data", folder.path),
            f"{folder.file('contexts.jsonl')}:3:",
            "field 'source_context'",
            "is empty",
        )


class TestSkipBad:
    def test_good_facts_are_still_tagged_and_the_bad_ones_counted(self, cli, folder, tmp_path):
        folder.facts += [broken(change) for change, _ in WRONG_FACTS + BROKEN_LINES]
        folder.facts.append(SOUND | {"fact_id": "last"})
        folder.write()
        out = tmp_path / "tags.csv"
        ran = cli("tag", folder.file("facts_dev.jsonl"), "--data", folder.path, "--out", out, "--skip-bad")
        assert ran.code == 0
        n = len(WRONG_FACTS) + len(BROKEN_LINES)
        skipped = [line for line in ran.errors if line.startswith("skipped: ")]
        assert len(skipped) == n
        assert all(f"{folder.file('facts_dev.jsonl')}:{3 + i}:" in s for i, s in enumerate(skipped))
        assert f"{n} bad facts were skipped" in ran.err
        assert [line.split(",")[0] for line in out.read_text().splitlines()] == [
            "fact_id",
            "f1",
            "f2",
            "last",
        ]

    def test_eval_counts_the_good_ones(self, cli, folder, tmp_path):
        folder.facts.append(SOUND | {"value": ""})
        folder.write()
        out = tmp_path / "run"
        arguments = ("finance-no-model", "--row", "locus", "--data", folder.path, "--split", "dev")
        ran = cli("eval", *arguments, "--out", out, "--skip-bad")
        assert ran.code == 0
        assert "1 bad facts were skipped" in ran.err or "1 bad fact was skipped" in ran.err
        summary = json.loads((out / "summary.json").read_text())
        assert [row["n"] for row in summary["rows"]] == [2]

    def test_a_sound_file_says_nothing(self, cli, folder):
        ran = cli("tag", folder.file("facts_dev.jsonl"), "--data", folder.path, "--skip-bad")
        assert ran.code == 0
        assert "skipped" not in ran.err


class TestTaxonomies:
    @pytest.mark.parametrize(
        ("row", "words"),
        [
            ({"id": "Cash", "label": "Cash again"}, [":4", "field 'id'", "duplicate id", "first in line 2"]),
            ({"id": "X", "label": " "}, [":4", "field 'label'", "is empty"]),
            ({"id": "X"}, [":4", "field 'label'", "is missing"]),
            ({"label": "X"}, [":4", "field 'id'", "is missing"]),
            ({"id": "X", "label": "X", "definition": 7}, [":4", "field 'definition'", "must be a text"]),
            ("{", [":4", "is not JSON"]),
        ],
    )
    def test_rows_that_are_none(self, cli, folder, row, words):
        folder.concepts.append(row)
        folder.write()
        facts, concepts = folder.file("facts_dev.jsonl"), folder.file("concepts.jsonl")
        assert refused(cli("tag", facts, "--data", folder.path), str(concepts) + words[0], *words[1:])
        assert refused(cli("tag", facts, "--taxonomy", concepts, "--data", folder.path), *words)

    def test_an_empty_one_and_one_without_a_label_column(self, cli, folder, tmp_path):
        facts, mine = folder.file("facts_dev.jsonl"), tmp_path / "mine.csv"
        mine.write_text("id,text\nA,a\n")
        assert refused(cli("tag", facts, "--taxonomy", mine), f"{mine}:1:", "field 'label'", "is missing")
        mine.write_text("id,label\n")
        assert refused(cli("tag", facts, "--taxonomy", mine), mine, "has no concepts")

    def test_unknown_names(self, cli, folder):
        facts = folder.file("facts_dev.jsonl")
        assert refused(
            cli("tag", facts, "--taxonomy", "us-gaap-1999"), "no taxonomy 'us-gaap-1999'", "us-gaap-2024"
        )


class TestNames:
    def test_programs(self, cli, folder):
        facts = folder.file("facts_dev.jsonl")
        assert refused(
            cli("tag", facts, "--data", folder.path, "--program", "nope"), "no program 'nope'", "locus"
        )
        assert refused(cli("tag", facts, "--data", folder.path, "--program", "probe: label"), "is an oracle")

    def test_a_program_that_needs_a_model_says_so(self, cli, folder):
        ran = cli("tag", folder.file("facts_dev.jsonl"), "--data", folder.path, "--program", "FHS")
        assert refused(ran, "'FHS'", "language model")

    def test_facts_experiments_rows_splits_and_schemas(self, cli, folder, tmp_path):
        facts = folder.file("facts_dev.jsonl")
        at = ("--data", folder.path, "--split", "dev")
        assert refused(cli("tag", facts, "--data", folder.path, "--explain", "f9"), facts, "no fact 'f9'")
        assert refused(cli("eval", "nope", *at), "no experiment 'nope'", "finance-no-model")
        assert refused(cli("eval", "finance-no-model", "--row", "nope", *at), "no row 'nope'", "locus")
        assert refused(
            cli("eval", "finance-no-model", "--split", "nope", "--data", folder.path), "no split 'nope'"
        )
        assert refused(cli("tag", facts, "--data", folder.path, "--schema", "nope"), "no schema 'nope'")
        assert refused(
            cli("tag", facts, "--data", folder.path, "--schema", tmp_path / "no.toml"), "no schema file"
        )


EXPERIMENTS = [
    ("[[row]\n", ["is not TOML"]),
    ('[[row]]\nname = "a"\n', ["row[0] 'a'", "either program or base"]),
    ('[[row]]\nname = "a"\nprogram = "direct"\nbase = "b"\n', ["row[0] 'a'", "either program or base"]),
    ('[[row]]\nname = "a"\nprogram = "nope"\n', ["row[0] 'a'", "no program 'nope'"]),
    ('[[row]]\nname = "a"\nbase = "b"\n', ["row[0] 'a'", "no earlier row 'b'"]),
    ('[[row]]\nname = "a"\nprogram = "direct"\ncolour = 1\n', ["row.0.colour"]),
    ('colour = 1\n[[row]]\nname = "a"\nprogram = "direct"\n', ["colour"]),
    ('[[row]]\nname = "a"\nprogram = "direct"\nset = { beta = 1 }\n', ["row[0] 'a'", "no setting 'beta'"]),
    ('[[row]]\nname = "a"\nprogram = "FHS-rules"\nset = { beta = "x" }\n', ["row[0] 'a'", "beta: "]),
    ('[[row]]\nname = "a"\nprogram = "FHS-rules"\nset = { J = 0 }\n', ["row[0] 'a'", "J: "]),
    ('[[row]]\nname = "a"\nprogram = "direct"\n' * 2, ["row[1] 'a'", "duplicate name"]),
    ('baseline = "b"\n[[row]]\nname = "a"\nprogram = "direct"\n', ["field 'baseline'", "'b'"]),
    ('name = "x"\n', ["row"]),
    ("row = []\n", ["row"]),
]
SETTINGS = [
    ('domain = "nope"\n[[row]]\nname = "a"\nprogram = "direct"\n', ["no domain 'nope'"]),
    ('[retriever]\nkind = "nope"\n[[row]]\nname = "a"\nprogram = "direct"\n', ["'nope'", "bm25"]),
    ('[retriever]\ncolour = 1\n[[row]]\nname = "a"\nprogram = "direct"\n', ["colour"]),
    ("[retriever]\nb = 7\n[[row]]\nname = 'a'\nprogram = 'direct'\n", ["b=7"]),
    (
        '[[row]]\nname = "a"\nprogram = "direct"\nset = { "retriever.colour" = 1 }\n',
        ["colour"],
    ),
    ('[[row]]\nname = "a"\nprogram = "direct"\nset = { "options.colour" = 1 }\n', ["colour"]),
    ('[[row]]\nname = "a"\nprogram = "FHS"\n', ["'a'", "language model"]),
]


class TestExperiments:
    @pytest.mark.parametrize(("text", "words"), EXPERIMENTS)
    def test_a_file_that_is_none(self, cli, folder, tmp_path, text, words):
        path, out = tmp_path / "mine.toml", tmp_path / "run"
        path.write_text(text)
        ran = cli("eval", path, "--data", folder.path, "--split", "dev", "--out", out)
        assert refused(ran, path, *words, out=out)

    @pytest.mark.parametrize(("text", "words"), SETTINGS)
    def test_settings_that_do_not_fit(self, cli, folder, tmp_path, text, words):
        path, out = tmp_path / "mine.toml", tmp_path / "run"
        path.write_text(text)
        ran = cli("eval", path, "--data", folder.path, "--split", "dev", "--out", out)
        assert refused(ran, *words, out=out)

    def test_a_missing_one(self, cli, tmp_path):
        assert refused(cli("eval", tmp_path / "no.toml"), tmp_path / "no.toml", "no such file")

    def test_one_that_is_not_UTF_8(self, cli, tmp_path):
        path = tmp_path / "mine.toml"
        path.write_bytes(b'name = "\xff"')
        assert refused(cli("eval", path), path, "is not UTF-8")


class TestOutput:
    def test_a_place_that_may_not_be_written(self, cli, folder, tmp_path):
        taken = tmp_path / "file"
        taken.write_text("mine")
        facts = folder.file("facts_dev.jsonl")
        assert refused(cli("tag", facts, "--data", folder.path, "--out", taken / "tags.csv"), taken)
        ran = cli(
            "eval",
            "finance-no-model",
            "--row",
            "locus",
            "--data",
            folder.path,
            "--split",
            "dev",
            "--out",
            taken,
        )
        assert refused(ran, taken)
        assert taken.read_text() == "mine"

    def test_an_old_file_survives_a_run_that_fails(self, cli, folder, tmp_path):
        out = tmp_path / "tags.csv"
        out.write_text("old")
        folder.facts.append("{")
        folder.write()
        assert refused(
            cli("tag", folder.file("facts_dev.jsonl"), "--data", folder.path, "--out", out), "is not JSON"
        )
        assert out.read_text() == "old"
        assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["tags.csv"]


class TestDatatypes:
    """A missing or unknown datatype is no error: more is searched, with a counted warning."""

    @pytest.mark.parametrize("datatype", [None, "", "flowerItemType"])
    def test_more_is_searched_and_it_is_counted(self, cli, folder, datatype):
        folder.facts[0]["datatype"] = datatype
        folder.write()
        ran = cli("tag", folder.file("facts_dev.jsonl"), "--data", folder.path)
        assert ran.code == 0
        assert "1 values have no datatype that could be told: " in ran.err

    def test_sound_ones_give_no_warning(self, cli, folder):
        assert "no datatype" not in cli("tag", folder.file("facts_dev.jsonl"), "--data", folder.path).err
