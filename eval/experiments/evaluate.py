"""One call from Python and notebooks: an experiment, or programs and examples, in; a Run out.

>>> run = evaluate("finance-no-model", split="dev")                               # doctest: +SKIP
>>> run = evaluate({"FHS": fhs, "direct": direct}, examples, baseline="direct")   # doctest: +SKIP
>>> run.table(); run.compare("FHS", "direct"); run.to_pandas()                    # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from ...data.example import Example
from ...retrievers.errors import InputError
from ...signatures.types import Fact, Question
from ..runs.code_version import code_version
from ..runs.plain_codec import PlainCodec
from ..runs.question_codec import QuestionCodec
from ..runs.row import Codec, Program, Row
from ..runs.run import Run
from ..runs.runner import OnProgress, run
from ..runs.seeded import Seeded
from ..runs.taxonomy_codec import TaxonomyCodec
from .experiment import Experiment
from .family import AnyExperiment
from .files import load_experiment
from .run import RunOptions, run_experiment

if TYPE_CHECKING:
    import dspy

    Examples = Iterable[Example | dspy.Example]


@overload
def evaluate(
    what: str | Path | AnyExperiment,
    **options: Unpack[RunOptions],
) -> Run: ...


@overload
def evaluate(
    what: Mapping[str, Program] | Sequence[Row],
    examples: Examples,
    *,
    codec: Codec | None = None,
    out: str | Path | None = None,
    seeds: Sequence[int] = (0,),
    concurrency: int | None = None,
    retry_failed: bool = False,
    baseline: str | None = None,
    measures: Sequence[str] = (),
    on_progress: OnProgress | None = None,
    on_note: Callable[[str], None] | None = None,
) -> Run: ...


def evaluate(
    what: str | Path | AnyExperiment | Mapping[str, Program] | Sequence[Row],
    examples: Examples | None = None,
    *,
    out: str | Path | None = None,
    concurrency: int | None = None,
    retry_failed: bool = False,
    measures: Sequence[str] = (),
    on_progress: OnProgress | None = None,
    on_note: Callable[[str], None] | None = None,
    codec: Codec | None = None,
    seeds: Sequence[int] = (0,),
    baseline: str | None = None,
    **of_experiment: Any,
) -> Run:
    """Run an experiment over its data, or programs over examples.

    Args:
        what: a bundled experiment's name, the path of its TOML file, or an experiment; or a mapping of names
            to programs, or :class:`Row` objects.
        examples: for programs: :class:`Example`, or ``dspy.Example`` with inputs and a ``gold`` field.
        data: data folder; default ``$ABDUCE_DATA``, else the bundled data.
        split: replaces the experiment's split (for questions: a question set's name or file).
        limit: a seeded sample of this many examples by source context (per question set).
        rows: only these rows of the experiment.
        out: a run folder, which makes the run resumable; without it, records stay in memory.
        concurrency: examples in parallel; default 32 in an experiment that calls a model, else 1.
        skip_bad: skip bad examples and note them.
        retry_failed: run examples again that failed earlier.
        lm: an ``[lm]`` table that replaces the experiment's models.
        model: only the experiment's model with this name.
        cache: False: the cache of replies is neither read nor written.
        retriever: a kind of retriever or an index folder that replaces the experiment's ``[retriever]``.
        measures: additional measures: ``nDCG@10`` and others of ir-measures.
        on_progress: called in this thread, at the start and after each example.
        on_note: called with one line per note.
        on_start: called with one line that describes the run.
        codec: for programs: how predictions are recorded and scored. Default: the family's codec, chosen by
            the examples' inputs (``fact`` or ``question``), else :class:`PlainCodec`.
        seeds: for programs given by name: each runs once per seed, and a program with a model draws that
            seed's samples.
        baseline: for programs: the row that the table's marks refer to.

    The resume key of a program given by name covers its configuration, its prompts, the current language
    model and the source version. Other parts (such as a retriever's index) are covered by type only: if they
    change, pass :class:`Row` objects instead.

    Raises:
        InputError: an error in the experiment, the data, the models or the run folder; see
            :func:`abduce.eval.runs.runner.run`.
    """
    shared: dict[str, Any] = {
        "out": out,
        "retry_failed": retry_failed,
        "on_progress": on_progress,
        "on_note": on_note,
    }
    if isinstance(what, str | Path | Experiment):
        if examples is not None:
            raise InputError("an experiment has examples of its own", field="examples")
        experiment = what if isinstance(what, Experiment) else load_experiment(what)
        return run_experiment(
            experiment, measures=measures, concurrency=concurrency, **shared, **of_experiment
        )
    if of_experiment:
        raise TypeError(f"programs take no {', '.join(of_experiment)}")
    listed = [e if isinstance(e, Example) else from_dspy(e, i) for i, e in enumerate(examples or ())]
    made = (
        [replace(row_of(n, p, seeds), ready=_ready(n, p, listed)) for n, p in what.items()]
        if isinstance(what, Mapping)
        else list(what)
    )
    return run(
        made,
        listed,
        codec=codec or _codec_for(listed, measures),
        concurrency=concurrency or 1,
        baseline=baseline,
        keep=out is None,
        ids=_ids(what) if isinstance(what, Mapping) else (),
        **shared,
    )


def _ids(programs: Mapping[str, Program]) -> Sequence[str]:
    """The ids that the first program's retriever ranks."""
    for program in programs.values():
        collection = getattr(getattr(program, "retriever", None), "collection", None)
        if collection is not None:
            return list(collection.ids)
    return ()


def _ready(name: str, program: Program, examples: Sequence[Example]) -> Callable[[], None] | None:
    """A check that the caller's model servers (:meth:`Models.context`) are running, for a program with
    predictors.
    """
    import dspy

    from ...programs.stages import FACT_STAGES, RAG_STAGES

    models = dspy.settings.get("models")
    if models is None or not isinstance(program, dspy.Module) or not program.predictors():
        return None
    families = {"fact": FACT_STAGES, "question": RAG_STAGES}
    stages = next((s for n, s in families.items() if examples and n in examples[0].inputs), ("",))
    return partial(models.refuse_if_away, stages, f"the row {name!r}")


def _codec_for(examples: Sequence[Example], measures: Sequence[str]) -> Codec:
    """The codec for the examples' inputs."""
    inputs = examples[0].inputs if examples else {}
    if "fact" in inputs:
        return TaxonomyCodec(measures)
    if "question" in inputs:
        return QuestionCodec()
    return PlainCodec(measures) if measures else PlainCodec()


def from_dspy(example: dspy.Example, place: int = 0) -> Example:
    """A DSPy example as an :class:`Example`; id, cluster and groups come from its fact or question.

    Args:
        example: has inputs and ``gold``.
        place: its position in the list, used if it has no id.

    Raises:
        InputError: it has no ``gold``, or its inputs are not marked (``with_inputs``).
    """
    if "gold" not in example:
        raise InputError(f"example {place} has no gold answer", field="gold")
    try:
        inputs = example.inputs().toDict()
    except ValueError as e:
        raise InputError(f"example {place}: its inputs are not marked, use with_inputs(...)") from e
    inputs = {name: example[name] for name in inputs}
    fact, question = inputs.get("fact"), inputs.get("question")
    if isinstance(fact, Fact):
        groups = {"modality": fact.modality, "datatype": fact.datatype or ""}
        return Example(fact.fact_id, inputs, example.gold, fact.context.context_id, groups)
    if isinstance(question, Question):
        groups = {"subject": question.subject} if question.subject else {}
        return Example(question.question_id, inputs, example.gold, " ".join(question.text.split()), groups)
    return Example(str(example.get("example_id", place)), inputs, example.gold)


def row_of(name: str, program: Program, seeds: Sequence[int] = (0,)) -> Row:
    """A program as a row; see :func:`evaluate` for its resume key."""
    return Row(
        name,
        lambda seed: Seeded(program, seed),
        settings=_settings(program),
        prompts=_prompts(program),
        model=_model(),
        code=code_version(program),
        seeds=seeds,
        takes_gold=bool(getattr(program, "needs_gold", False)),
    )


def _settings(program: Any, depth: int = 4) -> dict[str, Any]:
    """A program's class, pydantic configurations, plain values and parts, by attribute."""
    from pydantic import BaseModel

    found: dict[str, Any] = {"class": f"{type(program).__module__}.{type(program).__qualname__}"}
    printed = getattr(program, "fingerprint", None)
    if isinstance(printed, str):
        found["fingerprint"] = printed
    for name, value in sorted(getattr(program, "__dict__", {}).items()):
        if name.startswith("_") or name in ("history", "callbacks"):
            continue
        if isinstance(value, BaseModel):
            found[name] = value.model_dump(mode="json")
        elif value is None or isinstance(value, str | int | float | bool):
            found[name] = value
        elif depth and type(value).__module__.partition(".")[0] not in ("builtins", "dspy"):
            found[name] = _settings(value, depth - 1)
    return found


def _prompts(program: Any) -> dict[str, Any] | None:
    """Instructions, fields and demonstrations of a DSPy program's predictors."""
    import dspy

    if not isinstance(program, dspy.Module):
        return None
    return {
        name: {k: v for k, v in predictor.dump_state().items() if k in ("signature", "demos")}
        for name, predictor in program.named_predictors()
    }


def _model() -> dict[str, Any] | None:
    """The current language model: name and sampling settings, without address or key."""
    import dspy

    lm = dspy.settings.lm
    if lm is None:
        return None
    hidden = ("api_key", "api_base", "base_url", "headers", "rollout_id")
    sampling = {k: v for k, v in lm.kwargs.items() if k not in hidden and isinstance(v, str | int | float)}
    return {"model": lm.model, **sampling}
