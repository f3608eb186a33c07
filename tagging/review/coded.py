"""The codes of a note as tags, for a review."""

from __future__ import annotations

from pathlib import Path

from ...programs.serialize import Serializer
from ...retrievers.base import Ranking
from ..notes.codes import Codes
from ..tag import Tag
from ..tags import Tags


def tags_of_note(codes: Codes, note: Path, program: str) -> Tags:
    """The mentions of a note with their ranked codes. A mention whose words distinguish no codes has
    alternatives, but no highlighted suggestion.
    """
    tags = []
    for one in codes:
        hits = list(one.hits)
        known = all(h.score == h.score for h in hits)
        ranking = Ranking.of([h.id for h in hits], [h.score for h in hits] if known else None)
        label = codes.taxonomy[hits[0].id].label if hits else ""
        said = "; ".join(filter(None, [one.evidence, one.asked, *one.warnings, *one.remarks]))
        tags.append(
            Tag(
                one.mention.fact,
                ranking if one.told or one.asked else Ranking.of([]),
                label,
                said,
                one.confidence,
            )
        )
    name = note.name.partition(".")[0]
    return Tags(tuple(tags), codes.taxonomy, program, Serializer(), name, thresholds=codes.thresholds)
