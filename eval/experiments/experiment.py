"""Experiment files: a table's rows in TOML; each row gives only its changes.

This module has what all families share; a family adds its own keys (:mod:`abduce.eval.experiments.family`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from ...programs.spec import SpecBase
from ...retrievers.errors import InputError


class RowTable(BaseModel):
    """One ``[[row]]``: its start (``program``: a preset or a program's name; or ``base``: an earlier row),
    and its changes (``set``). ``reference`` holds the paper's numbers by measure, by a column of an analysis
    (``"gold in window"``), or by measure and group (``"Acc by modality: table"``).
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    name: str = Field(min_length=1)
    program: str = ""
    base: str = ""
    set: dict[str, Any] = Field(default_factory=dict)
    reference: dict[str, float] = Field(default_factory=dict)


class ExperimentTable(BaseModel):
    """The keys that all families share. ``where`` selects examples by their groups (``where = { modality =
    "table" }``), ``ids`` by id; ``notes`` are shown below the tables.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    family: str = "taxonomy"
    name: str = ""
    title: str = ""
    notes: list[str] = Field(default_factory=list)
    baseline: str | None = None
    seeds: list[int] = Field(default_factory=lambda: [0], min_length=1)
    where: dict[str, str] = Field(default_factory=dict)
    ids: list[str] = Field(default_factory=list)
    retriever: dict[str, Any] = Field(default_factory=lambda: {"kind": "bm25"})
    lm: dict[str, Any] = Field(default_factory=dict)
    row: Sequence[RowTable] = Field(min_length=1)

    naming_rows: ClassVar[tuple[str, ...]] = ("baseline",)
    """Keys whose value is the name of a row."""

    def located(self, folder: Path) -> Self:
        """The table with paths relative to its file's folder resolved."""
        return self

    def models(self) -> dict[str, dict[str, Any]]:
        """The ``[lm]`` table of each model by name; a single model is called ``""``."""
        return {"": self.lm}

    def with_models(self, models: Mapping[str, Mapping[str, Any]]) -> Self:
        """The table with these models instead."""
        return self.model_copy(update={"lm": dict(models[""])})

    def written(self) -> dict[str, Any]:
        """The table for a file, without rows and empty fields."""
        found = self.model_dump(mode="json", exclude={"row"}, exclude_none=True)
        return {name: value for name, value in found.items() if value not in ({}, [], "")}


Table = TypeVar("Table", bound=ExperimentTable)
Spec = TypeVar("Spec", bound=SpecBase)


@dataclass(frozen=True)
class ResolvedRow(Generic[Spec]):
    """A row with all inherited settings."""

    name: str
    spec: Spec
    reference: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment(Generic[Table, Spec]):
    """An experiment with resolved rows. ``table`` holds the rest of its file."""

    table: Table
    rows: Sequence[ResolvedRow[Spec]]
    file: Path | None = None

    @property
    def family(self) -> str:
        return self.table.family

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def baseline(self) -> str | None:
        return self.table.baseline

    @property
    def seeds(self) -> Sequence[int]:
        return tuple(self.table.seeds)

    @property
    def where(self) -> Mapping[str, str]:
        return self.table.where

    @property
    def retriever(self) -> Mapping[str, Any]:
        return self.table.retriever

    def changed(self, **keys: Any) -> Self:
        """The experiment with some keys replaced."""
        return replace(self, table=self.table.model_copy(update=keys))

    def with_models(self, models: Mapping[str, Mapping[str, Any]]) -> Self:
        """The experiment with these ``[lm]`` tables instead."""
        return replace(self, table=self.table.with_models(models))

    def only(self, names: Sequence[str]) -> Self:
        """The experiment with some of its rows, in order, and the rows that they replay.

        Raises:
            InputError: an unknown row.
        """
        known = [r.name for r in self.rows]
        for name in names:
            if name not in known:
                raise InputError(f"the experiment {self.name} has no row {name!r}; it has {', '.join(known)}")
        wanted = set(names)
        for row in reversed(self.rows):
            if row.name in wanted:
                wanted.add(getattr(row.spec, "replay", ""))
        gone = {key: None for key in self.table.naming_rows if getattr(self.table, key) not in names}
        return replace(self.changed(**gone), rows=[r for r in self.rows if r.name in wanted])

    def declared(self) -> dict[str, str]:
        """The rows that the file declares for a purpose, such as ``baseline``."""
        named = {key: getattr(self.table, key) for key in self.table.naming_rows}
        return {key: value for key, value in named.items() if value}

    def toml(self, data: str, examples: int) -> str:
        """The experiment with every setting written out; this file runs the same rows.

        ``data`` and the number of examples are written as a comment.
        """
        import tomli_w

        rows = []
        for row in self.rows:
            spec = row.spec.model_dump(mode="json", exclude_none=True)
            settings = row.spec.resolve().model_dump(mode="json", exclude_none=True)
            entry: dict[str, Any] = {"name": row.name}
            for key, value in spec.items():
                if key == "program":
                    entry[key] = value
                elif isinstance(value, dict) and key != "config":
                    settings |= {f"{key}.{k}": v for k, v in value.items()}
                elif key != "config" and value != "":
                    settings[key] = value
            entry |= {"set": settings}
            if row.reference:
                entry["reference"] = dict(row.reference)
            rows.append(entry)
        return f"# data: {data}; {examples} examples\n" + tomli_w.dumps({**self.table.written(), "row": rows})
