"""A trace back from JSON, and the one trace schema: everything a program did for one fact.

A record holds (all keys always there):

==============  =======================================================================================
``settings``    the program's resolved configuration (K, kappa, fusion, beta, ...)
``ids``         every concept id of the record, once; all lists below hold places in it
``queries``     ``text``, ``form``, ``hypothesis`` (or null), ``round``; in the order of ``rankings``
``rankings``    per query: ``ids``, ``scores``, ``candidates`` (how many passed the filter), ``fell_back``
``hypotheses``  ``values``, ``retrieval_query``, ``categories``
``pool``        fused order: ``ids``, ``fused`` (S), ``scores`` (S~); null where nothing was fused
``judged``      per verification: ``hypothesis``, ``round``, ``window`` (ids), ``verdicts`` (one string of
                ``s n x`` a candidate, a letter a dimension, or null: the call failed), ``dimensions``,
                ``probabilities``
``final``       the ranking, like one of ``rankings``, and its ``components`` (fused methods: fused,
                fused_norm, support; a single retrieval: bm25, bm25_norm, cov_label, cov_query); null in
                a run folder, whose records have it beside the trace
``selected``    ids that the listwise selector put on top, or null where none ran
``calls``       per reply: ``stage``, ``index``, ``ok``, ``raw``, ``error``, ``seconds``, tokens
``counters``    what was counted; ``seconds``: wall time a stage; ``notes``: what helps diagnosis
==============  =======================================================================================
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..retrievers.base import Ranking
from ..signatures.replies import CODES
from ..signatures.types import Hypothesis, Judgement, Verdict
from .fusion import Pool
from .trace import VERSION, Call, Judged, Query, Trace


def from_json(record: Mapping[str, Any]) -> Trace:
    """The trace that :meth:`Trace.toDict <abduce.programs.trace.Trace.toDict>` wrote.

    Raises:
        ValueError: another version of the schema.
    """
    if record.get("version") != VERSION:
        raise ValueError(f"a trace of version {record.get('version')!r}; this abduce reads version {VERSION}")
    ids: list[str] = record["ids"]

    def names(places: Sequence[int]) -> list[str]:
        return [ids[p] for p in places]

    def ranking(r: Mapping[str, Any]) -> Ranking:
        parts = {k: np.asarray(v, dtype=np.float64) for k, v in r.get("components", {}).items()}
        scores = np.asarray(r["scores"], dtype=np.float64)
        return Ranking(names(r["ids"]), scores, parts, r["candidates"], r["fell_back"])

    pool = record["pool"]
    return Trace(
        queries=[Query(**q) for q in record["queries"]],
        rankings=[ranking(r) for r in record["rankings"]],
        hypotheses=[Hypothesis.model_validate(h) for h in record["hypotheses"]],
        pool=None
        if pool is None
        else Pool(
            names(pool["ids"]),
            np.asarray(pool["fused"], dtype=np.float64),
            np.asarray(pool["scores"], dtype=np.float64),
        ),
        judged=[_read_judged(j, names) for j in record["judged"]],
        final=None if record["final"] is None else ranking(record["final"]),
        selected=None if record["selected"] is None else names(record["selected"]),
        calls=[Call(**c) for c in record["calls"]],
        counters=Counter(record["counters"]),
        seconds=dict(record["seconds"]),
        settings=dict(record["settings"]),
        notes=dict(record["notes"]),
    )


def _read_judged(record: Mapping[str, Any], names: Callable[[Sequence[int]], list[str]]) -> Judged:
    window = names(record["window"])
    verdicts: list[Verdict] | None = None
    if record["verdicts"] is not None:
        chances = record["probabilities"] or [{}] * len(window)
        verdicts = [
            Verdict(
                concept_id=c,
                judgements=_letters(record["dimensions"], letters),
                probabilities={d: tuple(q) for d, q in p.items()},
            )
            for c, letters, p in zip(window, record["verdicts"], chances, strict=True)
        ]
    return Judged(record["hypothesis"], window, verdicts, record["round"])


def _letters(dimensions: Sequence[str], letters: str) -> dict[str, Judgement]:
    return {d: CODES[x] for d, x in zip(dimensions, letters, strict=True)}
