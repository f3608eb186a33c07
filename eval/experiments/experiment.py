"""Experiment files: a table's rows in TOML, each row stating only what it changes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...programs.presets import spec_named
from ...programs.spec import Spec
from ...retrievers.errors import InputError

_SPEC_KEYS = set(Spec.model_fields) - {"config", "retriever", "serializer", "options"}


class RowTable(BaseModel):
    """One ``[[row]]``: where it starts (``program``: a preset or a bare program; or ``base``: an earlier
    row), and what it ``set``s. ``reference`` holds the paper's numbers by measure, by a column of an
    analysis (``"gold in window"``), or by measure and group (``"Acc by modality: table"``)."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1)
    program: str = ""
    base: str = ""
    set: dict[str, Any] = Field(default_factory=dict)
    reference: dict[str, float] = Field(default_factory=dict)
    generator: str = ""
    verifier: str = ""
    prompts: str = ""
    vocabulary: str = ""
    verdicts: str = ""
    replay: str = ""
    state: str = ""
    selector: bool | None = None


class ExperimentTable(BaseModel):
    """The whole file. ``defaults`` are set on every row that starts from a program (where the program has
    the setting), before the row's own changes. ``where`` restricts the examples to those with these values
    of their groups (``where = { modality = "table" }``)."""

    model_config = ConfigDict(extra="forbid")

    name: str = ""
    title: str = ""
    domain: str = "finance"
    split: str = "test"
    where: dict[str, str] = Field(default_factory=dict)
    baseline: str | None = None
    seeds: list[int] = Field(default_factory=lambda: [0], min_length=1)
    retriever: dict[str, Any] = Field(default_factory=lambda: {"kind": "bm25"})
    lm: dict[str, Any] = Field(default_factory=dict)
    defaults: dict[str, Any] = Field(default_factory=dict)
    row: list[RowTable] = Field(min_length=1)


@dataclass(frozen=True)
class ResolvedRow:
    """A row with everything it inherits."""

    name: str
    spec: Spec
    reference: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """An experiment whose rows are resolved."""

    name: str
    title: str
    domain: str
    split: str
    baseline: str | None
    seeds: Sequence[int]
    retriever: Mapping[str, Any]
    lm: Mapping[str, Any]
    rows: Sequence[ResolvedRow]
    file: Path | None = None
    where: Mapping[str, str] = field(default_factory=dict)

    def only(self, names: Sequence[str]) -> Experiment:
        """The same experiment with some of its rows, in its order; rows that they replay come with them.

        Raises:
            InputError: a name that no row has.
        """
        known = [r.name for r in self.rows]
        for name in names:
            if name not in known:
                raise InputError(f"the experiment {self.name} has no row {name!r}; it has {', '.join(known)}")
        wanted = set(names)
        for row in reversed(self.rows):
            if row.name in wanted and row.spec.replay:
                wanted.add(row.spec.replay)
        kept = [r for r in self.rows if r.name in wanted]
        baseline = self.baseline if self.baseline in names else None
        return Experiment(**{**self.__dict__, "rows": kept, "baseline": baseline})


def bundled_experiments() -> list[str]:
    """Names of the experiments that come with abduce."""
    folder = resources.files(__package__)
    return sorted(p.name.removesuffix(".toml") for p in folder.iterdir() if p.name.endswith(".toml"))


def load_experiment(name: str) -> Experiment:
    """An experiment by the path of its TOML file, or a bundled one by name.

    Raises:
        InputError: no such file or name, not TOML, an unknown key, program, base or setting.
    """
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise InputError("no such experiment file", file=path)
    else:
        if name not in bundled_experiments():
            known = ", ".join(bundled_experiments())
            raise InputError(f"no experiment {name!r}: give the path of a .toml file, or one of {known}")
        path = Path(str(resources.files(__package__) / f"{name}.toml"))
    try:
        return parse_experiment(path.read_text(encoding="utf-8"), path)
    except UnicodeDecodeError as e:
        raise InputError("is not UTF-8", file=path) from e


def parse_experiment(text: str, path: Path) -> Experiment:
    """An experiment from TOML text; ``path`` is named in errors."""
    try:
        table = ExperimentTable.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as e:
        raise InputError(f"is not TOML: {e}", file=path) from e
    except ValidationError as e:
        raise InputError.of_validation(e, file=path) from e
    rows: dict[str, ResolvedRow] = {}
    for place, row in enumerate(table.row):
        where = f"row[{place}] {row.name!r}"
        if row.name in rows:
            raise InputError("the name is there twice", file=path, field=where)
        try:
            rows[row.name] = _resolve(row, rows, table.defaults)
        except ValueError as e:
            raise InputError(str(e), file=path, field=where) from e
    baseline = table.baseline
    if baseline is not None and baseline not in rows:
        raise InputError(f"is no row: {baseline!r}", file=path, field="baseline")
    return Experiment(
        table.name or path.stem,
        table.title,
        table.domain,
        table.split,
        baseline,
        tuple(table.seeds),
        table.retriever,
        table.lm,
        list(rows.values()),
        path,
        table.where,
    )


def _resolve(row: RowTable, earlier: Mapping[str, ResolvedRow], defaults: Mapping[str, Any]) -> ResolvedRow:
    if bool(row.program) == bool(row.base):
        raise ValueError("give either program or base")
    if row.base:
        if row.base not in earlier:
            raise ValueError(f"base: no earlier row {row.base!r}")
        spec = earlier[row.base].spec
    else:
        spec = spec_named(row.program).changed(defaults)
    direct = {k: getattr(row, k) for k in _SPEC_KEYS - {"program"} if getattr(row, k) not in ("", None)}
    return ResolvedRow(row.name, spec.changed(direct | row.set), row.reference)


def resolved_toml(experiment: Experiment, data: str, examples: int) -> str:
    """The experiment with every setting spelled out; running this file runs the same rows.

    ``data`` and the number of examples are written as comments.
    """
    import tomli_w

    table: dict[str, Any] = {
        "name": experiment.name,
        "title": experiment.title,
        "domain": experiment.domain,
        "split": experiment.split,
        "seeds": list(experiment.seeds),
        "retriever": dict(experiment.retriever),
    }
    if experiment.where:
        table["where"] = dict(experiment.where)
    if experiment.baseline:
        table["baseline"] = experiment.baseline
    if experiment.lm:
        table["lm"] = dict(experiment.lm)
    rows = []
    for row in experiment.rows:
        spec = row.spec.model_dump(mode="json")
        settings = row.spec.resolve().model_dump(mode="json")
        for group in ("retriever", "serializer", "options"):
            settings |= {f"{group}.{k}": v for k, v in spec[group].items()}
        entry = {k: spec[k] for k in sorted(_SPEC_KEYS)} | {"name": row.name, "set": settings}
        if row.reference:
            entry["reference"] = dict(row.reference)
        rows.append(entry)
    table["row"] = rows
    return f"# data: {data}; {examples} examples\n" + tomli_w.dumps(table)
