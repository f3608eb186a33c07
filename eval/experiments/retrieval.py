"""The family of retrieval experiments: queries, judged documents, published numbers.

They compare abduce's retrievers with published results of the same method on public collections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from ...data.example import Example, fingerprint
from ...data.folder import DataFolder, file_fingerprint
from ...programs.spec import SpecBase
from ...retrievers.base import Ranking
from ...retrievers.corpus import Corpus
from ...retrievers.errors import InputError
from ...retrievers.files import read_csv, read_jsonl, require
from ...retrievers.settings import BuiltRetrievers, check_settings, outside_modules, sealed
from ..metrics import measure
from ..runs.code_version import code_version
from ..runs.plain_codec import PlainCodec
from ..runs.row import Row
from .experiment import Experiment, ExperimentTable, RowTable
from .family import Bench, Session


class NoConfig(BaseModel):
    """An empty config: a retriever has only settings."""


class RetrievalSpec(SpecBase):
    """One resolved row: the retriever settings that differ from the experiment's."""

    program: str = "retriever"
    retriever: Mapping[str, Any] = Field(default_factory=dict)

    @property
    def needs_model(self) -> bool:
        return False

    def resolve(self) -> NoConfig:
        if self.config:
            raise ValueError(f"no setting {next(iter(self.config))!r}")
        return NoConfig()


class RetrievalRowTable(RowTable):
    """A row: a retriever, or an earlier row (``base``) with changes."""

    retriever: dict[str, Any] = Field(default_factory=dict)


class RetrievalTable(ExperimentTable):
    """``corpus``, ``queries`` and ``qrels`` are paths inside the data folder; ``depth`` is the number of
    documents per query.
    """

    family: str = "retrieval"
    corpus: str
    queries: str
    qrels: str
    measures: list[str] = Field(default_factory=lambda: ["nDCG@10", "R@100"], min_length=1)
    depth: int = Field(default=1000, ge=1)
    row: Sequence[RetrievalRowTable] = Field(min_length=1)


RetrievalExperiment = Experiment[RetrievalTable, RetrievalSpec]


class RetrievalFamily:
    """Queries to documents. A file has a test collection, and rows that are retrievers."""

    table = RetrievalTable

    def spec(self, row: RowTable, start: RetrievalSpec | None, table: RetrievalTable) -> RetrievalSpec:
        if row.program not in ("", "retriever"):
            raise ValueError(f"no program {row.program!r}: a row is a retriever")
        for name in table.measures:
            measure(name)
        own = row.retriever if isinstance(row, RetrievalRowTable) else {}
        return RetrievalSpec(retriever={**(start.retriever if start else {}), **own})

    def open(
        self,
        experiment: RetrievalExperiment,
        folder: DataFolder,
        split: str | None,
        bad: list[InputError] | None,
    ) -> RetrievalBench:
        table = experiment.table
        if split is not None and split != table.qrels:
            raise InputError(f"has one split, which {table.qrels} judges", field="split")
        corpus_file, queries, qrels = (
            folder.file(*name.split("/")) for name in (table.corpus, table.queries, table.qrels)
        )
        corpus = Corpus.load(corpus_file, table.name)
        return RetrievalBench(
            corpus=corpus,
            table=table,
            name=table.name,
            examples=read_queries(queries, read_grades(qrels, bad), bad),
            whole=True,
            fingerprint=fingerprint([file_fingerprint(path) for path in (corpus_file, queries, qrels)]),
            ids=corpus.ids,
            noun="queries",
            beside=f", {len(corpus):,} documents",
        )


def read_grades(path: Path, bad: list[InputError] | None = None) -> dict[str, dict[str, int]]:
    """Judgements as ``{query: {document: grade}}``, from a file with query-id, corpus-id and score.

    Raises:
        InputError: a wrong line, and ``bad`` is not given.
    """
    grades: dict[str, dict[str, int]] = {}
    for line, row in read_csv(path):
        try:
            query, document = require(row, "query-id", path, line), require(row, "corpus-id", path, line)
            score = require(row, "score", path, line)
            if not score.strip().lstrip("-").isdecimal():
                raise InputError("must be a whole number", file=path, line=line, field="score")
        except InputError as e:
            if bad is None:
                raise
            bad.append(e)
            continue
        grades.setdefault(query, {})[document] = int(score)
    return grades


def read_queries(
    path: Path, grades: Mapping[str, Mapping[str, int]], bad: list[InputError] | None = None
) -> list[Example]:
    """The judged queries, in the order of their judgements.

    Raises:
        InputError: a wrong line or a missing query, and ``bad`` is not given.
    """
    texts: dict[str, str] = {}
    for line, row in read_jsonl(path, bad):
        try:
            id_ = require(row, "_id", path, line)
            if id_ in grades:
                texts[id_] = require(row, "text", path, line)
        except InputError as e:
            if bad is None:
                raise
            bad.append(e)
    missing = [
        InputError(f"has no query {id_!r}, which is judged", file=path) for id_ in grades if id_ not in texts
    ]
    if missing and bad is None:
        raise missing[0]
    (bad if bad is not None else []).extend(missing)
    if not texts:
        raise InputError("has no judged query", file=path)
    return [Example(id_, {"query": texts[id_]}, dict(g)) for id_, g in grades.items() if id_ in texts]


@dataclass(frozen=True, kw_only=True)
class RetrievalBench(Bench[RetrievalTable, RetrievalSpec]):
    """A test collection: passages and judged queries."""

    corpus: Corpus
    table: RetrievalTable

    def codec(self, measures: Sequence[str]) -> PlainCodec:
        return PlainCodec([*self.table.measures, *measures])

    def rows(self, experiment: RetrievalExperiment, session: Session) -> Sequence[Row]:
        retrievers = BuiltRetrievers(self.corpus, experiment.retriever)
        depth = min(experiment.table.depth, len(self.corpus))
        rows = []
        for row in experiment.rows:
            settings = retrievers.resolved(row.spec.retriever)
            place: Any = {"file": experiment.file, "field": f"row {row.name!r}"}
            try:
                check_settings(settings["kind"], {k: v for k, v in settings.items() if k != "kind"})
                sealed_ = sealed(settings, self.corpus)
            except ValueError as e:
                raise InputError(str(e), **place) from e
            rows.append(
                Row(
                    row.name,
                    partial(_searching, retrievers, row.spec.retriever, depth),
                    settings={"retriever": sealed_, "depth": depth},
                    code=code_version(*outside_modules(settings)),
                    reference=row.reference,
                )
            )
        return rows


def _searching(retrievers: BuiltRetrievers, changes: Mapping[str, Any], depth: int, seed: int) -> Any:
    """The program of a row: query to ranking."""
    retriever = retrievers(changes)

    def search(query: str) -> Ranking:
        [ranking] = retriever.search([query], depth)
        return ranking

    return search
