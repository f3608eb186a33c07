"""The data of a review page: a document with its tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...documents.view import view_document
from ...retrievers.taxonomy import Taxonomy
from ...signatures.types import Concept, Fact
from ...web.page import packed, page
from ..alike import numbered
from ..calibration import Thresholds
from ..decisions import Decision
from ..tag import Tag
from ..tags import Tags
from ..tags_file import locus_of
from .taxonomy_pack import taxonomy_pack
from .why import why

CANDIDATES = 20
"""Concepts of a ranking that a page offers."""

CHUNK = 64
"""Facts whose reasons are unpacked together."""


class _Numbers(dict[str, int]):
    def __missing__(self, id_: str) -> int:
        self[id_] = number = len(self)
        return number


def review_data(
    tags: Tags, path: Path | None, decisions: Iterable[Decision] = ()
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The data of a review page: the JSON that is read first, and the packs.

    Args:
        tags: the tags of one document or file of facts; with traces, the page explains them.
        path: the document; None, or a file that is not a page, is shown as tables and passages.
        decisions: the decisions so far.

    Raises:
        InputError: the document cannot be read.
    """
    facts = [tag.fact for tag in tags]
    view = view_document(path if tags.of_document else None, facts)
    numbers = _Numbers()
    alike, _ = numbered(facts)
    columns: dict[str, list[Any]] = {
        "ids": [f.fact_id for f in facts],
        "values": [f.value for f in facts],
        "loci": [locus_of(f, tags.serializer)[:400] for f in facts],
        "datatypes": [f.datatype or "" for f in facts],
        "rows": [_row(f) for f in facts],
        "candidates": [[numbers[i] for i in t.ranking.ids[:CANDIDATES]] for t in tags],
        "scores": [[_short(s) for s in t.ranking.scores[:CANDIDATES]] for t in tags],
        "sure": [None if t.confidence is None else round(t.confidence, 4) for t in tags],
        "evidence": [t.evidence[:400] for t in tags],
        "errors": [t.error[:400] for t in tags],
        "alike": alike,
        "contexts": _numbered([f.context.context_id for f in facts]),
    }
    packs = {"facts": packed(columns), "document": packed(view.blocks)}
    for start in range(0, len(facts), CHUNK):
        part = tags.tags[start : start + CHUNK]
        packs[f"why-{start // CHUNK}"] = packed(
            [why(t.trace, numbers.__getitem__) if t.trace else {} for t in part]
        )
    known = taxonomy_pack(tags.taxonomy)
    packs["items"] = packed(_items(list(numbers), tags.taxonomy))
    packs["taxonomy"] = packed(known)
    known_ids = {f.fact_id for f in facts}
    data = {
        "title": f"Review of {tags.name}",
        "name": tags.name,
        "taxonomy": tags.taxonomy.name,
        "program": tags.program,
        "count": len(facts),
        "chunk": CHUNK,
        "thresholds": _thresholds(tags.thresholds),
        "calibrated": "" if tags.thresholds is None else tags.thresholds.fitted_on,
        "key": _key(tags),
        "notes": list(tags.notes),
        "missing": len(view.missing),
        "decisions": [d.record() for d in decisions if d.fact_id in known_ids],
    }
    return data, packs


def review_html(
    tags: Tags, path: Path | None, decisions: Iterable[Decision] = (), served: bool = False
) -> str:
    """The review page of a document; see :func:`review_data`. A ``served`` page saves at its server. Any
    other page saves in the browser's storage, from which it can export a file.
    """
    data, packs = review_data(tags, path, decisions)
    return page("review", data["title"], data | {"served": served}, packs, served)


def _row(fact: Fact) -> int:
    return -1 if fact.row_index is None else fact.row_index


def _numbered(names: Sequence[str]) -> list[int]:
    places: dict[str, int] = {}
    return [places.setdefault(name, len(places)) for name in names]


def _short(value: float) -> float | None:
    return None if value != value else float(f"{value:.4g}")


def _items(ids: Sequence[str], taxonomy: Taxonomy) -> Mapping[str, list[str]]:
    found = [_known(taxonomy, i) for i in ids]
    return {
        "ids": list(ids),
        "labels": [c.label if c else "" for c in found],
        "texts": [c.definition[:600] if c else "" for c in found],
        "datatypes": [(c.datatype or "") if c else "" for c in found],
    }


def _known(taxonomy: Taxonomy, id_: str) -> Concept | None:
    return taxonomy[id_] if id_ in taxonomy else None  # noqa: SIM401 (a taxonomy has no get)


def _thresholds(thresholds: Thresholds | None) -> list[list[float]]:
    """[precision, lowest confidence] of each precision that was reached."""
    if thresholds is None:
        return []
    return [[wanted, least] for wanted, least in thresholds.least.items() if least is not None]


def _key(tags: Sequence[Tag]) -> str:
    """The key under which a browser stores a page's decisions; the same for every page of the same facts."""
    from ...data.example import fingerprint

    return fingerprint([t.fact.fact_id for t in tags])
