"""Read experiment files: bundled ones by name, others by path."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ...retrievers.errors import InputError
from ...retrievers.files import read_toml
from ...signatures.toml import parse_toml
from .experiment import Experiment, ResolvedRow
from .family import AnyExperiment, Family
from .questions import QuestionFamily
from .retrieval import RetrievalFamily
from .taxonomy import TaxonomyFamily

FAMILIES: Mapping[str, Family[Any, Any]] = {
    "taxonomy": TaxonomyFamily(),
    "qa": QuestionFamily(),
    "retrieval": RetrievalFamily(),
}
"""The families by the ``family`` key of their files; without it, a file is of the first."""


def bundled_experiments() -> list[str]:
    """Names of the bundled experiments."""
    folder = resources.files(__package__)
    return sorted(p.name.removesuffix(".toml") for p in folder.iterdir() if p.name.endswith(".toml"))


def load_experiment(name: str | Path) -> AnyExperiment:
    """An experiment by the path of its TOML file, or a bundled one by name.

    Raises:
        InputError: no such file or name, not TOML, an unknown key, program, base or setting.
    """
    name = str(name)
    if name.endswith(".toml"):
        path = Path(name)
    elif name in bundled_experiments():
        path = Path(str(resources.files(__package__) / f"{name}.toml"))
    else:
        known = ", ".join(bundled_experiments())
        raise InputError(f"no experiment {name!r}: give the path of a .toml file, or one of {known}")
    return _experiment(read_toml(path), path)


def parse_experiment(text: str, path: Path) -> AnyExperiment:
    """An experiment from TOML text; ``path`` is named in errors.

    Raises:
        InputError: see :func:`load_experiment`.
    """
    try:
        given = parse_toml(text)
    except ValueError as e:
        raise InputError(str(e), file=path) from e
    return _experiment(given, path)


def _experiment(given: Mapping[str, Any], path: Path) -> AnyExperiment:
    name = given.get("family", "taxonomy")
    if name not in FAMILIES:
        raise InputError(f"is none of {', '.join(FAMILIES)}: {name!r}", file=path, field="family")
    family = FAMILIES[name]
    try:
        table = family.table.model_validate(given)
    except ValidationError as e:
        raise InputError.of_validation(e, file=path) from e
    table = table.located(path.parent).model_copy(update={"name": table.name or path.stem})
    rows: dict[str, ResolvedRow[Any]] = {}
    for place, row in enumerate(table.row):
        where = f"row[{place}] {row.name!r}"
        if row.name in rows:
            raise InputError("duplicate name", file=path, field=where)
        try:
            if row.base and row.program:
                raise ValueError("give either program or base")
            if row.base and row.base not in rows:
                raise ValueError(f"base: no earlier row {row.base!r}")
            start = rows[row.base].spec if row.base else None
            rows[row.name] = ResolvedRow(
                row.name, family.spec(row, start, table).changed(row.set), row.reference
            )
        except ValueError as e:
            raise InputError(str(e), file=path, field=where) from e
    for key in table.naming_rows:
        if (value := getattr(table, key)) is not None and value not in rows:
            raise InputError(f"is no row: {value!r}", file=path, field=key)
    return Experiment(table, list(rows.values()), path)
