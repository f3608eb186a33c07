import re
from pathlib import Path

import pytest

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


def test_the_tables_of_the_FHS_paper_name_experiments_that_exist_and_leave_none_out():
    from abduce.eval.experiments.files import bundled_experiments, load_experiment

    page = (PAGE.parent / "paper-tables.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:finance|clinical)-[a-z-]+)`", page))
    bundled = {n for n in bundled_experiments() if n.startswith(("finance-", "clinical-"))}
    assert named <= bundled
    assert {n for n in bundled if "Table" in load_experiment(n).table.title} <= named
