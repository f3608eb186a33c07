"""A program's confidence: fitted on one split, checked on another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..data.domains import Domain
from ..data.folder import DataFolder, domain_named
from ..data.parts import make_parts
from ..programs.methods import build_program
from ..programs.presets import scopes, spec_named
from ..retrievers.errors import InputError
from ..retrievers.files import write_text
from ..tagging.calibration import (
    Acceptance,
    Calibration,
    calibration_error,
    features,
    fit,
    precedents_fingerprint,
    risk_coverage,
)
from ..tagging.precedents import domain_precedents

FOLDS = 5

RETRIEVER = "bm25"
"""What programs are calibrated with."""


Progress = Callable[[str, int, int], None]
"""Called with what is ranked, how many facts are done, and of how many."""


@dataclass(frozen=True)
class Assessment:
    """The quality of a program's confidence on some facts.

    Args:
        title: program and facts.
        facts, right: their number, and the share whose first concept is right.
        accepted: what can be accepted, with the best thresholds on these facts.
        error: the expected calibration error, in [0, 1].
    """

    title: str
    facts: int
    right: float
    accepted: tuple[Acceptance, ...]
    error: float

    @classmethod
    def of(cls, title: str, probability: Sequence[float], right: Sequence[bool]) -> Assessment:
        """From the confidence and correctness of each fact's first concept."""
        accepted = tuple(risk_coverage(probability, right))
        return cls(title, len(right), float(np.mean(right)), accepted, calibration_error(probability, right))


@dataclass(frozen=True)
class Fitted:
    """A calibration and its quality: out of fold, then on the facts to check."""

    calibration: Calibration
    judged: tuple[Assessment, ...]


def calibrate(
    programs: Sequence[str],
    *,
    domain: str,
    split: str,
    check: str | None = None,
    kind: Literal["logistic", "isotonic"] = "logistic",
    data: str | None = None,
    progress: Progress | None = None,
) -> Iterator[Fitted]:
    """Fit the confidence of each program.

    It is checked on ``split`` out of fold (five folds by source context), and on ``check``, a split without
    any fit.

    Args:
        programs: rows that call no model.
        domain, split: the facts, with known concepts.
        check: another split to check the fit on, or None.
        kind: logistic or isotonic.
        data: the data folder.
        progress: called after each fact.

    Raises:
        InputError: an unknown program, one that calls a model, or too few facts.
    """
    folder, found = DataFolder.find(data), domain_named(domain)
    taxonomy = folder.taxonomy(found)
    precedents = domain_precedents(folder, found)
    if precedents is not None:
        splits = [split] if check is None else [split, check]
        precedents = precedents.for_facts([e.inputs["fact"] for s in splits for e in folder.facts(found, s)])
    parts = make_parts(taxonomy, found, {"kind": RETRIEVER}, precedents=precedents)
    for name in programs:
        try:
            spec = spec_named(name)
            if spec.needs_model or spec.needs_gold:
                raise InputError(f"the program {name!r} calls a model or is shown the gold concept")
            method = build_program(spec, parts)
        except ValueError as e:
            raise InputError(str(e)) from e
        evidence, right, clusters = _collect(method, folder, found, split, name, progress)
        unseen = _out_of_fold(evidence, right, clusters, kind)
        lines = list(risk_coverage(unseen, right))
        fitted = replace(
            fit(evidence, right, name, kind),
            taxonomy=taxonomy.name,
            fingerprint=taxonomy.content_hash,
            setup=RETRIEVER,
            precedents=precedents_fingerprint(precedents) if scopes(spec) else "",
            split=f"{domain} {split}",
            wanted=tuple(line.wanted for line in lines),
            thresholds=tuple(line.threshold for line in lines),
        )
        judged = [Assessment.of(f"{name}, {domain} {split} (out of fold)", unseen, right)]
        if check is not None:
            fresh, truth, _ = _collect(method, folder, found, check, name, progress)
            judged.append(
                Assessment.of(f"{name}, {domain} {check}", fitted.probability(fresh).tolist(), truth)
            )
        yield Fitted(fitted, tuple(judged))


def write_calibrations(calibrations: Sequence[Calibration], path: Path) -> None:
    """Write a JSON file: one calibration, or a list of several.

    Raises:
        InputError: it cannot be written.
    """
    made: Any = [asdict(c) for c in calibrations]
    write_text(path, json.dumps(made[0] if len(made) == 1 else made, indent=1) + "\n")


def _collect(
    method: Any, folder: DataFolder, domain: Domain, split: str, name: str, progress: Progress | None
) -> tuple[list[list[float]], list[bool], list[str]]:
    examples = folder.facts(domain, split)
    evidence, right = [], []
    for done, example in enumerate(examples, 1):
        fact = example.inputs["fact"]
        ranking = method(fact=fact).ranking
        evidence.append(features(ranking, fact.modality))
        right.append(bool(len(ranking)) and ranking.ids[0] == example.gold)
        if progress is not None:
            progress(f"{name}, {split}", done, len(examples))
    return evidence, right, [e.cluster or e.id for e in examples]


def _out_of_fold(
    evidence: Sequence[Sequence[float]],
    right: Sequence[bool],
    clusters: Sequence[str],
    kind: Literal["logistic", "isotonic"],
) -> list[float]:
    """Each fact's probability by a fit on the other folds; facts of a source context share a fold."""
    numbers = {c: i for i, c in enumerate(dict.fromkeys(clusters))}
    fold = np.array([numbers[c] % FOLDS for c in clusters])
    table, truth = np.asarray(evidence), np.asarray(right)
    found = np.zeros(len(truth))
    for f in range(FOLDS):
        inside = fold == f
        if inside.any():
            fitted = fit(table[~inside].tolist(), truth[~inside].tolist(), "", kind)
            found[inside] = fitted.probability(table[inside])
    return found.tolist()
