"""The profile-diverse window and the support that its verdicts add up to (paper: Section 4.4, Eq. 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Literal

from ..signatures.types import Judgement, Verdict


def profile_window(
    ordered: Sequence[str], profile: Callable[[str], Hashable], Kv: int = 10, scan: int = 60
) -> list[str]:
    """Up to ``Kv`` candidates: the best of each distinct profile, then the rest by rank.

    Args:
        ordered: candidates by score, best first.
        profile: the category profile of a candidate.
        Kv: size of the window; it is reached wherever there are that many candidates.
        scan: only the first ``scan`` candidates are looked at (at least ``Kv`` of them).
    """
    head = list(ordered[: max(scan, Kv)])
    seen: set[Hashable] = set()
    representatives: list[str] = []
    for candidate in head:
        if len(representatives) == Kv:
            break
        key = profile(candidate)
        if key not in seen:
            seen.add(key)
            representatives.append(candidate)
    chosen = set(representatives)
    fill = [c for c in head if c not in chosen][: Kv - len(representatives)]
    return representatives + fill


def support_of(verdict: Verdict, abstain: Literal["exclude", "no_support"] = "exclude") -> float | None:
    """``v_j(c)``: supported over non-abstained dimensions, in [0, 1].

    None where the verifier abstained everywhere: no verdict. With ``abstain="no_support"`` every
    dimension counts in the denominator. Where the verdict carries probabilities, they stand in for
    the hard judgements of their dimensions.
    """
    parts = support_parts(verdict, abstain)
    return None if parts is None else parts[0] / parts[1]


def support_parts(
    verdict: Verdict, abstain: Literal["exclude", "no_support"] = "exclude"
) -> tuple[float, int] | None:
    """Numerator and denominator of :func:`support_of`; a fraction of them compares exactly."""
    supported, judged = 0.0, 0
    for dimension, judgement in verdict.judgements.items():
        if judgement is Judgement.ABSTAIN:
            continue
        judged += 1
        if verdict.probabilities:
            supported += verdict.probabilities.get(dimension, float(judgement is Judgement.SUPPORT))
        elif judgement is Judgement.SUPPORT:
            supported += 1
    total = len(verdict.judgements) if abstain == "no_support" else judged
    return (supported, total) if total else None


def mean_support(
    pool: Sequence[str],
    verdicts: Sequence[Sequence[Verdict] | None],
    abstain: Literal["exclude", "no_support"] = "exclude",
    outside: Literal["mean", "zero"] = "mean",
) -> dict[str, float]:
    """``v(c)`` for every candidate of the pool: the mean over hypotheses of Eq. 2.

    Under one hypothesis a candidate without a verdict (outside the window, or abstained everywhere)
    takes the mean support of the judged ones, or 0 (``outside="zero"``); where nothing was judged, or the
    call failed (None), v_j is 0 for all.
    """
    if not verdicts:
        return {}
    total = dict.fromkeys(pool, 0.0)
    for judged in verdicts:
        values = {v.concept_id: support_of(v, abstain) for v in judged or ()}
        known: Mapping[str, float] = {c: s for c, s in values.items() if s is not None}
        if not known:
            continue
        mean = math.fsum(known.values()) / len(known) if outside == "mean" else 0.0
        for candidate in pool:
            total[candidate] += known.get(candidate, mean)
    return {c: s / len(verdicts) for c, s in total.items()}
