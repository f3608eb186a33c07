"""The inputs of a run's examples from the data folder: facts, questions, concepts and passages.

A run folder has ids and fingerprints, but no source texts. Inputs with the same id and fingerprint in the
data folder are shown; the page says that others were not found.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ...data.corpora import load_corpus
from ...data.domains import DOMAINS, Domain
from ...data.example import Example
from ...data.folder import DataFolder
from ...data.own import OwnData
from ...data.questions import DATASETS, named_questions
from ...retrievers.corpus import Corpus
from ...retrievers.errors import InputError
from ...retrievers.files import read_toml
from ...retrievers.taxonomy import Taxonomy
from ...signatures.types import Fact, Question
from ..runs.run import Run
from .seen import seen_groups


@dataclass
class Sources:
    """Inputs by example id; ``groups`` are further groups of an example (company, seen or unseen)."""

    facts: Mapping[str, Fact] = field(default_factory=dict)
    questions: Mapping[str, Question] = field(default_factory=dict)
    taxonomy: Taxonomy | None = None
    corpus: Corpus | None = None
    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def find_sources(run: Run, folder: DataFolder) -> Sources:
    """The inputs of a run's examples.

    Args:
        run: a loaded run, or several joined ones.
        folder: the data folder with facts, questions, the taxonomy and the corpus.
    """
    settings = _settings(run)
    if run.codec == "taxonomy":
        if "data" in settings:
            found = _own_facts(run, settings["data"], folder)
        else:
            found = _facts(run, DOMAINS.get(str(settings.get("domain", ""))), folder)
    elif run.codec == "question":
        found = _questions(run, settings, folder)
    else:
        return Sources()
    missing = len(run.examples) - len(found.facts or found.questions)
    if missing:
        found.notes.append(
            f"{missing:,} of {len(run.examples):,} examples are not in {folder}: their sources are not shown "
            "(name the data folder with --data)"
        )
    return found


def _settings(run: Run) -> Mapping[str, Any]:
    """The experiment's settings in the run."""
    folders = [run.folder, *(folder for folder, _ in run.sources.values())]
    for folder in filter(None, folders):
        with suppress(OSError, ValueError):
            return read_toml(folder / "resolved.toml")
    return {}


def _facts(run: Run, domain: Domain | None, folder: DataFolder) -> Sources:
    if domain is None:
        return Sources()
    wanted = {e.id: e.fingerprint() for e in run.examples}
    found: dict[str, Fact] = {}
    for split in sorted(domain.splits, key=lambda s: s in domain.precedents):
        if len(found) < len(wanted):
            with suppress(InputError):  # a folder need not have every split
                found |= {e.id: e.inputs["fact"] for e in folder.facts(domain, split, []) if _same(e, wanted)}
    taxonomy = None
    with suppress(InputError):
        taxonomy = folder.taxonomy(domain)
    golds = {e.id: str(e.gold) for e in run.examples}
    return Sources(found, taxonomy=taxonomy, groups=seen_groups(found, golds, domain, folder))


def _own_facts(run: Run, data: Any, folder: DataFolder) -> Sources:
    """The facts and the taxonomy of the user's own files, as far as they still exist."""
    wanted = {e.id: e.fingerprint() for e in run.examples}
    found: dict[str, Fact] = {}
    with suppress(ValueError):  # files may have gone
        own = OwnData.model_validate(data)
        for split in own.splits:
            found |= {e.id: e.inputs["fact"] for e in own.examples(split, []) if _same(e, wanted)}
        return Sources(found, taxonomy=own.open_taxonomy(folder)[0])
    return Sources(found)


def _questions(run: Run, settings: Mapping[str, Any], folder: DataFolder) -> Sources:
    wanted = {e.id: e.fingerprint() for e in run.examples}
    found: dict[str, Question] = {}
    for name in dict.fromkeys([*settings.get("questions", ()), *DATASETS]):
        if len(found) < len(wanted):
            with suppress(InputError):
                examples = (q.example() for q in named_questions(folder, [str(name)], True, []))
                found |= {e.id: e.inputs["question"] for e in examples if _same(e, wanted)}
    corpus = None
    with suppress(InputError):
        corpus = load_corpus(str(settings.get("corpus", "medical")), folder)
    return Sources(questions=found, corpus=corpus)


def _same(example: Example, wanted: Mapping[str, str]) -> bool:
    return example.id in wanted and wanted[example.id] == example.fingerprint()
