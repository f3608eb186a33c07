"""The README's examples run as they stand."""

from __future__ import annotations

import contextlib
import io
import re

import dspy
import pytest


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
    statements = [
        line for line in examples["no model"].splitlines() if line and not line.startswith((" ", ")"))
    ]
    assert len(statements) <= 15


def test_they_tag_one_fact_without_a_model_and_then_with_one(examples, monkeypatch, scripted, reply):
    monkeypatch.delenv("ABDUCE_DATA", raising=False)
    names: dict[str, object] = {}
    lines = run(examples["no model"], names)
    assert [line.split()[0] for line in lines] == ["1", "2", "3"]
    assert lines[0].split()[1] == "Goodwill"

    model = scripted(
        generator=lambda a: reply("carrying amount of goodwill", Family="asset", Role="goodwill balance"),
        verifier=lambda a: {"verdicts": ["ssxxxx"] * len(a.field("candidates").split("\n"))},
        selector={"ids": ["GoodwillGross"]},
    )
    monkeypatch.setattr(dspy, "LM", lambda *args, **kwargs: model)
    with dspy.context(adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)):
        (line,) = run(examples["with a model"], names)
    assert line.startswith("GoodwillGross ")
    assert "goodwill balance" in line
    assert model.stages() == {"generator": 2, "verifier": 2, "selector": 1}


def test_the_command_lines_name_options_and_facts_that_there_are(root, dev_facts, cli):
    text = (root / "README.md").read_text(encoding="utf-8")
    known = {e.id for e in dev_facts}
    explained = re.findall(r"--explain (\S+)", text + (root / "Makefile").read_text(encoding="utf-8"))
    assert explained
    assert set(explained) <= known
    shell = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
    for command in sorted(set(re.findall(r"^abduce ([a-z]+)", shell, re.MULTILINE))):
        assert cli(command, "--help").code == 0
