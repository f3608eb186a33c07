"""The data of one or several runs for a browser page (``abduce report --html``)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...documents.plain_cells import cells_of
from ...retrievers.collection import Collection, Item
from ...signatures.types import Fact, Question, SourceContext
from ...web.page import packed, page
from ..metrics import DEPTH, grades_of, rank_of
from ..runs.run import Run
from .breakdown import COMPARED, failure_table, group_fields, groups_of, headline
from .details import PASSAGE, Detail, fact_detail, other_detail, question_detail
from .sources import Sources

CHUNK = 32
"""Examples whose details are unpacked together."""

GROUPS = 12
"""Groups of a field that a breakdown shows; the rest is one group."""

KS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, DEPTH)
"""The k at which recall is drawn."""

CONFIDENCE = ("confidence", "probability")
"""Components of a ranking that say how sure its first concept is; else its margin to the second does."""

POINTS = 80
"""Points of a risk-coverage curve."""


Floats = npt.NDArray[np.float64]


@dataclass
class _Read:
    """One row's records, read in one pass."""

    ranks: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    """By (seed, example): the rank of the gold answer in each of its rankings; 0: not in it."""
    sure: list[tuple[float, float]] = field(default_factory=list)
    """Confidence of the first concept, and whether it is right."""
    details: dict[int, Detail] = field(default_factory=dict)


class _Numbers(dict[str, int]):
    """Ids numbered in order of first use."""

    def __missing__(self, id_: str) -> int:
        self[id_] = number = len(self)
        return number


def report_html(run: Run, sources: Sources, baseline: str | None = None, served: bool = False) -> str:
    """The page of a run, or of several joined runs.

    Args:
        run: the run; its records must be available (a folder, or ``keep=True``). For unknown kinds of
            records, the details are their rankings.
        sources: the inputs of its examples.
        baseline: the row that others are compared with; default the run's own.
        served: the run may still be running, and the page asks its server for updates.

    Raises:
        InputError: no such baseline, or records that cannot be read.
    """
    data, packs = report_data(run, sources, baseline)
    return page("report", data["title"], data | {"served": served}, packs, served)


