"""What ``abduce calibrate`` does: fit a program's confidence on one split, check it on another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.progress import track

from ..data.domains import Domain
from ..data.example import Example
from ..data.folder import DataFolder, domain_named
from ..data.parts import make_parts
from ..programs.methods import build
from ..programs.presets import scopes, spec_named
from ..retrievers.errors import InputError
from ..retrievers.files import write_text
from ..tagging.calibration import (
    Calibration,
    calibration_error,
    features,
    fit,
    precedents_print,
    risk_coverage,
)
from ..tagging.precedents import domain_precedents
from ..tagging.score import acceptance_table

FOLDS = 5

RETRIEVER = "bm25"
"""What programs are calibrated with."""


def calibrate(
    programs: Sequence[str],
    *,
    domain: str,
    split: str,
    check: str | None,
    kind: Literal["logistic", "isotonic"],
    data: str | None,
    out: Path | None,
    console: Console | None = None,
) -> list[Calibration]:
    """Fit, print a risk-coverage table for each program, and write the calibrations.

    The table of ``split`` itself is out of fold: five folds by source context, each judged by a fit on the
    others. ``check`` is a split that nothing was fitted on.

    Args:
        programs: rows that call no model.
        domain, split: where the concept of every fact is known.
        check: another split to judge the fit on, or None.
        kind: logistic or isotonic.
        data: the data folder.
        out: a JSON file: one calibration, or a list where there are several programs.

    Raises:
        InputError: a program that does not exist or calls a model, or too few facts.
    """
    console = console or Console()
    folder, found = DataFolder.find(data), domain_named(domain)
    taxonomy = folder.taxonomy(found)
    precedents = domain_precedents(folder, found)
    if precedents is not None:
        splits = [split] if check is None else [split, check]
        precedents = precedents.for_facts([e.inputs["fact"] for s in splits for e in folder.facts(found, s)])
    parts = make_parts(taxonomy, found, {"kind": RETRIEVER}, precedents=precedents)
    made: list[Calibration] = []
    for name in programs:
        try:
            spec = spec_named(name)
            if spec.needs_model or spec.needs_gold:
                raise InputError(f"the program {name!r} calls a model or is shown the gold concept")
            method = build(spec, parts)
        except ValueError as e:
            raise InputError(str(e)) from e
        evidence, right, clusters = _collect(method, folder, found, split, name, console)
        unseen = _out_of_fold(evidence, right, clusters, kind)
        lines = list(risk_coverage(unseen, right))
        fitted = replace(
            fit(evidence, right, name, kind),
            taxonomy=taxonomy.name,
            fingerprint=taxonomy.content_hash,
            setup=RETRIEVER,
            precedents=precedents_print(precedents) if scopes(spec) else "",
            split=f"{domain} {split}",
            wanted=tuple(line.wanted for line in lines),
            thresholds=tuple(line.threshold for line in lines),
        )
        made.append(fitted)
        _print(f"{name}, {domain} {split} (out of fold)", unseen, right, console)
        if check is not None:
            fresh, truth, _ = _collect(method, folder, found, check, name, console)
            _print(f"{name}, {domain} {check}", fitted.probability(fresh), truth, console)
    if out is not None:
        written: Any = asdict(made[0]) if len(made) == 1 else [asdict(c) for c in made]
        write_text(out, json.dumps(written, indent=1) + "\n")
        console.print(f"Written: {out}", markup=False, highlight=False)
    return made


def _collect(
    method: Any, folder: DataFolder, domain: Domain, split: str, name: str, console: Console
) -> tuple[list[list[float]], list[bool], list[str]]:
    examples: list[Example] = folder.facts(domain, split)
    bar = track(
        examples,
        f"{name}, {split}",
        console=Console(stderr=True),
        transient=True,
        disable=not console.is_terminal,
    )
    evidence, right = [], []
    for example in bar:
        fact = example.inputs["fact"]
        ranking = method(fact=fact).ranking
        evidence.append(features(ranking, fact.modality))
        right.append(bool(len(ranking)) and ranking.ids[0] == example.gold)
    return evidence, right, [e.cluster or e.id for e in examples]


def _out_of_fold(
    evidence: Sequence[Sequence[float]],
    right: Sequence[bool],
    clusters: Sequence[str],
    kind: Literal["logistic", "isotonic"],
) -> list[float]:
    """Each fact's probability by a fit on the other folds; a source context stays in one fold."""
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


def _print(title: str, probability: Any, right: Sequence[bool], console: Console) -> None:
    table = acceptance_table(probability, right)
    table.title = f"{title}: {len(right):,} facts, {np.mean(right):.1%} right"
    console.print(table)
    console.print(f"Expected calibration error: {calibration_error(probability, right):.3f}")
