"""The details of one example under one row, for a page: the main parts of its record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]
Detail = dict[str, Any]
Numbered = Callable[[str], int]
"""Gives each concept or passage its number in the page."""

TOP = 12
"""Candidates of a final order that are kept."""

POOL = 12
"""Candidates of a fused pool that are kept."""

HITS = 3
"""Hits of one query that are kept."""

WINDOW = 20
"""A larger window of verdicts is cut to the candidates of the final order that are kept."""

TEXT = 1200
"""Characters of a text that a model wrote, or of a query."""

PASSAGE = 4000
"""Characters of a passage."""


def fact_detail(record: Record, number: Numbered, gold: Sequence[str]) -> Detail:
    """The details of a fact: queries, hypotheses, pool, verdicts, final order and selector's choice."""
    if record["status"] != "ok":
        return {"e": _error(record)}
    trace, ranking = record["trace"], record["ranking"]
    names: Sequence[str] = trace["ids"]
    shown = list(ranking["ids"][:TOP])
    kept = {*shown, *gold}
    detail: Detail = {
        "q": _queries(trace, names, number),
        "f": [[number(i) for i in shown], _short(ranking["scores"][:TOP])],
        "g": next((i for i, id_ in enumerate(ranking["ids"], 1) if id_ in gold), 0),
    }
    parts = {k: _short(v[:TOP]) for k, v in ranking.get("components", {}).items() if any(v[:TOP])}
    if parts:
        detail["k"] = parts
    if trace["hypotheses"]:
        detail["h"] = [
            [h["values"], h["categories"], h["retrieval_query"][:TEXT]] for h in trace["hypotheses"]
        ]
    if trace["pool"] is not None:
        pool = trace["pool"]
        best = sorted(zip(pool["scores"], pool["ids"], strict=True), key=lambda p: -p[0])[:POOL]
        size = trace["counters"].get("pool", len(pool["ids"]))
        detail["p"] = [size, [number(names[i]) for _, i in best], _short([s for s, _ in best])]
    if trace["judged"]:
        detail["v"] = [_judged(j, names, number, kept) for j in trace["judged"]]
        detail["d"] = next((j["dimensions"] for j in trace["judged"] if j["dimensions"]), [])
    if trace["selected"] is not None:
        detail["s"] = [number(names[i]) for i in trace["selected"]]
    near = [_precedent(n, number) for n in trace["notes"].get("precedents", ())[:HITS]]
    if near:
        detail["n"] = near
    return detail | _work(record)


def question_detail(record: Record, number: Numbered) -> Detail:
    """The details of a question: plan, queries, the context's passages with their queries, answer, judges."""
    if record["status"] != "ok":
        return {"e": _error(record)}
    trace = record["trace"]
    notes = trace["notes"]
    statements = _statements(notes.get("statements") or {})
    cited = {document for _, _, document, *_ in statements}
    found = notes.get("context") or [{"id": i, "sources": []} for i in record["ranking"]["ids"]]
    detail: Detail = {
        "q": _queries(trace, trace["ids"], number),
        "x": [[number(c["id"]), c["sources"], int(n in cited)] for n, c in enumerate(found, 1)],
        "a": [record["answer"], record["answer_text"]],
    }
    if statements:
        detail["b"] = statements
    if record["options"]:
        detail["o"] = record["options"]
    if record["plan"]:
        detail["l"] = _cut(record["plan"])
    if record["utility"]:
        detail["u"] = [
            [u.get("name"), u.get("label"), u.get("selected"), u.get("error")] for u in record["utility"]
        ]
    if record["covered"] is not None:
        detail["w"] = record["covered"]
    return detail | _work(record)


def _statements(found: Mapping[str, Sequence[Record]]) -> list[list[Any]]:
    """The statements for and against each option: key, stance, passage (from 1), sentence, source."""
    return [
        [key, str(s["stance"]), s["document"], str(s["sentence"])[:TEXT], str(s["by"])]
        for key, some in found.items()
        for s in some
    ]


def other_detail(record: Record, number: Numbered) -> Detail:
    """The ranking of a row, if pages know nothing else about its family."""
    if record["status"] != "ok":
        return {"e": _error(record)}
    ranking = record.get("ranking") or {}
    ids, scores = ranking.get("ids", ())[:TOP], ranking.get("scores", ())[:TOP]
    return {"f": [[number(str(i)) for i in ids], _short(scores)]}


def _error(record: Record) -> list[str]:
    error = record["error"]
    return [str(error.get("type", "")), str(error.get("message", ""))[:TEXT]]


def _queries(trace: Record, names: Sequence[str], number: Numbered) -> list[list[Any]]:
    queries = zip(trace["queries"], trace["rankings"], strict=False)
    return [
        [
            q["form"],
            q["text"][:TEXT],
            -1 if q["hypothesis"] is None else q["hypothesis"],
            q["round"],
            [number(names[i]) for i in r["ids"][:HITS]],
        ]
        for q, r in queries
    ]


def _judged(judged: Record, names: Sequence[str], number: Numbered, kept: Iterable[str]) -> list[Any]:
    """Hypothesis, round, candidates and one letter per dimension for each; None if the call failed."""
    window = [names[i] for i in judged["window"]]
    letters = judged["verdicts"]
    if letters is None:
        return [judged["hypothesis"], judged["round"], [], None]
    wanted = set(window) if len(window) <= WINDOW else set(kept)
    pairs = [(number(c), v) for c, v in zip(window, letters, strict=True) if c in wanted]
    return [judged["hypothesis"], judged["round"], [c for c, _ in pairs], [v for _, v in pairs]]


def _precedent(near: Record, number: Numbered) -> list[Any]:
    whose = ", ".join(str(t) for t in (near.get("company"), near.get("filing_id")) if t)
    return [number(str(near["concept"])), whose, str(near.get("locus", ""))[:300]]


def _work(record: Record) -> Detail:
    """Model calls by stage, non-zero counters, and seconds."""
    trace = record["trace"]
    work: Detail = {"t": round(float(record["seconds"]), 3)}
    if trace["calls"]:
        work["m"] = [
            [c["stage"], int(c["ok"]), c["prompt_tokens"], c["completion_tokens"], round(c["seconds"], 2)]
            for c in trace["calls"]
        ]
    counters = {k: v for k, v in trace["counters"].items() if v and k not in ("retrievals", "pool")}
    if counters:
        work["c"] = counters
    return work


def _cut(value: Any) -> Any:
    """Texts of a plan, each at most :data:`TEXT` characters."""
    if isinstance(value, str):
        return value[:TEXT]
    if isinstance(value, Mapping):
        return {str(k): _cut(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_cut(v) for v in value]
    return value


def _short(values: Iterable[float]) -> list[float | None]:
    """A number with three digits; NaN becomes null."""
    return [None if v is None or v != v else float(f"{v:.3g}") for v in values]
