import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "evaluation.md"


def test_the_pages_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    printed = capsys.readouterr().out
    assert "| locus | 40 |" in printed
    assert "locus minus direct" in printed
    assert len(names["frame"]) == 80  # type: ignore[arg-type]
