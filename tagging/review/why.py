"""The reasons for a fact's tag, in the format of the pages: queries, hypotheses, verdicts, precedents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...programs.trace import Judged, Trace
from ...signatures.replies import CODES

LETTERS = {judgement: letter for letter, judgement in CODES.items()}
HITS, WINDOW, NEAR, TEXT = 3, 12, 6, 600
"""Hits of a query, candidates of a window, precedents and characters of a text that are kept."""


def why(trace: Trace, number: Callable[[str], int]) -> dict[str, Any]:
    """The trail of one fact; ``number`` maps concepts to their numbers in the page."""
    found: dict[str, Any] = {
        "q": [
            [
                q.form,
                q.text[:TEXT],
                -1 if q.hypothesis is None else q.hypothesis,
                q.round,
                _few(r.ids, number),
            ]
            for q, r in zip(trace.queries, trace.rankings, strict=False)
        ]
    }
    if trace.hypotheses:
        found["h"] = [
            [
                dict(h.values),
                {d: list(c) for d, c in h.categories.items()},
                h.retrieval_query[:TEXT],
            ]
            for h in trace.hypotheses
        ]
    if trace.judged:
        found["v"] = [_judged(j, number) for j in trace.judged]
        found["d"] = next((list(j.verdicts[0].judgements) for j in trace.judged if j.verdicts), [])
    near = [_near(n, number) for n in trace.notes.get("precedents", ())[:NEAR]]
    return found | ({"n": near} if near else {})


def _few(ids: Any, number: Callable[[str], int]) -> list[int]:
    return [number(i) for i in ids[:HITS]]


def _judged(judged: Judged, number: Callable[[str], int]) -> list[Any]:
    if judged.verdicts is None:
        return [judged.hypothesis, judged.round, [], None]
    shown = judged.verdicts[:WINDOW]
    letters = ["".join(LETTERS[j] for j in v.judgements.values()) for v in shown]
    return [judged.hypothesis, judged.round, [number(v.concept_id) for v in shown], letters]


def _near(near: Any, number: Callable[[str], int]) -> list[Any]:
    whose = ", ".join(str(t) for t in (near.get("company"), near.get("filing_id")) if t)
    return [number(str(near["concept"])), whose, str(near.get("locus", ""))[:300]]
