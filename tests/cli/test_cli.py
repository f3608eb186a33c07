"""The command line: what ``--help`` costs and says, and what the main commands print."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys

import pytest

HEAVY = (
    "dspy",
    "numba",
    "torch",
    "faiss",
    "scipy",
    "sklearn",
    "pandas",
    "matplotlib",
    "litellm",
    "bm25s",
    "datasets",
    "transformers",
    "lxml",
)


@pytest.mark.parametrize("arguments", [["--help"], ["eval", "--help"], ["tag", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import sys\n"
        "from abduce.cli.main import main\n"
        f"sys.argv = ['abduce', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit as e:\n    assert not e.code, e.code\n"
        f"print('LOADED', [m for m in {HEAVY!r} if m in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "LOADED []"


def test_packages_can_be_named_without_importing_dspy():
    code = (
        "import sys\nimport abduce, abduce.signatures, abduce.retrievers, abduce.programs, abduce.eval\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_help_has_examples(cli):
    for command in ("eval", "tag"):
        ran = cli(command, "--help")
        assert ran.code == 0
        assert "Examples:" in ran.out
        assert f"abduce {command} " in ran.out


def test_bad_input_as_a_process_is_one_line_and_exit_code_2(folder):
    folder.facts[0]["value"] = ""
    folder.write()
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "abduce.cli.main",
            "tag",
            folder.file("facts_dev.jsonl"),
            "--data",
            folder.path,
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert line == f"abduce: {folder.file('facts_dev.jsonl')}:1: field 'value': is empty"
    assert ran.stdout == ""


class TestTag:
    def test_a_csv_with_a_line_a_fact(self, cli, folder, tmp_path):
        out = tmp_path / "tags.csv"
        ran = cli("tag", folder.file("facts_dev.jsonl"), "--data", folder.path, "--out", out, "--top", "2")
        assert ran.code == 0
        assert "2 facts tagged" in ran.out
        with out.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert [(r["fact_id"], r["concept"], r["label"]) for r in rows] == [
            ("f1", "Goodwill", "Goodwill"),
            ("f2", "Cash", "Cash"),
        ]
        assert rows[0]["locus"] == "Goodwill / 2024"
        assert rows[0]["runner_up_concepts"] == "Cash"
        assert float(rows[0]["margin"]) > 0

    def test_cells_that_a_spreadsheet_would_run_are_text(self, cli, folder, tmp_path):
        folder.facts[0] |= {"row_header": '=HYPERLINK("x")', "value": "@1", "fact_id": "+f"}
        folder.write()
        out = tmp_path / "tags.csv"
        assert cli("tag", folder.file("facts_dev.jsonl"), "--data", folder.path, "--out", out).code == 0
        with out.open(newline="") as stream:
            row = next(csv.DictReader(stream))
        assert (row["fact_id"], row["value"], row["locus"][:2]) == ("'+f", "'@1", "'=")

    def test_a_table_in_the_terminal_shows_texts_as_they_are(self, cli, folder):
        folder.facts[0]["row_header"] = "[bold]Goodwill[/bold]"
        folder.write()
        ran = cli("tag", folder.file("facts_dev.jsonl"), "--data", folder.path)
        assert "[bold]Goodwill[/bold]" in ran.out

    def test_a_taxonomy_of_the_user_s_own(self, cli, folder, tmp_path):
        mine = tmp_path / "mine.csv"
        mine.write_text("code,label,note\nA1,Goodwill,x\nB2,Cash,y\n")
        ran = cli("tag", folder.file("facts_dev.jsonl"), "--taxonomy", mine)
        assert ran.code == 0
        assert "A1" in ran.out

    def test_inline_contexts_and_csv_facts(self, cli, folder, tmp_path):
        facts = tmp_path / "facts.csv"
        facts.write_text(
            "fact_id,value,datatype,row_header,source_context\nf1,7,monetaryItemType,Cash,<table>7</table>\n"
        )
        ran = cli("tag", facts, "--data", folder.path)
        assert ran.code == 0
        assert "Cash" in ran.out


class TestExplain:
    @pytest.mark.parametrize("program", ["FHS-rules", "locus", "direct", "FHS-rules - verifier"])
    @pytest.mark.parametrize("fact", ["f1", "f2"])
    @pytest.mark.parametrize("columns", [80, 120])
    def test_the_page_fits_the_terminal(self, cli, folder, program, fact, columns):
        ran = cli(
            *("tag", folder.file("facts_dev.jsonl"), "--data", folder.path),
            *("--program", program, "--explain", fact),
            columns=columns,
        )
        assert ran.code == 0
        assert max(map(len, ran.out.splitlines())) <= columns
        for word in ("Queries", "Ranking", "Gold", "Counted", program):
            assert word in ran.out

    def test_the_whole_trail_of_the_demo_s_fact(self, cli):
        ran = cli("tag", "--program", "FHS-rules", "--explain", "F003-f01709", columns=120)
        lines = [" ".join(line.split()) for line in ran.out.splitlines()]
        assert "Family debt, liability [debt, liability]" in lines
        assert "7,650 of 17,388 concepts pass the datatype filter" in lines
        assert any("fused by reciprocal rank (kappa = 60), range-normalised to S~" in line for line in lines)
        assert "InterestPayableCurrent + + . . . + 1.00" in lines
        # the verifier moves gold from rank 3 to rank 1
        assert any(line.startswith("1 3 InterestPayableCurrent ") for line in lines)
        assert any(line.endswith("InterestPayableCurrent, rank 1") for line in lines)

    def test_documents_cannot_style_the_page(self, cli, folder):
        folder.facts[0]["row_header"] = "[red]Goodwill[/red] | [/]"
        folder.write()
        ran = cli("tag", folder.file("facts_dev.jsonl"), "--data", folder.path, "--explain", "f1")
        assert ran.code == 0
        assert "[red]Goodwill[/red] | [/]" in ran.out


class TestEval:
    def test_the_no_model_experiment_on_bundled_facts(self, cli, tmp_path):
        out = tmp_path / "run"
        ran = cli("eval", "finance-no-model", "--limit", "12", "--out", out, columns=80)
        assert ran.code == 0
        assert "the data bundled with abduce" in ran.out
        assert max(map(len, ran.out.splitlines())) <= max(80, len(str(out)) + 40)
        summary = json.loads((out / "summary.json").read_text())
        rows = {row["row"]: row for row in summary["rows"]}
        assert {"direct", "locus", "FHS-rules", "FHS-rules - verifier", "probe: label"} <= rows.keys()
        assert all(row["n"] == 12 for row in rows.values())
        assert rows["probe: label + definition"]["R@10"] == 1.0
        for measure in ("R@1", "R@10", "R@50", "R@200", "MRR"):
            assert all(0 <= row[measure] <= 1 for row in rows.values())
        assert (out / "resolved.toml").is_file()

    def test_one_row_and_a_split_of_one_s_own_data(self, cli, folder, monkeypatch):
        ran = cli("eval", "finance-no-model", "--row", "locus", "--data", folder.path, "--split", "dev")
        assert ran.code == 0
        assert "locus" in ran.out
        assert "direct" not in ran.out

    def test_the_resolved_file_runs_the_same_rows(self, cli, folder, tmp_path):
        first, second = tmp_path / "one", tmp_path / "two"
        at = ("--data", folder.path, "--split", "dev")
        assert cli("eval", "finance-no-model", *at, "--out", first).code == 0
        assert cli("eval", first / "resolved.toml", *at, "--out", second).code == 0
        one, two = (json.loads((p / "summary.json").read_text())["rows"] for p in (first, second))
        assert [(r["row"], r["MRR"]) for r in one] == [(r["row"], r["MRR"]) for r in two]


def test_a_model_that_cannot_be_reached_is_one_line(monkeypatch, capsys):
    from abduce.cli import main as cli
    from dspy.utils.exceptions import LMTransportError

    def fails():
        raise LMTransportError("unreachable at http://localhost:1/v1")

    monkeypatch.setattr(cli, "app", fails)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == "abduce: unreachable at http://localhost:1/v1\n"


def test_an_error_of_the_code_itself_keeps_its_traceback(monkeypatch):
    from abduce.cli import main as cli

    def fails():
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "app", fails)
    with pytest.raises(ZeroDivisionError):
        cli.main()
