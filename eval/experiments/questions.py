"""The family of question experiments: question sets x models x methods, with judges of the contexts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ...asking.judging import Answering, Judge
from ...data.corpora import CORPORA, corpus_file, load_corpus
from ...data.example import fingerprint
from ...data.folder import DataFolder, file_fingerprint
from ...data.parts import make_rag_parts
from ...data.questions import BUNDLED, WORKED_EXAMPLE, named_questions
from ...lm import ModelProfiles, load
from ...programs.rag.judge import ContextJudge
from ...programs.rag.presets import RAGParts, RAGSpec, build_rag, rag_method, rag_spec
from ...programs.rag.prompts import own_prompts
from ...programs.rag.rule import AnswerRules
from ...programs.stages import RAG_STAGES, Stage
from ...retrievers.corpus import Corpus
from ...retrievers.errors import InputError
from ...retrievers.settings import BuiltRetrievers, check_settings, outside_modules, sealed
from ..runs.code_version import code_version
from ..runs.question_codec import QuestionCodec
from ..runs.row import Row
from ..runs.state import load_state, state_fingerprint
from .experiment import Experiment, ExperimentTable, RowTable
from .family import Bench, Session


class ModelTable(BaseModel):
    """One ``[[model]]``: the name of its column and an ``[lm]`` table."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    name: str = Field(min_length=1)
    lm: dict[str, Any]


class JudgeTable(ModelTable):
    """One ``[[judge]]``. ``optional``: if its key variable is not set, the run continues without it and notes
    that; otherwise it is an error.
    """

    optional: bool = False


class QuestionTable(ExperimentTable):
    """``no_rag`` is the row that same-subset gains refer to. Without ``[[model]]``, the only model is that of
    ``[lm]``.
    """

    family: str = "qa"
    questions: list[str] = Field(min_length=1)
    corpus: str = "medical"
    no_rag: str | None = None
    retriever: dict[str, Any] = Field(default_factory=lambda: {"kind": "medcpt"})
    reranker: dict[str, Any] = Field(default_factory=dict)
    model: list[ModelTable] = Field(default_factory=list)
    judge: list[JudgeTable] = Field(default_factory=list, max_length=2)

    naming_rows: ClassVar[tuple[str, ...]] = ("baseline", "no_rag")

    @model_validator(mode="after")
    def _names(self) -> QuestionTable:
        if self.model and self.lm:
            raise ValueError("lm: give either [lm] or [[model]]")
        for key, tables in (("model", self.model), ("judge", self.judge)):
            if len({t.name for t in tables}) < len(tables):
                raise ValueError(f"{key}: duplicate name")
        return self

    def models(self) -> dict[str, dict[str, Any]]:
        return {m.name: m.lm for m in self.model} or {"": self.lm}

    def with_models(self, models: Mapping[str, Mapping[str, Any]]) -> QuestionTable:
        alone = list(models) == [""]
        named = [] if alone else [ModelTable(name=name, lm=dict(lm)) for name, lm in models.items()]
        return self.model_copy(update={"lm": dict(models[""]) if alone else {}, "model": named})


QuestionExperiment = Experiment[QuestionTable, RAGSpec]


class QuestionFamily:
    """Questions to answers. A file has question sets, a corpus, models, judges and rows of
    :data:`abduce.programs.rag.presets.RAG_PRESETS`.
    """

    table = QuestionTable

    def spec(self, row: RowTable, start: RAGSpec | None, table: QuestionTable) -> RAGSpec:
        if not row.program and start is None:
            raise ValueError("give either program or base")
        return rag_spec(row.program) if start is None else start

    def open(
        self,
        experiment: QuestionExperiment,
        folder: DataFolder,
        split: str | None,
        bad: list[InputError] | None,
    ) -> QuestionBench:
        table = experiment.table
        own = list(table.questions)
        if folder.bundled:
            own = [name for name in own if name == WORKED_EXAMPLE] or list(BUNDLED)
        names = [split] if split else own
        free = all(getattr(row.spec.resolve(), "open_ended", False) for row in experiment.rows)
        questions = named_questions(folder, names, free, bad)
        corpus = load_corpus(table.corpus, folder)
        printed = (
            file_fingerprint(corpus_file(table.corpus, folder))
            if table.corpus in CORPORA
            else fingerprint([[p.id, p.title, p.content] for p in corpus])
        )
        return QuestionBench(
            corpus=corpus,
            name=", ".join(dict.fromkeys(q.dataset for q in questions)),
            examples=[q.example() for q in questions],
            whole=names == list(table.questions) and not folder.bundled,
            fingerprint=printed,
            ids=corpus.ids,
            noun="questions",
            beside=f", corpus {table.corpus}",
            stratum="dataset",
            shows_records=True,
        )


@dataclass(frozen=True, kw_only=True)
class QuestionBench(Bench[QuestionTable, RAGSpec]):
    """The questions and the searched corpus."""

    corpus: Corpus

    def codec(self, measures: Sequence[str]) -> QuestionCodec:
        if measures:
            raise InputError(
                f"{measures[0]!r} is a measure of rankings, and no passage is judged here", field="measure"
            )
        return QuestionCodec(self.corpus)

    def rows(self, experiment: QuestionExperiment, session: Session) -> Sequence[Row]:
        table = experiment.table
        judges, judging = [], []
        for judge in usable_judges(experiment, session.note):
            served = session.closing.enter_context(load(judge.lm, cache=session.cache))
            judging.append(partial(served.refuse_if_away, (Stage.JUDGE,), f"the judge {judge.name}"))
            module = ContextJudge(self.corpus, served.for_stage("judge"))
            judges.append(Judge(judge.name, module, served.context))

        def ready(model: str | None) -> None:
            """Check only the row's model: with several models, servers may run one after another."""
            if model is not None:
                who = f"the model {model!r}" if model else "a row"
                session.models[model].refuse_if_away(RAG_STAGES, who)
            for check in judging:
                check()

        parts = make_rag_parts(self.corpus, table.retriever, table.reranker)
        return make_qa_rows(experiment, parts, session.models, judges, self.corpus, self.fingerprint, ready)


