"""What a program did for one input, enough to recompute its ranking."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from ..retrievers.base import Ranking
from ..signatures.html import html_line, html_table
from ..signatures.replies import CODES
from ..signatures.types import Hypothesis, Verdict
from .fusion import Pool
from .telling import announce, span

VERSION = 1
"""Of the form in which a trace is written."""

Record = dict[str, Any]
_LETTERS = {judgement: letter for letter, judgement in CODES.items()}

LOSSES = frozenset(
    {
        "dropped_replies", "direct_fallback", "failed_rounds", "failed_verifications", "selector_failed",
        "lexical_hyde", "main_rag_unjudged",
    }
)  # fmt: skip
"""Counters of what a method does without where its model is no use."""

_COUNTING = threading.Lock()


@dataclass(frozen=True)
class Query:
    """One retrieval query.

    ``form`` is the kind of query (``direct``, ``locus``, ``label``, ``definition``, ``gold``, ...),
    ``hypothesis`` the index of its hypothesis; ``round`` counts from 0.
    """

    text: str
    form: str
    hypothesis: int | None = None
    round: int = 0


@dataclass
class Call:
    """One model call. ``raw`` is the unchanged reply; ``ok``: it is a valid answer.

    ``retry``: the second attempt at a question whose first reply was unusable; ``dropped``: this reply was
    unusable too; ``failed``: there was no reply. ``requests`` counts attempts sent (0: from the cache),
    ``retries`` those after the first, and ``faults`` has the reason of each failed one. Tokens are as the
    server counts them; ``cached_tokens`` are prompt tokens from its prefix cache.
    """

    stage: str
    ok: bool
    raw: str = ""
    error: str = ""
    seconds: float = 0.0
    index: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    requests: int = 0
    retries: int = 0
    cache_hit: bool = False
    retry: bool = False
    dropped: bool = False
    failed: bool = False
    faults: list[str] = field(default_factory=list)


@dataclass
class Judged:
    """One verification: a window under one hypothesis; ``verdicts`` is None if the call failed."""

    hypothesis: int
    window: list[str]
    verdicts: list[Verdict] | None
    round: int = 0


@dataclass(repr=False)
class Trace:
    """Everything that one program did for one input.

    Counters are named by what they count: ``llm_calls``, ``retrievals``, ``pool`` (the size of U),
    ``dropped_replies``, ``failed_rounds``, ``direct_fallback``, ``datatype_fallback``,
    ``cut_queries`` (longer than what was read of them),
    ``truncated_contexts``, ``context_backoffs``, ``unnormalised_values``,
    ``failed_verifications`` (the call failed: v_j = 0),
    ``empty_verifications`` (nothing was judged: v_j = 0),
    ``verified_again`` (a replay asked the verifier); ``soft_no_logprobs``, ``soft_thinking``,
    ``soft_split_token``, ``soft_misread`` (soft verdicts fell back to hard ones);
    ``selector_invented_ids``, ``selector_cut_definitions``, ``selector_backoffs``, ``selector_failed``,
    ``selector_no_logprobs`` (the one-token selector took the letter alone).

    ``settings`` are the method's, with ``verifier`` (its kind) where the hypotheses have dimensions.
    """

    queries: list[Query] = field(default_factory=list)
    rankings: list[Ranking] = field(default_factory=list)
    hypotheses: list[Hypothesis] = field(default_factory=list)
    pool: Pool | None = None
    judged: list[Judged] = field(default_factory=list)
    final: Ranking | None = None
    selected: list[str] | None = None
    calls: list[Call] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Trace: {self._line()}>"

    def _line(self) -> str:
        sizes = {"queries": len(self.queries), "hypotheses": len(self.hypotheses), "calls": len(self.calls)}
        parts = [f"{n} {name}" for name, n in sizes.items() if n]
        counted = (
            f"{name} {n}" for name, n in self.counters.items() if name not in ("llm_calls", "retrievals")
        )
        return ", ".join([*parts, *counted])

    def toDict(self) -> dict[str, Any]:
        """Plain values for JSON, in the form of a run's records (:mod:`~abduce.programs.trace_json`)."""
        places: dict[str, int] = {}

        def at(ids: Sequence[str]) -> list[int]:
            return [places.setdefault(i, len(places)) for i in ids]

        record: Record = {
            "version": VERSION,
            "settings": self.settings,
            "queries": [asdict(q) for q in self.queries],
            "rankings": [_ranking(r, at, components=False) for r in self.rankings],
            "hypotheses": [h.model_dump(mode="json") for h in self.hypotheses],
            "pool": None if self.pool is None else _pool(self.pool, at),
            "judged": [_judged(j, at) for j in self.judged],
            "final": None if self.final is None else _ranking(self.final, at),
            "selected": None if self.selected is None else at(self.selected),
            "calls": [asdict(c) for c in self.calls],
            "counters": dict(self.counters),
            "seconds": self.seconds,
            "notes": self.notes,
        }
        record["ids"] = list(places)
        return record

    def to_json(self) -> str:
        """One JSON object; see :meth:`toDict`."""
        return json.dumps(self.toDict(), ensure_ascii=False)

    def _repr_html_(self) -> str:
        parts = [html_line(self._line())]
        if self.hypotheses:
            names = list(dict.fromkeys(name for h in self.hypotheses for name in h.values))
            rows = [[j, *(h.values.get(n) for n in names), h.retrieval_query]
                    for j, h in enumerate(self.hypotheses)]  # fmt: skip
            parts.append(html_table(["hypothesis", *names, "query"], rows, "Hypotheses"))
        found = zip(self.queries, self.rankings, strict=False)
        queries = [[q.form, q.hypothesis, q.text[:300], ", ".join(r.ids[:3])] for q, r in found]
        parts.append(html_table(["form", "hypothesis", "query", "first found"], queries, "Queries"))
        calls = [[c.stage, c.index, c.ok, c.error, c.seconds, c.prompt_tokens, c.completion_tokens]
                 for c in self.calls]  # fmt: skip
        if calls:
            columns = ["stage", "index", "ok", "error", "seconds", "prompt tokens", "completion tokens"]
            parts.append(html_table(columns, calls, "Model calls"))
        return "".join(parts)

    def count(self, name: str, n: int = 1) -> None:
        """Add to a counter; safe with parallel calls."""
        with _COUNTING:
            self.counters[name] += n

    @contextmanager
    def timed(self, stage: str) -> Iterator[Any]:
        """Add the block's wall time to ``seconds[stage]``, and report it (:mod:`.telling`); yields the span,
        or None.
        """
        start = time.perf_counter()
        announce(stage)
        try:
            with span(stage) as current:
                yield current
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start

    @property
    def lost_replies(self) -> bool:
        """Whether a part of the method continued without its model because a reply was unusable or missing,
        so that the result is not (only) the method's.
        """
        return self.counters["llm_calls"] > 0 and any(self.counters[name] for name in LOSSES)

    def retrieved(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> None:
        """Record a batch of queries with their results."""
        self.queries += queries
        self.rankings += rankings
        self.count("retrievals", len(queries))
        fallbacks = sum(r.fell_back for r in rankings)
        if fallbacks:
            self.count("datatype_fallback", fallbacks)
        cut = sum(r.cut for r in rankings)
        if cut:
            self.count("cut_queries", cut)


def _ranking(ranking: Ranking, at: Callable[[Sequence[str]], list[int]], components: bool = True) -> Record:
    record: Record = {
        "ids": at(ranking.ids),
        "scores": ranking.scores.tolist(),
        "candidates": ranking.candidates,
        "fell_back": ranking.fell_back,
    }
    if components:
        record["components"] = {name: values.tolist() for name, values in ranking.components.items()}
    return record


def _pool(pool: Pool, at: Callable[[Sequence[str]], list[int]]) -> Record:
    return {"ids": at(pool.ids), "fused": pool.fused.tolist(), "scores": pool.scores.tolist()}


def _judged(judged: Judged, at: Callable[[Sequence[str]], list[int]]) -> Record:
    verdicts = judged.verdicts
    record: Record = {
        "hypothesis": judged.hypothesis,
        "round": judged.round,
        "window": at(judged.window),
        "verdicts": None,
        "dimensions": list(verdicts[0].judgements) if verdicts else [],
        "probabilities": None,
    }
    if verdicts is not None:
        record["verdicts"] = ["".join(_LETTERS[j] for j in v.judgements.values()) for v in verdicts]
        if any(v.probabilities for v in verdicts):
            record["probabilities"] = [{d: list(p) for d, p in v.probabilities.items()} for v in verdicts]
    return record
