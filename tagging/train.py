"""Train a model folder on already-tagged facts: folds, towers, logits, pairs of concepts, confidence."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ..programs.evidence import FEATURES
from ..programs.learned import Learned, group_of
from ..programs.logit import Logit
from ..programs.methods import Parts
from ..programs.together import Together
from ..programs.trained import line_key
from ..retrievers.errors import InputError
from ..retrievers.precedents.index import Precedents, Tagged
from ..retrievers.precedents.loci import column_tokens, company_key, row_tokens
from ..retrievers.taxonomy import Taxonomy
from ..retrievers.towers.features import blocks_of, header_blocks, label_words, mention_blocks, worded
from ..retrievers.towers.fit import Lesson, TowerSettings, reduced, train_towers
from ..retrievers.towers.model import Quantised, Towers
from ..retrievers.towers.vocabulary import Vocabulary
from ..signatures.types import Concept
from .weights import NAMED, Progress, WeightFit

log = logging.getLogger(__name__)

REPEATS = 2
"""At most so many facts of one locus, company and concept are learned from."""

FEW = 5
"""Below so many groups nothing is fitted on facts that training left out: fixed weights are used."""

MANY = 40
"""From so many groups on the rows of a table are judged together; with fewer it hurts."""

FIXED = Logit(
    FEATURES,
    tuple(
        {"towers": 0.5, "share": 0.3, "own share": 0.3, "locus": 1.0, "phrases": 1.0, "named": NAMED}.get(
            n, 0.0
        )
        for n in FEATURES
    ),
)
"""The weights where there are too few companies to fit any."""

LONG, SHARED = 100, 20
"""Characters of a term, and concepts that may share it, at most."""


MENTIONS = TowerSettings(dimensions=96, kept=64, epochs=16, batch=512, pseudo=0.5, rate=0.008)
"""How towers are trained where the facts are worded mentions: half of a batch are terms of the taxonomy."""


@dataclass(frozen=True)
class TrainSettings:
    """Training settings.

    Args:
        towers: settings of its towers.
        mentions: their settings if the facts are worded mentions.
        folds: the number of folds of companies (or filings).
        lines: the most lines (cells of one row, mentions) that the weights are fitted on.
        least: the fewest loci in which a feature must occur.
        seed: the random seed.
    """

    towers: TowerSettings = field(default_factory=TowerSettings)
    mentions: TowerSettings = field(default_factory=lambda: MENTIONS)
    folds: int = 3
    lines: int = 2500
    least: int = 2
    seed: int = 0


def train(
    tagged: Sequence[Tagged],
    precedents: Precedents,
    parts: Parts,
    settings: TrainSettings | None = None,
    apart: Collection[str] = (),
    on_progress: Progress = lambda what, done: None,
) -> Learned:
    """Train a model.

    Args:
        tagged: the facts to learn from; those whose concept the taxonomy lacks are skipped.
        precedents: the index of the same facts.
        parts: retriever, taxonomy, schema and serializer of the rows.
        settings: the settings; the same settings and facts give the same model.
        apart: groups (see :func:`~abduce.programs.learned.group_of`) in a separate fold on which no weights
            are fitted: those of facts that an experiment evaluates.
        on_progress: called with a line per step.

    Raises:
        InputError: no fact has a concept of the taxonomy.
    """
    settings = settings or TrainSettings()
    taxonomy = parts.taxonomy
    known = [t for t in tagged if t.concept in taxonomy]
    if not known:
        raise InputError(f"no tagged fact has a concept of {taxonomy.name}")
    folds = deal(known, settings, apart)
    fitted = [i for i in range(len(folds)) if not (apart and i == 0)]
    school = School(taxonomy, distinct(known), settings)
    towers = school.towers(frozenset(), "towers", on_progress)
    left_out = [
        school.towers(fold, f"towers without fold {i + 1} of {len(folds)}", on_progress)
        for i, fold in enumerate(folds)
    ]
    many = sum(len(folds[i]) for i in fitted)
    learned = Learned(
        taxonomy=(taxonomy.name, taxonomy.content_hash),
        towers=towers,
        folds=left_out,
        groups=folds,
        filings=frozenset(t.fact.filing_id for t in known if t.fact.filing_id is not None),
        logits={"others table": FIXED, "own table": FIXED},
        joint={},
        confidence={},
        accepted={},
        together=_together(known, folds, towers) if many >= FEW and not school.worded else None,
        worded=school.worded,
        about={"facts": len(known), "loci": len(school.facts), "seed": settings.seed},
    )
    if many < FEW or not left_out:
        log.warning("%d companies or filings: too few to fit weights on, so fixed ones are used", many)
        return learned
    sample = draw_tables(known, [folds[i] for i in fitted], settings)
    companies = any(company_key(t.fact.company or "") for t in known)
    scopes: tuple[Literal["others", "own"], ...] = ("others", "own") if companies else ("others",)
    for scope in scopes:
        learned = WeightFit(learned, precedents, parts, scope, many >= MANY).fit(sample, on_progress)
    return learned


def deal(tagged: Sequence[Tagged], settings: TrainSettings, apart: Collection[str]) -> list[frozenset[str]]:
    """The folds: the groups of the facts, assigned at random; the ``apart`` groups are the first fold."""
    groups = sorted({group_of(t.fact) for t in tagged})
    aside = frozenset(g for g in groups if g in apart)
    rest = [g for g in groups if g not in aside]
    order = np.random.default_rng(settings.seed).permutation(len(rest))
    n = min(settings.folds, len(rest))
    dealt = [frozenset(rest[i] for i in order[k::n]) for k in range(n)] if n > 1 else []
    return [aside, *dealt] if aside else dealt


def distinct(tagged: Iterable[Tagged]) -> list[Tagged]:
    """At most :data:`REPEATS` facts of one locus, group and concept."""
    counts: Counter[Any] = Counter()
    found = []
    for one in tagged:
        fact = one.fact
        if fact.modality == "table":
            place: Any = row_tokens(fact.row_header or ""), column_tokens(fact.column_header or "")
        elif worded(fact):
            place = fact.value.lower()
        else:
            text, start, end = fact.context.text, fact.mention_start or 0, fact.mention_end or 0
            place = text[max(0, start - 40) : start], text[end : end + 40]
        key = (group_of(fact), one.concept, place)
        counts[key] += 1
        if counts[key] <= REPEATS:
            found.append(one)
    return found


class School:
    """Trains towers on some facts, with or without the facts of a fold."""

    def __init__(self, taxonomy: Taxonomy, tagged: Sequence[Tagged], settings: TrainSettings) -> None:
        self.settings = settings
        self.facts = [t.fact for t in tagged]
        self.worded = sum(map(worded, self.facts)) > len(self.facts) / 2
        self.ids = taxonomy.ids
        place = {id_: i for i, id_ in enumerate(self.ids)}
        self.concepts = np.array([place[t.concept] for t in tagged], dtype=np.int64)
        self.of = np.array([group_of(f) for f in self.facts], dtype=object)
        self.bags = [blocks_of(fact) for fact in self.facts]
        items = list(taxonomy)
        self.groups = [c.datatype or "" for c in items]
        if self.worded:
            self.words = [mention_blocks(c.label) for c in items]
            family = [str(c.metadata.get("category") or c.id[:3]) for c in items]
            seen = {family[i] for i in self.concepts}
            said = terms_of(items)
            terms = [(i, t) for i, found in enumerate(said) if family[i] in seen for t in found]
            self.pseudo = [mention_blocks(text) for _, text in terms]
            self.pseudo_concepts = np.array([i for i, _ in terms], dtype=np.int64)
        else:
            self.words = [[label_words(c.label)] for c in items]
            self.pseudo = [header_blocks(c.label, c.datatype) for c in items]
            self.pseudo_concepts = np.arange(len(items))

    def towers(self, without: frozenset[str], what: str, on_progress: Progress) -> Towers:
        """Towers that have not seen the given groups."""
        keep = np.array([i for i, g in enumerate(self.of) if g not in without], dtype=np.int64)
        bags = [self.bags[i] for i in keep]
        shared = self.worded
        vocabulary = Vocabulary.of([*bags, *self.pseudo] if shared else bags, self.settings.least)
        spoken = vocabulary if shared else Vocabulary.of(self.words, 1)
        numbers = {g: i for i, g in enumerate(dict.fromkeys(self.groups))}
        lesson = Lesson(
            vocabulary.matrix(bags),
            self.concepts[keep],
            spoken.matrix(self.words),
            np.array([numbers[g] for g in self.groups]),
            vocabulary.matrix(self.pseudo),
            self.pseudo_concepts,
            shared,
        )
        chosen = self.settings.mentions if shared else self.settings.towers
        trained = train_towers(
            lesson, replace(chosen, seed=self.settings.seed), lambda done: on_progress(what, done)
        )
        features, concepts = reduced(trained.features, trained.concepts, chosen.kept)
        return Towers(
            vocabulary.features,
            Quantised.of(features),
            self.ids,
            Quantised.of(concepts),
            trained.free,
            self.groups,
        )


def terms_of(items: Sequence[Concept]) -> list[list[str]]:
    """Other names of each concept: its label, and the parts of its definition between semicolons (inclusion
    terms, index paths). Parts that give the place in the hierarchy, are long, or occur with many concepts are
    left out.
    """
    parts = [[p for p in c.definition.split(" ; ") if p and " > " not in p and len(p) <= LONG] for c in items]
    often = Counter(p for found in parts for p in dict.fromkeys(found))
    return [
        list(dict.fromkeys([c.label, *(p for p in found if often[p] <= SHARED)]))
        for c, found in zip(items, parts, strict=True)
    ]


def _together(tagged: Sequence[Tagged], folds: Sequence[frozenset[str]], towers: Towers) -> Together:
    numbers = {group: i for i, group in enumerate(sorted(g for fold in folds for g in fold))}
    contexts: dict[tuple[str, str], list[Tagged]] = {}
    for one in tagged:
        contexts.setdefault((group_of(one.fact), one.fact.context.context_id), []).append(one)
    tables = []
    for (group, _), inside in contexts.items():
        rows: dict[float, set[int]] = {}
        for fact, concept in inside:
            at = fact.row_index if fact.modality == "table" else fact.mention_start
            rows.setdefault(float(at or 0), set()).add(towers.place[concept])
        tables.append((numbers[group], [sorted(rows[at]) for at in sorted(rows)]))
    return Together.count(tables, len(towers.ids), len(numbers))


def draw_tables(
    tagged: Sequence[Tagged], folds: Sequence[frozenset[str]], settings: TrainSettings
) -> list[list[Tagged]]:
    """The lines of some source contexts, drawn at random, about equally many per group."""
    inside = frozenset().union(*folds)
    contexts: dict[tuple[str, str], dict[Any, Tagged]] = {}
    for one in tagged:
        group = group_of(one.fact)
        if group in inside:
            lines = contexts.setdefault((group, one.fact.context.context_id), {})
            lines.setdefault(line_key(one.fact), one)
    by_group: dict[str, list[list[Tagged]]] = {}
    for (group, _), lines in contexts.items():
        by_group.setdefault(group, []).append(list(lines.values()))
    draw = np.random.default_rng(settings.seed)
    share = -(-settings.lines // max(1, len(by_group)))
    found = []
    for group in sorted(by_group):
        count = 0
        for i in draw.permutation(len(by_group[group])):
            if count >= share:
                break
            found.append(by_group[group][i])
            count += len(by_group[group][i])
    return found
