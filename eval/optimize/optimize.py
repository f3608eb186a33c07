"""Compile a row's program with one of DSPy's optimizers, on facts that are not for testing."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...data.example import Example
from ...data.folder import DataFolder, domain_named
from ...data.parts import make_parts
from ...lm.use import models_for
from ...programs.methods import build
from ...retrievers.errors import InputError, MissingExtra
from ...retrievers.files import write_text
from ..experiments.evaluate import evaluate
from ..experiments.files import load_experiment
from ..experiments.subset import restricted, split_by_context, spread
from ..runs.comparison import Comparison

OPTIMIZERS = ("bootstrap", "mipro", "gepa")


@dataclass(frozen=True)
class Compiled:
    """A compiled row: where its state is, on how many facts of which split it was compiled, and what it
    gained on facts of other contexts (None: not measured)."""

    row: str
    state: Path
    examples: int
    split: str
    gain: Comparison | None


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
) -> Compiled:
    """Compile one row of an experiment and write its program state as JSON.

    Args:
        name: experiment, bundled or a TOML file.
        row: the row to compile; it must call a model.
        out: where the state goes; a row uses it by ``set = { state = "FILE" }``.
        optimizer: ``bootstrap`` (demonstrations), ``mipro`` (instructions and demonstrations) or ``gepa``
            (instructions, from the feedback of each example).
        split: facts to compile on; a test split is refused.
        train: how many of its facts, at least 2, from as many source contexts as possible; those of half
            the contexts are kept for validation by mipro and gepa.
        check: the gain is measured on at most so many facts of other contexts; 0: not measured.
        measure: what is optimised (MRR, R@10, Acc).
        budget: ``light``, ``medium`` or ``heavy``, for mipro and gepa.
        threads: facts in flight.

    Raises:
        InputError: a test split, a row without a model, or whatever is wrong with experiment and data.
    """
    if optimizer not in OPTIMIZERS:
        raise InputError(f"no optimizer {optimizer!r}; there are {', '.join(OPTIMIZERS)}")
    if split in ("test", "fincl", "cases"):
        raise InputError(f"nothing is tuned on the split {split!r}; choose dev or train", field="split")
    if train < 2:
        raise InputError(f"needs at least 2 facts, not {train}", field="train")
    experiment = load_experiment(name).only([row])
    if experiment.family != "taxonomy":
        raise InputError("only rows of experiments over a taxonomy can be compiled", file=experiment.file)
    spec = experiment.rows[0].spec
    if not spec.needs_model or spec.needs_gold:
        raise InputError(f"the row {row!r} calls no language model, or is an oracle: nothing to compile")
    folder = DataFolder.find(data)
    domain = domain_named(experiment.table.domain)
    facts = restricted(folder.facts(domain, split), experiment.where)
    examples = spread(facts, train)
    if len(examples) < 2:
        raise InputError(f"the split {split!r} has {len(examples)} facts; at least 2 are needed")
    seen = {e.cluster for e in examples}
    unseen = spread([e for e in facts if e.cluster not in seen], check)
    parts = make_parts(folder.taxonomy(domain), domain, experiment.retriever)
    with models_for(experiment.table.lm if lm is None else lm, f"the row {row!r}"):
        from .metrics import TaxonomyMetric

        program = build(spec, parts)
        metric = TaxonomyMetric(measure, parts.profiles)
        compiled = _compile(program, examples, metric, optimizer, budget, threads)
        gain = None
        if unseen:
            rows = {"before": program, "after": compiled}
            gain = evaluate(rows, unseen, concurrency=threads).compare("after", "before")
    write_text(out, json.dumps(compiled.dump_state(), ensure_ascii=False, indent=1) + "\n")
    return Compiled(row, out, len(examples), split, gain)


def _compile(
    program: Any, examples: list[Example], metric: Any, optimizer: str, budget: str, threads: int
) -> Any:
    import dspy

    from .metrics import to_dspy

    if optimizer == "bootstrap":
        teleprompter = dspy.BootstrapFewShot(metric=metric, max_bootstrapped_demos=4, max_labeled_demos=0)
        return teleprompter.compile(program, trainset=to_dspy(examples))
    learned, chosen_by = split_by_context(examples)
    if not chosen_by:
        raise InputError(f"the {len(examples)} facts are all of one source context: {optimizer} needs two")
    trainset, valset = to_dspy(learned), to_dspy(chosen_by)
    if optimizer == "mipro":
        if importlib.util.find_spec("optuna") is None:
            raise MissingExtra("optuna", "optimize")
        mipro = dspy.MIPROv2(metric=_bare_numbers(metric), auto=budget, num_threads=threads)
        return mipro.compile(program, trainset=trainset, valset=valset)
    gepa = dspy.GEPA(metric=metric, auto=budget, num_threads=threads, reflection_lm=dspy.settings.lm)
    return gepa.compile(program, trainset=trainset, valset=valset)


def _bare_numbers(metric: Any) -> Any:
    """MIPROv2 sums bare numbers."""

    def score(example: Any, prediction: Any, trace: Any = None) -> Any:
        value = metric(example, prediction, trace)
        return value if isinstance(value, bool) else float(value.score)

    return score