def report_data(
    run: Run, sources: Sources, baseline: str | None = None
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The data of :func:`report_html`: the JSON that is read first, and the packs. Same errors."""
    more = sources.groups
    run = replace(run, examples=[replace(e, groups={**e.groups, **more.get(e.id, {})}) for e in run.examples])
    baseline = baseline or run.baseline or (run.rows[0].name if run.rows else None)
    if baseline is not None:
        run[baseline]
    summary = run.summary()["rows"]
    marks = run.marks(baseline) if baseline and len(run.rows) > 1 else {}
    for entry, row in zip(summary, run.rows, strict=True):
        entry["done"], entry["of"] = int(row.done.sum()), int(row.done.size)
        entry["marks"] = {m: by[row.name] for m, by in marks.items() if by.get(row.name)}
        known = row.seconds[~np.isnan(row.seconds)]
        entry["seconds"] = float(known.mean()) if len(known) else None
    numbers = _Numbers()
    read = {row.name: _read(run, row.name, numbers) for row in run.rows}
    failures = failure_table(run)
    data = {
        "title": ", ".join(t for t in (run.experiment, run.data) if t) or "run",
        "experiment": run.experiment,
        "data": run.data,
        "family": run.codec,
        "baseline": baseline,
        "measures": run.measures,
        "headline": headline(run) if run.measures else "",
        "rows": summary,
        "compare": list(_compared(run, baseline)),
        "ks": KS,
        "curves": {name: curve for name, one in read.items() if (curve := _curve(one))},
        "risk": {name: points for name, one in read.items() if (points := _risk(one.sure))},
        "breakdowns": list(_breakdowns(run)),
        "failures": [] if failures is None else [[str(v) for v in line] for line in failures.rows],
        "notes": list(sources.notes),
        "count": len(run.examples),
        "chunk": CHUNK,
    }
    packs = {"examples": packed(_examples(run, sources)), "values": packed(_values(run, read))}
    for number, chunk in enumerate(_chunks(run, read, sources, numbers)):
        packs[f"details-{number}"] = packed(chunk)
    packs["items"] = packed(_items(numbers, sources))
    return data, packs


def _read(run: Run, name: str, numbers: _Numbers) -> _Read:
    places = {e.id: i for i, e in enumerate(run.examples)}
    read = _Read()
    firsts: dict[int, int] = {}
    for record in run.records(name):
        place, seed = places.get(record["id"]), record["seed"]
        if place is None:
            continue
        gold = run.examples[place].gold
        golds = list(grades_of(gold)) if run.codec != "question" else []
        if run.codec != "question":
            read.ranks[seed, place] = _ranks(record, gold)
            if (sure := _sure(record, gold)) is not None:
                read.sure.append(sure)
        if firsts.get(place, seed) < seed:
            continue  # the details are those of the first seed that is done
        firsts[place] = seed
        if run.codec == "taxonomy":
            read.details[place] = fact_detail(record, numbers.__getitem__, golds)
        elif run.codec == "question":
            read.details[place] = question_detail(record, numbers.__getitem__)
        else:
            read.details[place] = other_detail(record, numbers.__getitem__)
    return read


def _ranks(record: Mapping[str, Any], gold: Any) -> list[int]:
    if record["status"] != "ok":
        return [0]
    rankings = record.get("alternatives") or [record["ranking"]]
    return [rank_of(r["ids"], gold, DEPTH) or 0 for r in rankings]


def _sure(record: Mapping[str, Any], gold: Any) -> tuple[float, float] | None:
    if record["status"] != "ok" or not len(record["ranking"]["ids"]):
        return None
    ranking = record["ranking"]
    parts, scores = ranking.get("components") or {}, ranking["scores"]
    known = next((parts[c] for c in CONFIDENCE if len(parts.get(c, ()))), None)
    second = scores[1] if len(scores) > 1 else 0.0
    return float(known[0] if known else scores[0] - second), float(rank_of(ranking["ids"], gold, 1) == 1)


def _curve(read: _Read) -> list[float]:
    """Recall at each of :data:`KS`: means over finished examples and seeds."""
    if not read.ranks or not any(any(r) for r in read.ranks.values()):
        return []
    each = list(read.ranks.values())
    return [
        round(sum(sum(0 < r <= k for r in ranks) / len(ranks) for ranks in each) / len(each), 4) for k in KS
    ]


def _risk(sure: Sequence[tuple[float, float]]) -> list[list[float]]:
    """[coverage, precision] as examples of lower and lower confidence are accepted; equal ones together."""
    if not sure:
        return []
    values = np.array(sorted(sure, key=lambda pair: -pair[0]))
    last = np.append(values[1:, 0] != values[:-1, 0], True)
    accepted = np.arange(1, len(values) + 1)
    precision = np.cumsum(values[:, 1]) / accepted
    places = np.flatnonzero(last)
    if len(places) > POINTS:
        places = places[np.linspace(0, len(places) - 1, POINTS).round().astype(int)]
    return [[round(float((p + 1) / len(values)), 4), round(float(precision[p]), 4)] for p in places]


def _compared(run: Run, baseline: str | None) -> Iterator[dict[str, Any]]:
    """Rows of the same name in several runs against the first run's; or else every row against the
    baseline.
    """
    for a, b in _pairs(run, baseline):
        found = run.compare(a, b)
        yield {
            "a": a,
            "b": b,
            "measures": {
                m: [d.mean, d.low, d.high, d.p] for m, d in found.differences.items() if not np.isnan(d.p)
            },
        }


def _pairs(run: Run, baseline: str | None) -> list[tuple[str, str]]:
    same: dict[str, list[str]] = defaultdict(list)
    for name in (row.name for row in run.rows):
        same[run.sources[name][1] if name in run.sources else name].append(name)
    again = [(other, names[0]) for names in same.values() for other in names[1:]]
    if again or baseline is None:
        return again
    return [
        (row.name, baseline) for row in run.rows if row.name != baseline and _shared(run, row.name, baseline)
    ]


def _shared(run: Run, a: str, b: str) -> bool:
    return bool(set(run[a].values) & set(run[b].values))


def _breakdowns(run: Run) -> Iterator[dict[str, Any]]:
    wanted = [m for m in COMPARED if m in run.measures] or run.measures[:1]
    for name in group_fields(run):
        masks = groups_of(run, name, GROUPS)
        rows: dict[str, dict[str, list[list[float | None]]]] = {}
        for row in run.rows:
            measures = [m for m in wanted if m in row.values]
            if not measures:
                continue
            split = [np.where(k, row.per_example(m), np.nan) for m in measures for k in masks.values()]
            bounds = [[_digits(v) for v in (i.mean, i.low, i.high)] for i in run.bootstrap.intervals(split)]
            n = len(masks)
            rows[row.name] = {m: bounds[i * n : (i + 1) * n] for i, m in enumerate(measures)}
        groups = [[value, int(mask.sum())] for value, mask in masks.items()]
        yield {"field": name, "measures": wanted, "groups": groups, "rows": rows}


def _digits(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)


def _examples(run: Run, sources: Sources) -> dict[str, Any]:
    """Columns with one entry per example: id, gold answer, one line of text, and its groups."""
    fields = list(dict.fromkeys(name for e in run.examples for name in e.groups))
    return {
        "ids": [e.id for e in run.examples],
        "golds": [", ".join(grades_of(e.gold)) for e in run.examples],
        "values": [_value(e.id, sources) for e in run.examples],
        "lines": [_line(e.id, sources) for e in run.examples],
        "groups": {name: [e.groups.get(name, "") for e in run.examples] for name in fields},
    }


def _value(id_: str, sources: Sources) -> str:
    fact = sources.facts.get(id_)
    return "" if fact is None else fact.value[:120]


def _line(id_: str, sources: Sources) -> str:
    if (question := sources.questions.get(id_)) is not None:
        return question.text[:160]
    fact = sources.facts.get(id_)
    if fact is None:
        return ""
    if fact.modality == "table":
        return " / ".join(h for h in (fact.row_header, fact.column_header) if h)[:160]
    start, end = fact.mention_start or 0, fact.mention_end or 0
    return " ".join(fact.context.text[max(0, start - 60) : end + 60].split())


def _values(run: Run, read: Mapping[str, _Read]) -> dict[str, Any]:
    """By row and measure the value of each example (its mean over seeds); ``ranks``: of the gold answer."""
    values = {row.name: {m: [_digits(v) for v in row.per_example(m)] for m in row.values} for row in run.rows}
    return {
        "values": values,
        "ranks": {name: _first_ranks(one, len(run.examples)) for name, one in read.items() if one.ranks},
    }


def _first_ranks(read: _Read, n: int) -> list[int | None]:
    """The rank of each example under the first finished seed; None if there is none."""
    found: list[int | None] = [None] * n
    for (_, place), ranks in sorted(read.ranks.items(), reverse=True):
        found[place] = ranks[0]
    return found


def _chunks(
    run: Run, read: Mapping[str, _Read], sources: Sources, numbers: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    for start in range(0, len(run.examples), CHUNK):
        places = range(start, min(start + CHUNK, len(run.examples)))
        ids = [run.examples[i].id for i in places]
        facts = [sources.facts[i] for i in ids if i in sources.facts]
        yield {
            "contexts": {f.context.context_id: _context(f.context) for f in facts},
            "facts": {f.fact_id: _fact(f) for f in facts},
            "questions": {i: _question(sources.questions[i]) for i in ids if i in sources.questions},
            "rows": {
                name: {str(i): one.details[i] for i in places if i in one.details}
                for name, one in read.items()
            },
        }


def _context(context: SourceContext) -> dict[str, Any]:
    rows = cells_of(context.text) if context.modality == "table" else None
    if rows is None:
        return {"text": context.text}
    return {"table": rows, "above": context.preceding_text[-600:]}


def _fact(fact: Fact) -> dict[str, Any]:
    kept = fact.model_dump(mode="json", exclude_none=True, exclude={"context", "fact_id"})
    return kept | {"context": fact.context.context_id}


def _question(question: Question) -> dict[str, Any]:
    return {"text": question.text, "options": dict(question.options), "subject": question.subject}


def _items(numbers: Mapping[str, int], sources: Sources) -> dict[str, list[str]]:
    """The meaning of each number: id, label (or title), definition (or content) and datatype."""
    ids = list(numbers)
    if sources.corpus is not None:
        passages = [_known(sources.corpus, i) for i in ids]
        return {
            "ids": ids,
            "labels": [p.title if p else "" for p in passages],
            "texts": [p.content[:PASSAGE] if p else "" for p in passages],
            "datatypes": [],
        }
    concepts = [_known(sources.taxonomy, i) for i in ids]
    return {
        "ids": ids,
        "labels": [c.label if c else "" for c in concepts],
        "texts": [c.definition[:600] if c else "" for c in concepts],
        "datatypes": [(c.datatype or "") if c else "" for c in concepts],
    }


def _known(collection: Collection[Item] | None, id_: str) -> Item | None:
    return collection[id_] if collection is not None and id_ in collection else None
