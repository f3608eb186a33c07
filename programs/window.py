"""The profile-diverse window and the support that its verdicts add up to (paper: Section 4.4, Eq. 2)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

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


Abstain = Literal["exclude", "no_support"]

_CERTAIN = {
    Judgement.SUPPORT: (1.0, 0.0, 0.0),
    Judgement.NO_SUPPORT: (0.0, 1.0, 0.0),
    Judgement.ABSTAIN: (0.0, 0.0, 1.0),
}


class Support(NamedTuple):
    """``value``: v_j(c) in [0, 1]; ``weight``: the chance that there is a verdict at all (0 or 1 where the
    judgements are certain)."""

    value: float
    weight: float


def support(verdict: Verdict, abstain: Abstain = "exclude") -> Support:
    """``v_j(c)``: supported over non-abstained dimensions, or what is to be expected of it.

    There is no verdict where the verifier abstained everywhere. Where the verdict carries probabilities, the
    value is the expectation of the rate over all combinations of judgements in which some dimension is not
    abstained, dimensions taken as independent, and the weight is the chance of these combinations. With
    ``abstain="no_support"`` every dimension counts in the denominator.
    """
    if not verdict.probabilities:
        supported, total = _counts(verdict, abstain)
        return Support(supported / total, 1.0) if total else Support(0.0, 0.0)
    chances = [verdict.probabilities.get(d, _CERTAIN[j]) for d, j in verdict.judgements.items()]
    if abstain == "no_support":
        return Support(math.fsum(s for s, _, _ in chances) / len(chances), 1.0)
    counts = {(0, 0): 1.0}
    for s, n, x in chances:
        after: defaultdict[tuple[int, int], float] = defaultdict(float)
        for (supported, judged), p in counts.items():
            after[supported + 1, judged + 1] += p * s
            after[supported, judged + 1] += p * n
            after[supported, judged] += p * x
        counts = after
    weight = math.fsum(p for (_, judged), p in counts.items() if judged)
    if weight <= 0:
        return Support(0.0, 0.0)
    rate = math.fsum(p * supported / judged for (supported, judged), p in counts.items() if judged)
    return Support(min(1.0, rate / weight), min(1.0, weight))


def support_of(verdict: Verdict, abstain: Abstain = "exclude") -> float | None:
    """The value of :func:`support`; None where there is no verdict."""
    found = support(verdict, abstain)
    return found.value if found.weight > 0 else None


def exact_support(verdict: Verdict, abstain: Abstain = "exclude") -> Fraction | None:
    """:func:`support_of` as a fraction, which ties exactly where two are equal."""
    if verdict.probabilities:
        value = support_of(verdict, abstain)
        return None if value is None else Fraction(value)
    supported, total = _counts(verdict, abstain)
    return Fraction(supported, total) if total else None


def _counts(verdict: Verdict, abstain: Abstain) -> tuple[int, int]:
    """How many dimensions are supported, of how many."""
    said = list(verdict.judgements.values())
    total = len(said) if abstain == "no_support" else len(said) - said.count(Judgement.ABSTAIN)
    return said.count(Judgement.SUPPORT), total


def mean_support(
    pool: Sequence[str],
    verdicts: Sequence[Sequence[Verdict] | None],
    abstain: Abstain = "exclude",
    outside: Literal["mean", "zero"] = "mean",
) -> dict[str, float]:
    """``v(c)`` for every candidate of the pool: the mean over hypotheses of Eq. 2.

    Under one hypothesis a candidate without a verdict (outside the window, or abstained everywhere)
    takes the mean support of the judged ones, or 0 (``outside="zero"``); where nothing was judged, or the
    call failed (None), v_j is 0 for all. A candidate that has a verdict by chance takes the expectation
    of both.
    """
    if not verdicts:
        return {}
    total = dict.fromkeys(pool, 0.0)
    for judged in verdicts:
        known = {v.concept_id: one for v in judged or () if (one := support(v, abstain)).weight > 0}
        if not known:
            continue
        weight = math.fsum(s.weight for s in known.values())
        mean = math.fsum(s.value * s.weight for s in known.values()) / weight if outside == "mean" else 0.0
        for candidate in pool:
            found = known.get(candidate)
            own = mean if found is None else found.weight * found.value + (1 - found.weight) * mean
            total[candidate] += own
    return {c: s / len(verdicts) for c, s in total.items()}
