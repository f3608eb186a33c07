"""Experiment files of the RAG family (``family = "qa"``): question sets x models x methods."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...programs.rag.presets import RAGSpec, rag_spec
from ...retrievers.errors import InputError

FAMILY = "qa"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


class QARowTable(_Table):
    """One ``[[row]]``: ``program`` (a preset or a bare program) or ``base`` (an earlier row), and ``set``."""

    name: str = Field(min_length=1)
    program: str = ""
    base: str = ""
    set: dict[str, Any] = Field(default_factory=dict)
    reference: dict[str, float] = Field(default_factory=dict)


class ModelTable(_Table):
    """One ``[[model]]``: a name for the table's column and an ``[lm]`` table."""

    name: str = Field(min_length=1)
    lm: dict[str, Any]


class JudgeTable(_Table):
    """One ``[[judge]]``. ``optional``: where its key variable is not set the run goes on without it, and says
    so; else that is an error."""

    name: str = Field(min_length=1)
    lm: dict[str, Any]
    optional: bool = False


class QATable(_Table):
    """The whole file."""

    family: Literal["qa"]
    name: str = ""
    title: str = ""
    notes: list[str] = Field(default_factory=list)
    questions: list[str] = Field(min_length=1)
    corpus: str = "medical"
    baseline: str | None = None
    no_rag: str | None = None
    seeds: list[int] = Field(default_factory=lambda: [0], min_length=1)
    retriever: dict[str, Any] = Field(default_factory=lambda: {"kind": "medcpt"})
    reranker: dict[str, Any] = Field(default_factory=dict)
    lm: dict[str, Any] = Field(default_factory=dict)
    model: list[ModelTable] = Field(default_factory=list)
    judge: list[JudgeTable] = Field(default_factory=list, max_length=2)
    row: list[QARowTable] = Field(min_length=1)


@dataclass(frozen=True)
class QARow:
    """A row with everything it inherits."""

    name: str
    spec: RAGSpec
    reference: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class QAExperiment:
    """An experiment whose rows are resolved.

    ``models`` maps a column's name to its ``[lm]`` table; without ``[[model]]`` there is one, from ``[lm]``.
    ``no_rag`` is the row that same-subset gains refer to. ``notes`` are printed below the tables.
    """

    name: str
    title: str
    notes: Sequence[str]
    questions: Sequence[str]
    corpus: str
    baseline: str | None
    no_rag: str | None
    seeds: Sequence[int]
    retriever: Mapping[str, Any]
    reranker: Mapping[str, Any]
    models: Mapping[str, Mapping[str, Any]]
    judges: Sequence[JudgeTable]
    rows: Sequence[QARow]

    def only(self, names: Sequence[str]) -> QAExperiment:
        """The same experiment with some of its rows, in its order.

        Raises:
            InputError: a name that no row has.
        """
        known = [r.name for r in self.rows]
        for name in names:
            if name not in known:
                raise InputError(f"the experiment {self.name} has no row {name!r}; it has {', '.join(known)}")
        return replace(
            self,
            rows=[r for r in self.rows if r.name in names],
            baseline=self.baseline if self.baseline in names else None,
            no_rag=self.no_rag if self.no_rag in names else None,
        )


def parse_qa(text: str, path: Path) -> QAExperiment:
    """An experiment from TOML text; ``path`` is named in errors.

    Raises:
        InputError: not TOML, an unknown key, program, base or setting, a name twice.
    """
    try:
        table = QATable.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as e:
        raise InputError(f"is not TOML: {e}", file=path) from e
    except ValidationError as e:
        first = e.errors()[0]
        where = ".".join(str(p) for p in first["loc"])
        message = "no such setting" if first["type"] == "extra_forbidden" else str(first["msg"])
        raise InputError(message, file=path, field=where) from e
    rows: dict[str, QARow] = {}
    for place, row in enumerate(table.row):
        where = f"row[{place}] {row.name!r}"
        if row.name in rows:
            raise InputError("the name is there twice", file=path, field=where)
        try:
            rows[row.name] = QARow(row.name, _spec(row, rows), row.reference)
        except ValueError as e:
            raise InputError(str(e), file=path, field=where) from e
    for key in ("baseline", "no_rag"):
        if (value := getattr(table, key)) is not None and value not in rows:
            raise InputError(f"is no row: {value!r}", file=path, field=key)
    models = {m.name: m.lm for m in table.model} or {"": table.lm}
    if table.model and table.lm:
        raise InputError("give either [lm] or [[model]]", file=path, field="lm")
    if len(models) < len(table.model):
        raise InputError("two models have the same name", file=path, field="model")
    if len({j.name for j in table.judge}) < len(table.judge):
        raise InputError("two judges have the same name", file=path, field="judge")
    return QAExperiment(
        table.name or path.stem,
        table.title,
        table.notes,
        table.questions,
        table.corpus,
        table.baseline,
        table.no_rag,
        tuple(table.seeds),
        table.retriever,
        table.reranker,
        models,
        table.judge,
        list(rows.values()),
    )


def _spec(row: QARowTable, earlier: Mapping[str, QARow]) -> RAGSpec:
    if bool(row.program) == bool(row.base):
        raise ValueError("give either program or base")
    if row.base and row.base not in earlier:
        raise ValueError(f"base: no earlier row {row.base!r}")
    spec = earlier[row.base].spec if row.base else rag_spec(row.program)
    return spec.changed(row.set)


def resolved_qa(experiment: QAExperiment, data: str, examples: int) -> str:
    """The experiment with every setting spelled out; running this file runs the same rows."""
    import tomli_w

    table: dict[str, Any] = {
        "family": FAMILY,
        "name": experiment.name,
        "title": experiment.title,
        "notes": list(experiment.notes),
        "questions": list(experiment.questions),
        "corpus": experiment.corpus,
        "seeds": list(experiment.seeds),
        "retriever": dict(experiment.retriever),
    }
    for key in ("baseline", "no_rag", "reranker"):
        if value := getattr(experiment, key):
            table[key] = value if isinstance(value, str) else dict(value)
    if list(experiment.models) == [""]:
        if experiment.models[""]:
            table["lm"] = dict(experiment.models[""])
    else:
        table["model"] = [{"name": name, "lm": dict(lm)} for name, lm in experiment.models.items()]
    if experiment.judges:
        table["judge"] = [j.model_dump() for j in experiment.judges]
    rows = []
    for row in experiment.rows:
        settings = row.spec.resolve().model_dump(mode="json", exclude_none=True)
        settings |= {"planner": row.spec.planner} | {
            f"retriever.{k}": v for k, v in row.spec.retriever.items()
        }
        entry: dict[str, Any] = {"name": row.name, "program": row.spec.program, "set": settings}
        if row.reference:
            entry["reference"] = dict(row.reference)
        rows.append(entry)
    table["row"] = rows
    return f"# data: {data}; {examples} questions\n" + tomli_w.dumps(table)
