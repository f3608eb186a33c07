"""Compile a row's program with one of DSPy's optimizers, never on test examples."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...data.corpora import load_corpus
from ...data.example import Example, fingerprint
from ...data.folder import DataFolder, domain_named
from ...data.own import OwnData
from ...data.parts import make_parts, make_rag_parts
from ...data.questions import TEST_SETS, TUNING_SET, named_questions
from ...lm.use import meter_line, models_for
from ...programs.stages import FACT_STAGES, RAG_STAGES
from ...retrievers.errors import InputError, MissingExtra
from ...retrievers.files import write_text
from ..experiments.evaluate import evaluate
from ..experiments.family import AnyExperiment
from ..experiments.files import load_experiment
from ..experiments.subset import restricted, split_by_context, spread
from ..runs.comparison import Comparison

if TYPE_CHECKING:
    from .rollouts import Rollouts

OPTIMIZERS = ("bootstrap", "mipro", "gepa")


@dataclass(frozen=True)
class Compiled:
    """A compiled row: the file of its state, the number of facts or questions (``noun``), the split, the
    optimizer's rollouts, and the gain on facts of other contexts (None: not measured). ``cost``: the cost of
    this process's model calls, in one line.
    """

    row: str
    state: Path
    examples: int
    noun: str
    split: str
    rollouts: Rollouts
    gain: Comparison | None
    cost: str = ""


def optimize_row(
    name: str,
    row: str,
    out: Path,
    *,
    optimizer: str = "bootstrap",
    split: str = "dev",
    data: str | None = None,
    train: int = 50,
    check: int = 50,
    measure: str = "MRR",
    budget: str = "light",
    threads: int = 8,
    lm: Mapping[str, Any] | None = None,
    log: Path | None = None,
) -> Compiled:
    """Compile one row of an experiment and write its program state as JSON.

    An interrupted run continues when the same call is made again: no reply is requested twice.

    Args:
        name: experiment, bundled or a TOML file.
        row: the row to compile; it must call a model.
        out: the file of the state; a row uses it by ``set = { state = "FILE" }``.
        optimizer: ``bootstrap`` (demonstrations), ``mipro`` (instructions and demonstrations) or ``gepa``
            (instructions, from the feedback of each example).
        split: facts to compile on, or a question set (``dev``: mmlu-med-dev, without questions that are also
            in a test set). Test splits and sets are refused.
        train: the number of facts, at least 2, from as many source contexts as possible; mipro and gepa use
            those of half the contexts for validation.
        check: measure the gain on at most this many facts of other contexts; 0: not measured.
        measure: the measure to optimise (MRR, R@10, Acc); for answers Acc.
        budget: ``light``, ``medium`` or ``heavy``, for mipro and gepa; or a number, at least 1, of trials
            (mipro) or rollouts (gepa).
        threads: facts in parallel.
        lm: an ``[lm]`` table that replaces the experiment's.
        log: the folder of replies so far and of GEPA's notes, which are a pickle: only use your own folder.
            None: next to ``out``, with the ending ``.log``.

    Raises:
        InputError: a test split, a row without a model, or an error in experiment or data.
    """
    if optimizer not in OPTIMIZERS:
        raise InputError(f"no optimizer {optimizer!r}; there are {', '.join(OPTIMIZERS)}")
    if budget not in ("light", "medium", "heavy") and not (budget.isdecimal() and int(budget) >= 1):
        raise InputError(f"is light, medium, heavy or a number, not {budget!r}", field="budget")
    if train < 2:
        raise InputError(f"needs at least 2 examples, not {train}", field="train")
    experiment = load_experiment(name).only([row])
    if experiment.family not in _MATERIALS:
        raise InputError("only rows over a taxonomy or questions can be compiled", file=experiment.file)
    spec = experiment.rows[0].spec
    if not spec.needs_model or getattr(spec, "needs_gold", False):
        raise InputError(f"the row {row!r} calls no language model, or is an oracle: nothing to compile")
    material = _MATERIALS[experiment.family](experiment, DataFolder.find(data), split, measure)
    examples = spread(material.examples, train)
    if len(examples) < 2:
        raise InputError(f"the split {split!r} has {len(examples)} {material.noun}; at least 2 are needed")
    seen = {e.cluster for e in examples}
    unseen = spread([e for e in material.examples if e.cluster not in seen], check)
    models = experiment.table.models()
    if lm is None and list(models) != [""]:
        raise InputError(f"has several models, {', '.join(models)}: give one with --lm", file=experiment.file)
    import dspy

    from .rollouts import Rollouts, journal

    log = Path(f"{out}.log") if log is None else log
    table = models[""] if lm is None else lm
    with models_for(table, f"the row {row!r}", probe=material.stages) as opened, journal(log / "replies"):
        program, metric = material.build()
        identity = "" if opened is None else opened.identity()
        done = [spec.model_dump(mode="json"), [e.fingerprint() for e in examples], measure, budget, identity]
        rollouts = Rollouts(program)
        with dspy.context(callbacks=[*(dspy.settings.callbacks or []), rollouts]):
            compiled = _compile(
                program, examples, metric, optimizer, budget, threads, log / f"gepa-{fingerprint(done)}"
            )
        gain = None
        if unseen:
            rows = {"before": program, "after": compiled}
            gain = evaluate(rows, unseen, concurrency=threads).compare("after", "before")
        cost = "" if opened is None else meter_line(opened.meter)
    write_text(out, json.dumps(compiled.dump_state(), ensure_ascii=False, indent=1) + "\n")
    return Compiled(row, out, len(examples), material.noun, split, rollouts, gain, cost)


@dataclass(frozen=True)
class _Material:
    """The inputs of compiling a row of one family; ``build`` returns the program and the metric."""

    examples: Sequence[Example]
    noun: str
    stages: Sequence[str]
    build: Callable[[], tuple[Any, Any]]


def _facts(experiment: AnyExperiment, folder: DataFolder, split: str, measure: str) -> _Material:
    from ...programs.methods import build_program

    if split in ("test", "fincl", "cases"):
        raise InputError(f"nothing is tuned on the split {split!r}; choose dev or train", field="split")
    own: OwnData | None = experiment.table.data
    if own is not None:
        taxonomy, domain = own.open_taxonomy(folder)
        schema = own.open_schema(taxonomy, domain)
        facts: Sequence[Example] = own.examples(own.split(split, split))
    else:
        domain = domain_named(experiment.table.domain)
        taxonomy, schema = folder.taxonomy(domain), None
        facts = folder.facts(domain, split)
    parts = make_parts(taxonomy, domain, experiment.retriever, schema)

    def made() -> tuple[Any, Any]:
        from .metrics import TaxonomyMetric

        return build_program(experiment.rows[0].spec, parts), TaxonomyMetric(measure, parts.profiles)

    return _Material(restricted(facts, experiment.where), "facts", FACT_STAGES, made)


def _questions(experiment: AnyExperiment, folder: DataFolder, split: str, measure: str) -> _Material:
    from ...programs.rag.presets import build_rag

    name = TUNING_SET if split == "dev" else split
    if name in TEST_SETS:
        raise InputError(f"nothing is tuned on the test set {name!r}; choose {TUNING_SET} or a file of yours",
                         field="split")  # fmt: skip
    if measure not in ("Acc", "MRR"):  # MRR is the command's default, of rankings
        raise InputError(f"answers to questions are compiled for Acc, not {measure!r}", field="measure")
    questions = named_questions(folder, [name])
    clean = [q.example() for q in questions if not q.overlaps_test]
    corpus = load_corpus(experiment.table.corpus, folder)
    parts = make_rag_parts(corpus, experiment.retriever, experiment.table.reranker)

    def made() -> tuple[Any, Any]:
        from .metrics import AnswerMetric

        return build_rag(experiment.rows[0].spec, parts), AnswerMetric(corpus)

    return _Material(restricted(clean, experiment.where), "questions", RAG_STAGES, made)


_MATERIALS: Mapping[str, Callable[[AnyExperiment, DataFolder, str, str], _Material]] = {
    "taxonomy": _facts,
    "qa": _questions,
}


def _compile(
    program: Any,
    examples: list[Example],
    metric: Any,
    optimizer: str,
    budget: str,
    threads: int,
    notes: Path,
) -> Any:
    import dspy

    from .metrics import to_dspy

    if optimizer == "bootstrap":
        teleprompter = dspy.BootstrapFewShot(metric=metric, max_bootstrapped_demos=4, max_labeled_demos=0)
        return teleprompter.compile(program, trainset=to_dspy(examples))
    number = int(budget) if budget.isdecimal() else 0
    learned, chosen_by = split_by_context(examples)
    if not chosen_by:
        raise InputError(f"the {len(examples)} facts are all of one source context: {optimizer} needs two")
    trainset, valset = to_dspy(learned), to_dspy(chosen_by)
    if optimizer == "mipro":
        if importlib.util.find_spec("optuna") is None:
            raise MissingExtra("optuna", "optimize")
        own = {"auto": None, "num_candidates": 2 + number // 3} if number else {"auto": budget}
        mipro = dspy.MIPROv2(metric=_bare_numbers(metric), num_threads=threads, **own)
        trials = {"num_trials": number, "minibatch": False} if number else {}
        return mipro.compile(program, trainset=trainset, valset=valset, **trials)
    gepa = dspy.GEPA(
        metric=metric,
        num_threads=threads,
        reflection_lm=dspy.settings.lm,
        log_dir=str(notes),
        **({"max_metric_calls": number} if number else {"auto": budget}),
    )
    return gepa.compile(program, trainset=trainset, valset=valset)


def _bare_numbers(metric: Any) -> Any:
    """MIPROv2 sums bare numbers."""

    def score(example: Any, prediction: Any, trace: Any = None) -> Any:
        value = metric(example, prediction, trace)
        return value if isinstance(value, bool) else float(value.score)

    return score
