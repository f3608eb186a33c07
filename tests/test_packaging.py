"""The wheel has everything the tree has: packages, data, declared dependencies; and it stays small."""

from __future__ import annotations

import ast
import importlib.util
import io
import re
import sys
import tomllib
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest

FOLDERS = (
    "package",
    "signatures",
    "retrievers",
    "documents",
    "programs",
    "lm",
    "data",
    "tagging",
    "asking",
    "serve",
    "web",
    "eval",
    "cli",
)
SOURCES_OF_PAGES = Path("web", "src")
"""What `make pages` builds web/assets from; it is not shipped."""

DISTRIBUTION = {
    "faiss": "faiss-cpu",
    "sentence_transformers": "sentence-transformers",
    "milvus_lite": "milvus-lite",
    "Stemmer": "PyStemmer",
    "sklearn": "scikit-learn",
    "mlflow": "mlflow-skinny",
    "markdown_it": "markdown-it-py",
    "opentelemetry": "opentelemetry-api",
}
"""Import names whose distribution is called otherwise."""

ROOM_OF_AN_EXTRA = {"serve": "serve"}
"""A folder whose files are only imported where an extra is installed, to that extra."""

INDIRECT = {"torch", "transformers", "scikit-learn", "pyarrow", "pandas"}
"""What a declared dependency always brings along: sentence-transformers three, datasets the others."""


@pytest.fixture(scope="module")
def project(root):
    path = root / "pyproject.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def files(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            shipped = "__pycache__" not in path.parts and path.suffix != ".pyc"
            if path.is_file() and shipped and not path.is_relative_to(root / SOURCES_OF_PAGES):
                yield path


def package_of(folder):
    """``eval/commands`` to ``abduce.cli``; ``package`` is the root."""
    parts = folder.as_posix().split("/")
    return ".".join(["abduce", *(parts[1:] if parts[0] == "package" else parts)])


def test_every_folder_is_a_package_of_the_wheel(root, project):
    tool = project["tool"]["setuptools"]
    folders = {p.parent.relative_to(root) for p in files(root)}
    tree = {package_of(folder): folder.as_posix() for folder in folders}
    assert tree == tool["package-dir"]
    assert sorted(tool["packages"]) == sorted(tree)


def test_every_package_has_an_init(root):
    without = [p.parent for p in files(root) if not (p.parent / "__init__.py").is_file()]
    assert not without


def test_every_data_file_is_package_data_and_no_pattern_is_idle(root, project):
    patterns = {(p, g) for p, globs in project["tool"]["setuptools"]["package-data"].items() for g in globs}
    used = set()
    for path in files(root):
        if path.suffix == ".py":
            continue
        package = package_of(path.parent.relative_to(root))
        matching = {(p, g) for p, g in patterns if p == package and fnmatch(path.name, g)}
        assert matching, f"{path.relative_to(root)} would not be in the wheel"
        used |= matching
    assert used == patterns


def test_the_wheel_stays_under_45_MB_and_what_is_bundled_under_its_limits(root):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files(root):
            archive.write(path, path.relative_to(root))
    assert buffer.tell() < 45_000_000
    bundled = root / "data" / "bundled"

    def size(*folders):
        return sum(p.stat().st_size for f in folders for p in (bundled / f).iterdir() if p.is_file())

    assert size("finance") < 4_000_000
    assert size("finance/precedents", "clinical/precedents") < 12_000_000


def test_the_imported_packages_have_the_tree_s_files(root):
    """Under make test these are the installed wheel's."""
    missing = []
    for path in files(root):
        package = package_of(path.parent.relative_to(root))
        spec = importlib.util.find_spec(package)
        places = [] if spec is None else list(spec.submodule_search_locations or ())
        if not any((Path(place) / path.name).is_file() for place in places):
            missing.append(str(path.relative_to(root)))
    assert not missing


def imports(path):
    """(top-level name, at module level) of every absolute import of a file; type-checking ones left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))

    def walk(node, outer):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.Import):
                yield from ((alias.name.split(".")[0], outer) for alias in child.names)
            elif isinstance(child, ast.ImportFrom) and not child.level and child.module:
                yield child.module.split(".")[0], outer
            inner = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from walk(child, outer and not inner)

    return set(walk(tree, True))


def names(requirements):
    return {re.split(r"[\s<>=!~;\[]", r, maxsplit=1)[0].lower() for r in requirements}


def declared(name):
    return DISTRIBUTION.get(name, name.replace("_", "-")).lower()


def known(name):
    return name in sys.stdlib_module_names or name in ("abduce", "__future__")


def test_every_import_is_a_declared_dependency(root, project):
    core = names(project["project"]["dependencies"])
    optional = project["project"]["optional-dependencies"]
    extras = names(r for e in optional.values() for r in e)

    def outside(path):
        extra = ROOM_OF_AN_EXTRA.get(path.relative_to(root).parts[0])
        return core | names(optional[extra]) if extra else core

    wrong = [
        f"{path.relative_to(root)} imports {name} {'at module level' if outer else 'inside a function'}"
        for path in files(root)
        if path.suffix == ".py"
        for name, outer in imports(path)
        if not known(name) and declared(name) not in (outside(path) if outer else core | extras | INDIRECT)
    ]
    assert not wrong


def test_make_test_installs_whatever_the_tests_import(root, project):
    tool = project["tool"]["abduce"]
    wanted = project["project"]["dependencies"] + project["project"]["optional-dependencies"]["dev"]
    installed = names([*wanted, *tool["test-extras"], *tool["nodeps"]]) | INDIRECT
    own = {p.stem for p in (root / "tests" / "support").iterdir()}
    wrong = []
    for path in sorted((root / "tests").rglob("*.py")):
        asked = re.findall(r"importorskip\(\"(\w+)", path.read_text(encoding="utf-8"))
        needed = {name for name, outer in imports(path) if outer and not known(name)} | set(asked)
        beside = {p.stem for p in path.parent.iterdir()}
        wrong += [
            f"{path.relative_to(root)} needs {n}"
            for n in needed - own - beside
            if declared(n) not in installed
        ]
    assert not wrong


def named_extras(path):
    """The literal ``extra`` of every ``MissingExtra(package, extra)`` of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "MissingExtra":
            extra = node.args[1] if len(node.args) > 1 else node.keywords[-1].value
            if isinstance(extra, ast.Constant):
                yield extra.value


def test_missing_extras_name_an_extra_that_there_is(root, project):
    extras = project["project"]["optional-dependencies"]
    found = {extra for path in files(root) if path.suffix == ".py" for extra in named_extras(path)}
    assert {"dense", "local"} <= found
    assert found <= set(extras)


def test_the_two_commands_are_those_of_the_README_and_of_CI(root):
    readme, make, ci = ((root / f).read_text(encoding="utf-8") for f in ("README.md", "Makefile", ".ci/run"))
    for command in ("demo", "test"):
        assert re.search(rf"^{command}:", make, re.MULTILINE)
        assert re.search(rf"^make {command}\b", readme, re.MULTILINE)
        assert re.search(rf"^make {command}$", ci, re.MULTILINE)
