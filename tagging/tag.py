"""A tag: a fact with its concept."""

from __future__ import annotations

from dataclasses import dataclass

from ..programs.trace import Trace
from ..retrievers.base import Ranking
from ..signatures.types import Fact


@dataclass(frozen=True, eq=False)
class Tag:
    """A fact with the concept that was found.

    Args:
        fact: the fact.
        ranking: the concepts, best first; empty if the program failed.
        label: the label of the first concept.
        evidence: the evidence for the first concept.
        confidence: the calibrated probability, in [0, 1], that the first concept is right; None if no
            calibration applies to the program and the taxonomy.
        error: the program's error on this fact; empty if there was none.
        trace: what the program did, if traces were requested.
        lost: a part of the program fell back because its model's reply was unusable.
    """

    fact: Fact
    ranking: Ranking
    label: str = ""
    evidence: str = ""
    confidence: float | None = None
    error: str = ""
    trace: Trace | None = None
    lost: bool = False

    @property
    def concept(self) -> str:
        """The first concept's id, or an empty text."""
        return self.ranking.ids[0] if len(self.ranking) else ""

    @property
    def score(self) -> float | None:
        """The first concept's score; what it means depends on the program."""
        return float(self.ranking.scores[0]) if len(self.ranking) else None

    @property
    def margin(self) -> float | None:
        """The first score minus the second."""
        scores = self.ranking.scores
        return float(scores[0] - scores[1]) if len(self.ranking) > 1 else None
