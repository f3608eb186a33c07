"""One-pass grounding (paper: C.1): one description, or one factorized hypothesis, greedily."""

from __future__ import annotations

from .config import FHSConfig, SampleConfig
from .fhs import FHS
from .parallel import Parallel

FREE_TEXT = {"J": 1, "temperature": 0.0}
"""One-pass free-text: a single greedy description; no headers are shown."""

STRUCTURED = {"J": 1, "temperature": 0.0, "beta": 0.0}
"""One-pass structured: a single greedy hypothesis, both renderings, no verifier."""


class OnePass(Parallel):
    """One-pass free-text grounding: :class:`~abduce.programs.parallel.Parallel` with one greedy sample."""

    default_config = SampleConfig.model_validate(FREE_TEXT)


class OnePassStructured(FHS):
    """One-pass structured grounding: :class:`~abduce.programs.fhs.FHS` with one greedy hypothesis, beta 0."""

    default_config = FHSConfig.model_validate(STRUCTURED)
