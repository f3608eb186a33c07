"""Measures over ordered id lists. The order of the list is the ranking: nothing is re-sorted.

Ids match exactly after the namespace prefix is removed (``us-gaap:Assets`` is ``Assets``). The gold answer is
one id, several ids, or a mapping of ids to grades (above 0: relevant). All values are in [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from ..retrievers.concept_ids import strip_namespace
from ..signatures.types import UtilityLabel

Gold = str | Collection[str] | Mapping[str, float]

DEPTH = 200
"""The retrieval depth of both papers' tables: MRR looks no deeper."""

RANKING_MEASURES = ("R@1", "R@10", "R@50", "R@200", "MRR")
"""The columns of the FHS paper's main table that are taken before the selector."""


def local_name(id_: str) -> str:
    """An id without its namespace prefix (``us-gaap:Assets``). An id without a prefix is unchanged, and so is
    one whose colon belongs to the name (``DOID:14330``).
    """
    return strip_namespace(id_) if ":" in id_ else id_


def grades_of(gold: Gold) -> dict[str, float]:
    """The relevant local names with their grades; a single id or a collection without grades has grade 1."""
    if isinstance(gold, str):
        return {local_name(gold): 1.0}
    pairs = gold.items() if isinstance(gold, Mapping) else ((g, 1.0) for g in gold)
    return {local_name(id_): float(grade) for id_, grade in pairs if grade > 0}


def rank_of(ids: Sequence[str], gold: Gold, depth: int | None = None) -> int | None:
    """The rank, from 1, of the first relevant id within ``depth`` positions; None if there is none."""
    relevant = grades_of(gold)
    for rank, id_ in enumerate(ids if depth is None else ids[:depth], 1):
        if local_name(id_) in relevant:
            return rank
    return None


def recall(ids: Sequence[str], gold: Gold, k: int) -> float:
    """R@k: the share of the relevant ids within the first ``k`` positions (one gold id: 0 or 1)."""
    if isinstance(gold, str):
        return float(rank_of(ids, gold, k) is not None)
    relevant = grades_of(gold)
    if not relevant:
        return 0.0
    return len({local_name(i) for i in ids[:k]} & relevant.keys()) / len(relevant)


def reciprocal_rank(ids: Sequence[str], gold: Gold, depth: int = DEPTH) -> float:
    """RR: 1 / rank of the first relevant id within ``depth`` positions, else 0. Its mean is MRR."""
    rank = rank_of(ids, gold, depth)
    return 0.0 if rank is None else 1.0 / rank


def accuracy(ids: Sequence[str], gold: Gold) -> float:
    """Acc: 1 if the first id is relevant; used after the selector, or for a chosen option."""
    return float(rank_of(ids, gold, 1) is not None)


def useful(label: UtilityLabel | str) -> float:
    """1 if a context set is decision-useful: Entailed or Useful-but-Not-Entailed (HCQR: Section 3)."""
    return float(UtilityLabel(label) is not UtilityLabel.NOT_USEFUL)


@dataclass(frozen=True)
class Measure:
    """A named measure of one ranking. Called with (ids, gold) it returns a value in [0, 1]."""

    name: str
    meaning: str
    compute: Callable[[Sequence[str], Gold], float]

    def __call__(self, ids: Sequence[str], gold: Gold) -> float:
        return self.compute(ids, gold)


def measure(name: str) -> Measure:
    """The measure with a name as in papers: ``R@10``, ``MRR``, ``MRR@10`` and ``Acc`` are computed here, all
    others (``nDCG@10``, ``P@5``, ``AP``) by ir-measures.

    Raises:
        ValueError: an unknown name, or a cutoff that is not a whole number from 1.
    """
    base, at, cut = name.partition("@")
    if (name == "R" or (base in ("R", "MRR") and at)) and not (cut.isdecimal() and int(cut) >= 1):
        raise ValueError(f"{name!r}: the cutoff after @ must be a whole number from 1")
    k = int(cut) if base in ("R", "MRR") and at else DEPTH
    if base == "R" and at:
        return Measure(name, f"share of the gold ids in the first {k}", lambda i, g: recall(i, g, k))
    if base == "MRR":
        return Measure(
            name, f"1 / rank of the first gold id within {k}", lambda i, g: reciprocal_rank(i, g, k)
        )
    if name == "Acc":
        return Measure(name, "the first id is gold", accuracy)
    return _of_ir_measures(name)


def _of_ir_measures(name: str) -> Measure:
    import ir_measures

    try:
        found = ir_measures.parse_measure(name)
        ir_measures.calc_aggregate([found], {"q": {"d": 1}}, {"q": {"d": 1.0}})  # lacks no parameter
    except (NameError, ValueError, SyntaxError, TypeError, AssertionError) as e:
        raise ValueError(f"{name!r} is none of R@k, MRR, MRR@k, Acc, and ir-measures does not know it") from e

    def compute(ids: Sequence[str], gold: Gold) -> float:
        """Ranks serve as scores, so that the list order is measured."""
        names = dict.fromkeys(map(local_name, ids))
        run = {id_: float(len(names) - place) for place, id_ in enumerate(names)}
        grades = {id_: int(grade) for id_, grade in grades_of(gold).items()}
        if not run or not grades:
            return 0.0
        return float(ir_measures.calc_aggregate([found], {"q": grades}, {"q": run})[found])

    return Measure(name, str(found), compute)


def score_ranking(
    ids: Sequence[str],
    gold: Gold,
    measures: Sequence[str] = RANKING_MEASURES,
    *,
    selected: Sequence[str] | None = None,
) -> dict[str, float]:
    """All measures of one example.

    Args:
        ids: the ranking before the selector, best first.
        gold: the gold answer.
        measures: names for :func:`measure`.
        selected: the order after the selector; if given, ``Acc`` is added.
    """
    if isinstance(gold, str) and tuple(measures) == RANKING_MEASURES:
        rank = rank_of(ids, gold, DEPTH) or math.inf
        values = {name: float(rank <= int(name[2:])) for name in RANKING_MEASURES[:-1]} | {"MRR": 1.0 / rank}
    else:
        values = {name: measure(name)(ids, gold) for name in measures}
    if selected is not None:
        values["Acc"] = accuracy(selected, gold)
    return values
