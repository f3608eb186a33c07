"""Records without redundant parts: fused pools, final rankings, repeated ids.

:func:`shortened` leaves out only what :func:`whole` restores exactly; it checks this, and keeps any other
part.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from ...programs.base import fuse_trace
from ...programs.config import FHSConfig
from ...programs.fusion import Pool, final_ranking
from ...programs.trace import Query, Trace
from ...retrievers.base import Ranking
from .packing import exactly, floats

Record = dict[str, Any]

FUSED = "fused"
"""Stands for a pool that is the fusion of the trace's rankings."""


def shortened(record: Mapping[str, Any]) -> Record:
    """The record without what :func:`whole` restores. Lists of numbers may be numpy arrays."""
    trace = record.get("trace")
    if not isinstance(trace, Mapping) or "rankings" not in trace:
        return dict(record)
    short = {**record, "trace": {**trace}}
    pool = _fused(trace) if trace.get("pool") else None
    if pool is not None and _same_pool(pool, trace):
        short["trace"]["pool"] = FUSED
    else:
        pool = None
    ranking = record.get("ranking")
    if isinstance(ranking, Mapping):
        short["ranking"] = _short_ranking(ranking, trace, pool)
    return short


def whole(record: Record) -> Record:
    """The record given to :func:`shortened` (changed in place)."""
    trace = record.get("trace")
    if not isinstance(trace, dict) or "rankings" not in trace:
        return record
    pool = None
    if trace.get("pool") == FUSED:
        pool = _fused(trace)
        assert pool is not None
        places = {id_: i for i, id_ in enumerate(trace["ids"])}
        trace["pool"] = {
            "ids": [places[i] for i in pool.ids],
            "fused": pool.fused.tolist(),
            "scores": pool.scores.tolist(),
        }
    ranking = record.get("ranking")
    if isinstance(ranking, dict):
        record["ranking"] = _whole_ranking(ranking, trace, pool)
    return record


def _fused(trace: Mapping[str, Any]) -> Pool | None:
    """The fusion of a trace's rankings with its own settings; None if it has none."""
    config = _config(orjson.dumps(trace["settings"], option=orjson.OPT_SORT_KEYS))
    if config is None:
        return None
    ids = trace["ids"]
    rankings = [
        Ranking([ids[p] for p in r["ids"]], _NONE, {}, r["candidates"], r["fell_back"])
        for r in trace["rankings"]
    ]
    queries = [Query(q["text"], q["form"], q["hypothesis"], q["round"]) for q in trace["queries"]]
    try:
        return fuse_trace(Trace(queries=queries, rankings=rankings), config).cut(config.K)
    except (ValueError, KeyError):
        return None


_NONE = Ranking.of([]).scores


@lru_cache(maxsize=64)
def _config(settings: bytes) -> FHSConfig | None:
    known = {k: v for k, v in orjson.loads(settings).items() if k in FHSConfig.model_fields}
    try:
        return FHSConfig.model_validate({"beta": 0.0} | known)
    except ValueError:
        return None


def _same_pool(pool: Pool, trace: Mapping[str, Any]) -> bool:
    given, ids = trace["pool"], trace["ids"]
    return (
        [ids[p] for p in given["ids"]] == list(pool.ids)
        and list(given["fused"]) == pool.fused.tolist()
        and list(given["scores"]) == pool.scores.tolist()
    )


def _short_ranking(ranking: Mapping[str, Any], trace: Mapping[str, Any], pool: Pool | None) -> Record:
    ids, scores = list(ranking["ids"]), _list(ranking.get("scores"))
    parts = {name: _list(values) for name, values in (ranking.get("components") or {}).items()}
    support = parts.get("support")
    if pool is not None and support is not None:
        config = _config(orjson.dumps(trace["settings"], option=orjson.OPT_SORT_KEYS))
        assert config is not None
        by_id = dict(zip(ids, support, strict=True))
        made = final_ranking(pool, by_id, config.beta)
        if _ranking_record(made) == {**ranking, "ids": ids, "scores": scores, "components": parts}:
            values = list(dict.fromkeys(support))
            return {
                "values": exactly(values),
                "support": [values.index(by_id[i]) for i in pool.ids],
            }
    names = trace["ids"]
    for place, r in enumerate(trace["rankings"]):
        if [names[p] for p in r["ids"]] == ids and list(r["scores"]) == scores:
            return {**ranking, "ids": place, "scores": None, "components": parts}
    places = {id_: i for i, id_ in enumerate(names)}
    if all(i in places for i in ids):
        return {**ranking, "ids": None, "places": [places[i] for i in ids]}
    return dict(ranking)


def _whole_ranking(ranking: Record, trace: Mapping[str, Any], pool: Pool | None) -> Record:
    names = trace["ids"]
    if pool is not None and "values" in ranking:
        config = _config(orjson.dumps(trace["settings"], option=orjson.OPT_SORT_KEYS))
        assert config is not None
        values = floats(ranking["values"])
        support = {i: values[v] for i, v in zip(pool.ids, ranking["support"], strict=True)}
        return _ranking_record(final_ranking(pool, support, config.beta))
    if isinstance(ranking.get("ids"), int):
        same = trace["rankings"][ranking["ids"]]
        return {**ranking, "ids": [names[p] for p in same["ids"]], "scores": same["scores"]}
    if "places" in ranking:
        ids = [names[p] for p in ranking.pop("places")]
        return {**ranking, "ids": ids}
    return ranking


def _ranking_record(ranking: Ranking) -> Record:
    return {
        "ids": list(ranking.ids),
        "scores": ranking.scores.tolist(),
        "components": {name: values.tolist() for name, values in ranking.components.items()},
        "candidates": ranking.candidates,
        "fell_back": ranking.fell_back,
    }


def _list(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else values
