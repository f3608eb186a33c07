import json
import re
from pathlib import Path
from typing import Any

import dspy
import pytest
from openai_stub import Stub, content_for

PAGE = Path(__file__).parents[1] / "docs" / "evaluation.md"


def test_the_pages_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    for code in blocks:
        exec(compile(code, str(PAGE), "exec"), names)
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.count("| locus | 40 |") == len(blocks) == 2
    assert "locus minus direct" in printed
    assert len(names["frame"]) == 80  # type: ignore[arg-type]


def test_the_examples_of_the_dspy_page_run(tmp_path, monkeypatch):
    page = (PAGE.parent / "dspy.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ABDUCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("dspy.cache", dspy.cache)
    names: dict[str, Any] = {}
    with Stub() as stub:
        stub.then = lambda body: content_for(body).replace("stub answer", "debt due within one year")
        for code in blocks:
            code = code.replace("http://localhost:8000/v1", stub.url)
            if code.startswith("# mine.py"):
                (tmp_path / "mine.py").write_text(code)
                monkeypatch.syspath_prepend(str(tmp_path))
            else:
                exec(compile(code, "dspy.md", "exec"), names)
    names["models"].close()
    assert names["prediction"].ranking[0].id == "DebtCurrent"
    assert list(names["frame"].columns[:3]) == ["rank", "id", "score"]
    json.dumps(names["record"])
    assert [p.ranking.ids for p in names["predictions"]] == [names["prediction"].ranking.ids] * 2
    assert names["said"][:2] == ["writing hypotheses", "retrieving"]
    assert (tmp_path / "fhs.json").exists()
    loaded = dspy.load("fhs-program", allow_pickle=True)
    assert loaded.dump_state() == names["compiled"].dump_state()
    from abduce.programs.methods import Parts, build_program
    from abduce.programs.presets import spec_named

    spec = spec_named("mine:FirstWords").changed({"K": 100, "options.words": 2})
    program = names["program"]
    own = build_program(spec, Parts(lambda _: program.retriever, program.taxonomy, program.schema))
    assert own(fact=names["fact"]).trace.queries[0].text == "Short-term debt"


def test_the_tables_of_the_FHS_paper_name_experiments_that_exist_and_leave_none_out():
    from abduce.eval.experiments.files import bundled_experiments, load_experiment

    page = (PAGE.parent / "paper-tables.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:finance|clinical)-[a-z-]+)`", page))
    bundled = {n for n in bundled_experiments() if n.startswith(("finance-", "clinical-"))}
    assert named <= bundled
    assert {n for n in bundled if "Table" in load_experiment(n).table.title} <= named
