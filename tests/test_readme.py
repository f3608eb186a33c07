"""The README's examples run as they stand."""

from __future__ import annotations

import contextlib
import io
import re

import dspy
import pytest

SHEET = ',2024\nGoodwill,"1,204"\nLong-term debt,"3,310"\n'


@pytest.fixture(scope="module")
def examples(root):
    """The Python blocks by the words of the comment above them."""
    text = (root / "README.md").read_text(encoding="utf-8")
    return dict(re.findall(r"<!-- example: ([^>]*?) -->\n```python\n(.*?)```", text, re.DOTALL))


def run(code, names):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "README.md", "exec"), names)
    return said.getvalue().splitlines()


def test_both_are_there_and_short(examples):
    assert set(examples) == {"no model", "with a model"}
    assert len(examples["no model"].split("\n")) <= 8


def test_they_tag_a_sheet_without_a_model_and_then_with_one(examples, monkeypatch, scripted, reply, tmp_path):
    monkeypatch.delenv("ABDUCE_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "balance-sheet.csv").write_text(SHEET)
    names: dict[str, object] = {}
    goodwill, debt = run(examples["no model"], names)
    assert goodwill.startswith("Goodwill ")
    assert "Goodwill" in goodwill.split(maxsplit=2)[2]
    assert "Long-term debt" in debt
    assert len((tmp_path / "tags.csv").read_text().splitlines()) == 3

    model = scripted(
        generator=lambda a: reply("carrying amount of goodwill", Family="asset", Role="goodwill balance"),
        verifier=lambda a: {"verdicts": ["ssxxxx"] * len(a.field("candidates").split("\n"))},
    )
    monkeypatch.setattr(dspy, "LM", lambda *args, **kwargs: model)
    with dspy.context(adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)):
        (line,) = run(examples["with a model"], names)
    assert line.startswith("Goodwill")
    assert "goodwill balance" in line
    assert model.stages() == {"generator": 2, "verifier": 2}


def test_the_command_lines_name_options_and_facts_that_there_are(root, dev_facts, cli):
    text = (root / "README.md").read_text(encoding="utf-8")
    known = {e.id for e in dev_facts}
    explained = re.findall(r"--explain (\S+)", text + (root / "Makefile").read_text(encoding="utf-8"))
    assert explained
    assert set(explained) <= known
    shell = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
    for command in sorted(set(re.findall(r"^abduce ([a-z]+)", shell, re.MULTILINE))):
        assert cli(command, "--help").code == 0
