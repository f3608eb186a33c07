"""A fact with its concept."""

from __future__ import annotations

from dataclasses import dataclass

from ..programs.trace import Trace
from ..retrievers.base import Ranking
from ..signatures.types import Fact


@dataclass(frozen=True, eq=False)
class Tag:
    """A fact with the concept that was found for it.

    Args:
        fact: what was tagged.
        ranking: the concepts, best first; empty where the program failed.
        label: the label of the first concept.
        evidence: what the first concept rests on.
        confidence: the calibrated probability, in [0, 1], that the first concept is right; None where no
            calibration holds for the program and the taxonomy.
        error: what the program failed with on this fact; empty where it did not.
        trace: what the program did, where traces were asked for.
        lost: a part of the program fell back because a reply of its model was no use.
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
        """How far the first score is from the second."""
        scores = self.ranking.scores
        return float(scores[0] - scores[1]) if len(self.ranking) > 1 else None
