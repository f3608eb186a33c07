import sys
from pathlib import Path

import pytest
from abduce.eval.runs.code_version import code_version


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of a user: ``method`` imports ``helper`` inside a function, ``other`` stands alone."""
    folder = tmp_path / "userpack"
    (folder / "sub").mkdir(parents=True)
    for name, source in {
        "__init__": "",
        "method": "import json\n\nclass Method:\n    def __call__(self):\n        from .sub import helper\n",
        "sub/__init__": "",
        "sub/helper": "from ..base import VALUE\n",
        "base": "VALUE = 1\n",
        "other": "x = 1\n",
    }.items():
        (folder / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


@pytest.mark.parametrize("changed", ["method.py", "sub/helper.py", "base.py", "sub/__init__.py"])
def test_everything_a_program_imports_is_part_of_its_version(package: Path, changed: str) -> None:
    before = code_version("userpack.method")
    path = package / changed
    path.write_text(path.read_text() + "# changed\n")
    assert code_version("userpack.method") != before


def test_what_it_does_not_import_is_not(package: Path) -> None:
    before = code_version("userpack.method")
    (package / "other.py").write_text("x = 2\n")
    assert code_version("userpack.method") == before
    assert "userpack.sub.helper" not in sys.modules


def test_objects_stand_for_their_modules(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from userpack import method  # type: ignore[import-not-found]

    named = code_version("userpack.method")
    assert code_version(method) == code_version(method.Method) == code_version(method.Method()) == named
    for name in [n for n in sys.modules if n.partition(".")[0] == "userpack"]:
        monkeypatch.delitem(sys.modules, name)


def test_a_notebooks_function_has_a_version_too() -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    exec("def program(n): return n", namespace)
    assert len(code_version(namespace["program"])) == 16


def test_abduces_programs_have_different_versions() -> None:
    versions = {code_version(f"abduce.eval.{name}") for name in ("metrics", "stats", "runner")}
    assert len(versions) == 3
