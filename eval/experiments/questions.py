"""From a RAG experiment and a data folder to the runner's rows, and a program for one command."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ...asking.judging import Answering, Judge
from ...programs.rag.presets import RAG_PROGRAMS, RAGParts, RAGSpec, build_rag
from ...retrievers import registry
from ...retrievers.errors import InputError
from ...retrievers.passages import PassageRetrievers, passage_settings
from ..runs.row import Row
from .questions_file import JudgeTable, QAExperiment


def usable_judges(
    experiment: QAExperiment, note: Callable[[str], None], environment: Mapping[str, str] | None = None
) -> list[JudgeTable]:
    """The judges whose key is there; ``note`` is told of each optional one that is left out.

    Raises:
        InputError: a judge that is not optional has no key.
    """
    from ...lm import Profiles

    variables = os.environ if environment is None else environment
    found = []
    for judge in experiment.judges:
        profile = Profiles.read(judge.lm).default.profile
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
    experiment: QAExperiment,
    parts: RAGParts,
    models: Mapping[str, Any],
    judges: Sequence[Judge],
    corpus_print: str,
    ready: Callable[[], None] | None = None,
) -> list[Row]:
    """The runner's rows: methods within models, ``METHOD [MODEL]`` where there are several models.

    The prompts are signatures, so the version of the code covers them.

    Args:
        experiment: with resolved rows.
        parts: shared by all rows.
        models: the ``Models`` of each of the experiment's models, by name.
        judges: of the contexts.
        corpus_print: fingerprint of the corpus.
        ready: see :class:`Row`; of rows that call a model or are judged.

    Raises:
        InputError: a row calls a model and there is none.
    """
    from ..runs.code_version import code_version

    judged = [{"name": j.name, **j.module.describe()} for j in judges]
    retrievers = parts.retriever
    assert isinstance(retrievers, PassageRetrievers)
    rows: list[Row] = []
    for model_name in experiment.models:
        models_ = models.get(model_name)
        for row in experiment.rows:
            spec = row.spec
            if spec.needs_model and (models_ is None or models_.default is None):
                raise InputError(
                    f"the row {row.name!r} calls a language model and the experiment has none: give it an "
                    "[lm] table"
                )
            if not spec.needs_model and rows and model_name != next(iter(experiment.models)):
                continue  # the same for every model
            several = len(experiment.models) > 1 and spec.needs_model
            name = f"{row.name} [{model_name}]" if several else row.name
            retrieved = passage_settings(retrievers.resolved(spec.retriever))
            if spec.needs_retriever:
                _check(retrieved, row.name)
            settings = {
                "method": row.name,
                "model_name": model_name if spec.needs_model else "",
                "spec": spec.model_dump(mode="json"),
                "config": spec.resolve().model_dump(mode="json"),
                "retriever": (
                    registry.identity(retrieved, retrievers.corpus) if spec.needs_retriever else None
                ),
                "reranker": dict(experiment.reranker) if spec.program == "rerank" else None,
                "corpus": {"name": experiment.corpus, "fingerprint": corpus_print},
                "judges": judged if spec.needs_retriever else [],
            }
            rows.append(
                Row(
                    name=name,
                    build=partial(_build, spec, parts, models_, judges),
                    settings=settings,
                    model=models_.identity() if spec.needs_model and models_ else None,
                    code=code_version(
                        RAG_PROGRAMS[spec.program].cls, *sources_of(spec, retrievers.resolved(spec.retriever))
                    ),
                    seeds=tuple(experiment.seeds) if spec.needs_model else (experiment.seeds[0],),
                    takes_gold=True,
                    ready=ready if spec.needs_model or judges else None,
                    reference=row.reference,
                )
            )
    return rows


def _check(settings: Mapping[str, Any], row: str) -> None:
    rest = dict(settings)
    try:
        registry.check(rest.pop("kind"), rest)
    except ValueError as e:
        raise InputError(str(e), field=f"row {row!r}") from e


def sources_of(spec: RAGSpec, retriever: Mapping[str, Any]) -> list[str]:
    """The modules, beside the program's own, on which a row's results stand."""
    root = __name__.partition(".")[0]
    found = [f"{root}.eval.runs.question_codec", f"{root}.asking.judging"]
    if spec.needs_retriever:
        plain = retriever.get("kind", "bm25") == "bm25"  # the registry's imports reach torch: not for BM25
        found.append(f"{root}.retrievers.{'bm25' if plain else 'registry'}")
    if spec.planner == "rules":
        found.append(f"{root}.programs.rag.hcqr_rules")
    return found


def _build(spec: RAGSpec, parts: RAGParts, models: Any, judges: Sequence[Judge], seed: int) -> Answering:
    try:
        program = build_rag(spec, parts)
    except ValueError as e:
        raise e if isinstance(e, InputError) else InputError(str(e)) from e
    context = models.context if spec.needs_model else None
    return Answering(program, context, seed, judges if spec.needs_retriever else ())
