"""A fitted rule: the probability of one event from a few named numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ...retrievers.errors import InputError
from ...retrievers.files import write_text
from ...retrievers.outside import read_json


class Rule(BaseModel):
    """A logistic model over named ``features``; ``mean``, ``scale`` and ``weights`` have one number each.

    ``about`` says which event the probability is of, ``fitted_on`` which examples decided it, and how many.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    about: str
    features: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    fitted_on: str = ""
    n: int = 0

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        if not len(self.features) == len(self.mean) == len(self.scale) == len(self.weights):
            raise ValueError("features, mean, scale and weights must be of one length")
        numbers = (*self.mean, *self.scale, *self.weights, self.bias)
        if not all(map(math.isfinite, numbers)) or not all(s > 0 for s in self.scale):
            raise ValueError("every number must be finite, and every scale above 0")
        return self

    def probability(self, values: Mapping[str, float]) -> float:
        """In [0, 1].

        Args:
            values: a number for every feature; others are passed over.
        """
        parts: Sequence[tuple[str, float, float, float]] = list(
            zip(self.features, self.mean, self.scale, self.weights, strict=True)
        )
        z = self.bias + math.fsum(w * (values[name] - m) / s for name, m, s, w in parts)
        return 1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, z))))


class AnswerRules(BaseModel):
    """What ``abduce calibrate`` fits on a run of questions.

    ``row`` is what they were fitted on. ``choice`` picks an arm of ``HCQR or CoT`` (None: too few questions
    told), ``confidence`` gives the probability that an answer is right, ``thresholds`` the least confidence
    at which answers have a wanted accuracy (``"0.90"``), out of fold; one that was not reached is not there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    row: str
    choice: Rule | None = None
    confidence: Rule
    thresholds: Mapping[str, float] = Field(default_factory=dict)

    def accuracy(self, sure: float) -> float | None:
        """The highest wanted accuracy whose threshold this confidence reaches; None: it reaches none."""
        return max((float(w) for w, least in self.thresholds.items() if sure >= least), default=None)

    def save(self, path: Path) -> None:
        """Write them as JSON."""
        write_text(path, self.model_dump_json(indent=1) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> AnswerRules:
        """Read them back.

        Raises:
            InputError: no such file, or not what :meth:`save` writes.
        """
        try:
            return cls.model_validate(read_json(path))
        except ValidationError as e:
            raise InputError.of_validation(e, file=path) from e
