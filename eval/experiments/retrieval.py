"""Retrieval experiments (``family = "retrieval"``): queries, judged documents, published numbers.

They hold abduce's retrievers against what others measured with the same method on public collections.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...data.folder import DataFolder
from ...retrievers.base import Ranking
from ...retrievers.corpus import Corpus
from ...retrievers.errors import InputError, MissingExtra
from ...retrievers.files import read_csv, read_jsonl, require
from ...retrievers.registry import build
from ..tables import Cell, Table, Value


class IRRow(BaseModel):
    """One retriever and the numbers that were published for its method."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    retriever: Mapping[str, Any]
    reference: Mapping[str, float] = Field(default_factory=dict)


class IRExperiment(BaseModel):
    """A retrieval experiment: files are paths inside the data folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    family: str
    name: str
    title: str = ""
    corpus: str
    queries: str
    qrels: str
    measures: tuple[str, ...] = ("nDCG@10", "R@100")
    depth: int = Field(default=1000, ge=1)
    notes: tuple[str, ...] = ()
    row: tuple[IRRow, ...]


@dataclass(frozen=True)
class IRData:
    """A test collection: passages, judged queries and the judgements {query: {passage: grade}}."""

    corpus: Corpus
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def parse_ir(text: str, path: Path) -> IRExperiment:
    """A retrieval experiment from its TOML.

    Raises:
        InputError: names the field of what is wrong.
    """
    try:
        return IRExperiment.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as e:
        raise InputError(f"is not TOML: {e}", file=path) from e
    except ValidationError as e:
        first = e.errors()[0]
        raise InputError(first["msg"], file=path, field=".".join(map(str, first["loc"]))) from e


def load_ir(experiment: IRExperiment, folder: DataFolder) -> IRData:
    """The test collection of an experiment; only judged queries are kept.

    Raises:
        InputError: a file is missing or a line is wrong.
    """
    corpus = Corpus.load(folder.file(*experiment.corpus.split("/")), experiment.name)
    path = folder.file(*experiment.qrels.split("/"))
    qrels: dict[str, dict[str, int]] = {}
    for line, row in read_csv(path):
        query, document = require(row, "query-id", path, line), require(row, "corpus-id", path, line)
        try:
            qrels.setdefault(query, {})[document] = int(require(row, "score", path, line))
        except ValueError as e:
            raise InputError("must be a whole number", file=path, line=line, field="score") from e
    texts: dict[str, str] = {}
    path = folder.file(*experiment.queries.split("/"))
    for line, row in read_jsonl(path):
        id_ = require(row, "_id", path, line)
        if id_ in qrels:
            texts[id_] = require(row, "text", path, line)
    missing = sorted(set(qrels) - set(texts))
    if missing:
        raise InputError(f"has no query {missing[0]!r}, which is judged", file=path)
    return IRData(corpus, {id_: texts[id_] for id_ in qrels}, qrels)


def score_ir(
    rankings: Mapping[str, Ranking], qrels: Mapping[str, Mapping[str, int]], measures: Sequence[str]
) -> dict[str, float]:
    """Means over queries, by ir-measures, which sees each ranking's own order.

    Raises:
        MissingExtra: ir-measures is not installed.
        InputError: a measure that it does not know.
    """
    try:
        import ir_measures
    except ImportError as e:
        raise MissingExtra("ir-measures", "bench") from e
    try:
        wanted = [ir_measures.parse_measure(name) for name in measures]
    except (NameError, ValueError, SyntaxError) as e:
        raise InputError(f"a measure that ir-measures does not know: {e}", field="measures") from e
    run = {
        query: {id_: float(len(ranking) - place) for place, id_ in enumerate(ranking.ids)}
        for query, ranking in rankings.items()
    }
    found = ir_measures.calc_aggregate(wanted, {q: dict(d) for q, d in qrels.items()}, run)
    return {name: float(found[measure]) for name, measure in zip(measures, wanted, strict=True)}


def ir_table(experiment: IRExperiment, data: IRData, rows: Sequence[str] = ()) -> Table:
    """Run every row (or the named ones) and lay the measures beside the published numbers.

    Raises:
        InputError: no row of that name, or a retriever that cannot be built.
    """
    names = [row.name for row in experiment.row]
    for name in rows:
        if name not in names:
            raise InputError(f"no row {name!r}; there are {', '.join(names)}", field="--row")
    ids, texts = list(data.queries), list(data.queries.values())
    lines: list[list[Value]] = []
    for row in experiment.row:
        if rows and row.name not in rows:
            continue
        settings = dict(row.retriever)
        retriever = build(settings.pop("kind", "bm25"), data.corpus, **settings)
        found = retriever.search(texts, min(experiment.depth, len(data.corpus)))
        scores = score_ir(dict(zip(ids, found, strict=True)), data.qrels, experiment.measures)
        cells = [Cell(scores[m], digits=4, reference=row.reference.get(m)) for m in experiment.measures]
        lines.append([row.name, *cells])
    title = experiment.title or experiment.name
    notes = (f"{len(ids)} queries, {len(data.corpus):,} documents", *experiment.notes)
    return Table(["retriever", *experiment.measures], lines, title, notes)


def run_ir(experiment: IRExperiment, data: str | None, limit: int | None, rows: Sequence[str]) -> None:
    """Run a retrieval experiment and print its table (``abduce eval``)."""
    from rich.console import Console

    loaded = load_ir(experiment, DataFolder.find(data))
    if limit is not None:
        kept = dict(list(loaded.queries.items())[:limit])
        loaded = IRData(loaded.corpus, kept, {q: loaded.qrels[q] for q in kept})
    Console().print(ir_table(experiment, loaded, rows).rich())