def usable_judges(
    experiment: QuestionExperiment,
    note: Callable[[str], None],
    environment: Mapping[str, str] | None = None,
) -> list[JudgeTable]:
    """The judges with a key; ``note`` is called for each optional judge that is left out.

    Raises:
        InputError: a required judge has no key.
    """
    variables = os.environ if environment is None else environment
    found = []
    for judge in experiment.table.judge:
        profile = ModelProfiles.read(judge.lm).default.profile
        variable = profile.key_variable if profile.kind == "openai" else None
        if variable and not variables.get(variable):
            message = f"the judge {judge.name} needs the environment variable {variable}, which is not set"
            if not judge.optional:
                raise InputError(message, field="judge")
            note(f"{message}: contexts are not judged by it")
            continue
        found.append(judge)
    return found


def make_qa_rows(
    experiment: QuestionExperiment,
    parts: RAGParts,
    models: Mapping[str, Any],
    judges: Sequence[Judge],
    corpus: Corpus,
    corpus_fingerprint: str,
    ready: Callable[[str | None], None] = lambda model: None,
) -> list[Row]:
    """The runner's rows: methods within models, called ``METHOD [MODEL]`` if models have names.

    The default prompts are signatures, so the source version covers them.

    Args:
        experiment: with resolved rows.
        parts: shared by all rows.
        models: the ``Models`` of each of the experiment's models, by name.
        judges: the judges of the contexts.
        corpus: the searched corpus.
        corpus_fingerprint: its fingerprint.
        ready: called with a row's model, or None if it calls none; see :class:`Row`.

    Raises:
        InputError: a row calls a model, but none is given.
    """
    judged = [{"name": j.name, **j.module.describe()} for j in judges]
    retrievers = BuiltRetrievers(corpus, experiment.retriever)
    names = list(experiment.table.models())
    rows: list[Row] = []
    for model_name in names:
        models_ = models.get(model_name)
        for row in experiment.rows:
            spec = row.spec
            if spec.needs_model and (models_ is None or models_.default is None):
                raise InputError(
                    f"the row {row.name!r} calls a language model and the experiment has none: give it an "
                    "[lm] table"
                )
            if not spec.needs_model and model_name != names[0]:
                continue  # the same for every model
            retrieved = retrievers.resolved(spec.retriever)
            if spec.needs_retriever:
                _check(retrieved, row.name)
            settings = {
                "method": row.name,
                "model_name": _shown(model_name, models_) if spec.needs_model else "",
                "model": fingerprint(models_.identity()) if spec.needs_model and models_ else "",
                "spec": spec.model_dump(mode="json"),
                "config": spec.resolve().model_dump(mode="json"),
                "retriever": sealed(retrieved, corpus) if spec.needs_retriever else None,
                "reranker": dict(experiment.table.reranker) if spec.program == "rerank" else None,
                "corpus": {"name": experiment.table.corpus, "fingerprint": corpus_fingerprint},
                "judges": judged if spec.needs_retriever else [],
            }
            try:
                prompts = own_prompts(spec.prompts)
            except ValueError as e:
                raise InputError(str(e), file=experiment.file, field=f"row {row.name!r}") from e
            if rule := getattr(spec.resolve(), "rule", ""):
                settings["rule"] = AnswerRules.load(rule).model_dump(mode="json")
            if spec.state:
                settings["state"] = state_fingerprint(Path(spec.state))
            rows.append(
                Row(
                    name=f"{row.name} [{model_name}]" if model_name and spec.needs_model else row.name,
                    build=partial(_build, spec, parts, models_, judges),
                    settings=settings,
                    prompts=prompts,
                    model=models_.identity() if spec.needs_model and models_ else None,
                    code=code_version(rag_method(spec.program).cls, *outside_modules(retrieved)),
                    seeds=tuple(experiment.seeds) if spec.needs_model else (experiment.seeds[0],),
                    takes_gold=True,
                    ready=(
                        partial(ready, model_name if spec.needs_model else None)
                        if spec.needs_model or judges
                        else None
                    ),
                    reference=row.reference,
                )
            )
    return rows


def _shown(name: str, models: Any) -> str:
    """A model's name in tables: the experiment's, or else its name on the server."""
    return name or ("" if models is None else str(models.profiles.default.profile.served_model))


def _check(settings: Mapping[str, Any], row: str) -> None:
    rest = dict(settings)
    try:
        check_settings(rest.pop("kind"), rest)
    except ValueError as e:
        raise InputError(str(e), field=f"row {row!r}") from e


def _build(spec: RAGSpec, parts: RAGParts, models: Any, judges: Sequence[Judge], seed: int) -> Answering:
    try:
        program = build_rag(spec, parts)
    except ValueError as e:
        raise e if isinstance(e, InputError) else InputError(str(e)) from e
    if spec.state:
        load_state(program, Path(spec.state))
    context = models.context if spec.needs_model else None
    return Answering(program, context, seed, judges if spec.needs_retriever else ())
