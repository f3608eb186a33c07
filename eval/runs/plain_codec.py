"""The codec for any program, and for retrieval experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..metrics import RANKING_MEASURES, accuracy, score_ranking


class PlainCodec:
    """Records a list of ids, a ranking, or anything with ``ranking`` or ``answer``.

    Args:
        measures: measures of a ranking, names for :func:`abduce.eval.metrics.measure`. An answer only has
            ``Acc``.
    """

    name = "plain"

    def __init__(self, measures: Sequence[str] = (*RANKING_MEASURES, "Acc")) -> None:
        self.measures = tuple(dict.fromkeys(measures))

    def encode(self, prediction: Any) -> dict[str, Any]:
        if isinstance(prediction, list | tuple):
            return {"ranking": {"ids": list(prediction), "scores": list(range(len(prediction), 0, -1))}}
        found = getattr(prediction, "answer", None)
        if found is not None:
            return {"answer": found}
        ranking = getattr(prediction, "ranking", prediction)
        return {"ranking": {"ids": list(ranking.ids), "scores": ranking.scores}}

    def score(self, record: Mapping[str, Any], gold: Any) -> dict[str, float]:
        if "answer" in record:
            return {"Acc": accuracy([str(record["answer"])], gold)}
        return score_ranking(record["ranking"]["ids"], gold, self.measures)
