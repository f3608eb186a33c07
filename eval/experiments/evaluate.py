"""From Python and notebooks: programs and examples in, a :class:`~abduce.eval.runs.run.Run` out.

>>> run = evaluate({"FHS": fhs, "direct": direct}, examples, baseline="direct")   # doctest: +SKIP
>>> run.table(); run.compare("FHS", "direct"); run.to_pandas()                    # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...data.example import Example
from ...retrievers.errors import InputError
from ...signatures.types import Fact, Question
from ..metrics import RANKING_MEASURES, accuracy, score_ranking
from ..report.report import codec_named
from ..runs.code_version import code_version
from ..runs.row import Codec, Program, Row
from ..runs.run import Run
from ..runs.runner import run

if TYPE_CHECKING:
    import dspy

    Examples = Iterable[Example | dspy.Example]


class PlainCodec:
    """For programs of any kind: a list of ids, or whatever has ``ranking`` or ``answer``.

    A ranking is scored by R@k, MRR and Acc of the same list; an answer by Acc.
    """

    name = "plain"
    measures = (*RANKING_MEASURES, "Acc")

    def encode(self, prediction: Any) -> dict[str, Any]:
        if isinstance(prediction, list | tuple):
            return {"ranking": {"ids": list(prediction), "scores": list(range(len(prediction), 0, -1))}}
        found = getattr(prediction, "answer", None)
        if found is not None:
            return {"answer": found}
        ranking = getattr(prediction, "ranking", prediction)
        return {"ranking": {"ids": list(ranking.ids), "scores": ranking.scores}}

    def score(self, record: Mapping[str, Any], gold: Any) -> dict[str, float]:
        if "answer" in record:
            return {"Acc": accuracy([str(record["answer"])], gold)}
        ids = record["ranking"]["ids"]
        return score_ranking(ids, gold, selected=ids)


def evaluate(
    rows: Mapping[str, Program] | Sequence[Row],
    examples: Examples,
    *,
    codec: Codec | None = None,
    out: str | Path | None = None,
    seeds: Sequence[int] = (0,),
    concurrency: int = 1,
    baseline: str | None = None,
    progress: bool = False,
    **more: Any,
) -> Run:
    """Run programs over examples in one call.

    Args:
        rows: programs by name, or whole :class:`Row` objects.
        examples: :class:`Example`, or ``dspy.Example`` with inputs and a ``gold`` field.
        codec: how predictions are recorded and scored; by default the family's own, known by what the
            examples hold (``fact`` or ``question``), else :class:`PlainCodec`.
        out: a run folder, which makes the run resumable; without one records stay in memory.
        seeds: for programs given by name: each is run once for each seed. A model-backed
            program draws the samples of its seed.
        concurrency: examples in flight at once.
        baseline: the row that marks in the table refer to.
        progress: show progress bars on standard error.
        more: further arguments of :func:`abduce.eval.runs.runner.run`.

    A program given by name is resumed under a key made of its configuration, its prompts, the language
    model in effect and the version of its source. What it holds beyond these (a retriever's index, say) is
    named by type only: give rows of your own where that changes.

    Raises:
        InputError: see :func:`abduce.eval.runs.runner.run`.
    """
    listed = [e if isinstance(e, Example) else from_dspy(e, i) for i, e in enumerate(examples)]
    if isinstance(rows, Mapping):
        made = [replace(row_of(n, p, seeds), ready=_ready(n, p, listed)) for n, p in rows.items()]
    else:
        made = list(rows)
    codec = codec or _codec_for(listed)
    options: dict[str, Any] = {"keep": out is None, **more}
    options |= {"codec": codec, "out": out, "concurrency": concurrency, "baseline": baseline}
    if not progress:
        return run(made, listed, **options)
    from ...cli.progress import progress_bars

    with progress_bars() as on_progress:
        return run(made, listed, on_progress=on_progress, **options)


def _ready(name: str, program: Program, examples: Sequence[Example]) -> Callable[[], None] | None:
    """The check that the caller's model servers (:meth:`Models.context`) were started, for a program with
    predictors."""
    import dspy

    from ...lm.profiles import FACT_STAGES, RAG_STAGES

    models = dspy.settings.get("models")
    if models is None or not isinstance(program, dspy.Module) or not program.predictors():
        return None
    families = {"fact": FACT_STAGES, "question": RAG_STAGES}
    stages = next((s for n, s in families.items() if examples and n in examples[0].inputs), ("",))
    return partial(models.refuse_if_away, stages, f"the row {name!r}")


def _codec_for(examples: Sequence[Example]) -> Codec:
    kinds = {"fact": "taxonomy", "question": "question"}
    for name, family in kinds.items():
        if examples and name in examples[0].inputs:
            return codec_named(family) or PlainCodec()
    return PlainCodec()


def from_dspy(example: dspy.Example, place: int = 0) -> Example:
    """A DSPy example as ours: id, cluster and groups are read from its fact or question.

    Args:
        example: has inputs and ``gold``.
        place: its place in the list, which stands for an id where it has none.

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
    from ..runs.seeded import Seeded

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
    """The class of a program, its pydantic configurations, plain values and parts, by attribute."""
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
    """The language model in effect: its name and sampling settings, not its address or key."""
    import dspy

    lm = dspy.settings.lm
    if lm is None:
        return None
    hidden = ("api_key", "api_base", "base_url", "headers", "rollout_id")
    sampling = {k: v for k, v in lm.kwargs.items() if k not in hidden and isinstance(v, str | int | float)}
    return {"model": lm.model, **sampling}
