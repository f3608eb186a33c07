"""The weights of a model (logits, joint pass, confidence, thresholds), fitted on facts whose companies the
scoring towers have not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..programs.config import TrainedConfig
from ..programs.evidence import FEATURES
from ..programs.generate import PhraseGenerator
from ..programs.learned import SIGNS, Learned, group_of, sure
from ..programs.logit import Logit, fit_logit
from ..programs.methods import Parts, phrase_serializer
from ..programs.together import FEATURES as JOINT
from ..programs.trained import Alone, Gathered, Trained
from ..retrievers.base import Floats
from ..retrievers.precedents.index import Precedents, Tagged
from ..signatures.wording import load_wording
from .calibration import risk_coverage

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of it that is done."""


class WeightFit:
    """Fits the weights of one scope on facts whose groups the judging towers have not seen."""

    def __init__(
        self,
        learned: Learned,
        precedents: Precedents,
        parts: Parts,
        scope: Literal["others", "own"],
        joint: bool,
    ) -> None:
        self.learned, self.joint = learned, joint
        self.scope: Literal["others", "own"] = scope
        self._precedents, self._parts = precedents, parts
        self._phrases = PhraseGenerator(parts.schema, phrase_serializer(parts.serializer))

    def _make(self, learned: Learned) -> Trained:
        return Trained(
            self._parts.retriever({}),
            self._precedents,
            learned,
            self._phrases,
            self._parts.serializer,
            self._parts.taxonomy,
            TrainedConfig(scope=self.scope),
            wording=load_wording(self._parts.schema.name),
        )

    def fit(self, sample: Sequence[Sequence[Tagged]], on_progress: Progress) -> Learned:
        """The model with the weights of the scope."""
        program = self._make(self.learned)
        gathered: list[list[Gathered]] = []
        for i, lines in enumerate(sample):
            gathered.append([program.gather(t.fact) for t in lines])
            on_progress(f"evidence ({self.scope})", (i + 1) / len(sample))
        logits = dict(self.learned.logits)
        for modality in ("table", "text"):
            logit = self._small(gathered, sample, modality)
            if logit is not None:
                logits[f"{self.scope} {modality}"] = logit
        learned = replace(self.learned, logits=logits)
        alone = [
            [Alone.of(g, learned.logit(self.scope, g.fact.modality)) for g in found] for found in gathered
        ]
        if self.joint and learned.together is not None:
            joint = self._joint(self._make(learned), alone, sample)
            learned = replace(learned, joint={**learned.joint, self.scope: joint})
        logit, accepted = self._confidence(self._make(learned), alone, sample)
        return replace(
            learned,
            confidence={**learned.confidence, self.scope: logit},
            accepted={**learned.accepted, self.scope: accepted},
        )

    def _small(
        self, gathered: Sequence[Sequence[Gathered]], sample: Sequence[Sequence[Tagged]], modality: str
    ) -> Logit | None:
        tables, right = [], []
        for found, lines in zip(gathered, sample, strict=True):
            for one, (fact, concept) in zip(found, lines, strict=True):
                if fact.modality == modality and concept in one.evidence.ids:
                    tables.append(one.evidence.table)
                    right.append(list(one.evidence.ids).index(concept))
        if len(tables) < LEAST:
            return None
        fitted = fit_logit(FEATURES, tables, right)
        stands = [
            max(w, NAMED) if name == "named" else w for name, w in zip(FEATURES, fitted.weights, strict=True)
        ]
        return Logit(FEATURES, tuple(stands))

    def _joint(
        self, program: Trained, alone: Sequence[Sequence[Alone]], sample: Sequence[Sequence[Tagged]]
    ) -> Logit:
        tables: list[Floats] = []
        right: list[int] = []
        for found, lines in zip(alone, sample, strict=True):
            if len(found) < 2:
                continue
            for one, (_, concept), table in zip(found, lines, program.tables(found), strict=True):
                ids = [one.evidence.ids[i] for i in one.places[: len(table)]]
                if concept in ids:
                    tables.append(table)
                    right.append(ids.index(concept))
        return fit_logit(JOINT, tables, right)

    def _confidence(
        self, program: Trained, alone: Sequence[Sequence[Alone]], sample: Sequence[Sequence[Tagged]]
    ) -> tuple[Logit, dict[float, float | None]]:
        """The weights of confidence, and the threshold for each precision; each fold is scored with the
        others' weights.
        """
        fold_of = {group: i for i, groups in enumerate(self.learned.groups) for group in groups}
        signs: list[Floats] = []
        right: list[bool] = []
        folds: list[int] = []
        for found, lines in zip(alone, sample, strict=True):
            for one, ranking, (fact, concept) in zip(found, program.rankings(found), lines, strict=True):
                signs.append(program.signs(one, ranking))
                right.append(ranking.ids[:1] == [concept])
                folds.append(fold_of[group_of(fact)])
        told, of = np.array(right), np.array(folds)
        judged = np.zeros(len(told))
        for fold in np.unique(of):
            others = np.flatnonzero(of != fold)
            if not len(others):
                return fit_confidence(signs, told), {}
            logit = fit_confidence([signs[i] for i in others], told[others])
            for i in np.flatnonzero(of == fold):
                judged[i] = sure(logit, signs[i])
        accepted = {line.wanted: line.threshold for line in risk_coverage(judged, told)}
        return fit_confidence(signs, told), accepted


def fit_confidence(signs: Sequence[Floats], right: npt.NDArray[np.bool_]) -> Logit:
    """The logit of being right over some :func:`~abduce.programs.learned.signs`."""
    tables = [np.stack([values, np.zeros_like(values)]) for values in signs]
    return fit_logit((*SIGNS, "constant"), tables, (~right).astype(np.int64).tolist())


NAMED = 4.0
"""The least weight of a term that is the mention, word for word: it stands before all likeness."""

LEAST = 100
"""Fewer facts of a modality get no weights of their own."""
