import sys
from pathlib import Path

import pytest
from abduce.eval.runs.code_version import code_version
from abduce.programs.direct import Direct


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of a user: ``method`` uses ``helper``; ``alone`` is a module beside it."""
    folder = tmp_path / "userpack"
    (folder / "sub").mkdir(parents=True)
    for name, source in {
        "__init__": "",
        "method": "class Method:\n    def __call__(self):\n        from .sub import helper\n",
        "sub/__init__": "",
        "sub/helper": "VALUE = 1\n",
        "../alone": "x = 1\n",
    }.items():
        (folder / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


@pytest.mark.parametrize("changed", ["method.py", "sub/helper.py", "sub/__init__.py"])
def test_every_file_of_an_outside_package_is_part_of_the_version(package: Path, changed: str) -> None:
    before = code_version("userpack.method")
    path = package / changed
    path.write_text(path.read_text() + "# changed\n")
    assert code_version("userpack.method") != before
    assert code_version("alone") != before
    assert "userpack.sub.helper" not in sys.modules


def test_an_outside_module_is_a_file_of_its_own(package: Path) -> None:
    before = code_version("userpack.method"), code_version("alone")
    (package.parent / "alone.py").write_text("x = 2\n")
    assert code_version("userpack.method") == before[0]
    assert code_version("alone") != before[1]


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
    assert code_version(namespace["program"]) != code_version()


def test_abduces_own_methods_have_one_version() -> None:
    assert code_version(Direct) == code_version() == code_version("abduce.programs.fhs")
