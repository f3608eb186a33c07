"""Codes for the mentions of a note, and the exclusion notes that apply to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...programs.methods import Parts, build_program
from ...programs.spec import Spec
from ...retrievers.base import Hit, Retriever
from ...retrievers.errors import InputError
from ...retrievers.restricted import Within
from ...retrievers.taxonomy import Taxonomy
from ...signatures.tokenize import tok_set
from ..calibration import Calibration, Thresholds, confidence_of
from .excludes import Conflict, Exclusion, Meeting, billable_children, evidence, exclusions
from .note import NoteMention


@dataclass(frozen=True)
class Coder:
    """Codes mentions.

    Args:
        taxonomy: the codes.
        program: ranks them for a fact.
        within: a program that ranks only the given ids.
        constants: fields that every fact of the domain has.
        release: returns all codes of the release, if ``taxonomy`` may contain only a part of them; else None.
            Called if a code of the user's is not in the taxonomy.
        name: the program's row.
        calibration: maps scores to confidence; None: the program's own confidence, if any.
        thresholds: the confidence from which codes may be accepted; None: there is no confidence.
    """

    taxonomy: Taxonomy
    program: Any
    within: Callable[[Sequence[str]], Any]
    constants: Mapping[str, str] = field(default_factory=dict)
    release: Callable[[], Taxonomy | None] = lambda: None
    name: str = ""
    calibration: Calibration | None = None
    thresholds: Thresholds | None = None


@dataclass
class Coded:
    """A mention with its code.

    ``hits`` is the ranking, or all billable codes of the user's category, ranked ones first; unranked ones
    have the score ``nan``. ``told`` says whether the mention distinguishes codes at all; if it does not, no
    code is chosen. ``confidence`` is the probability, in [0, 1], that the first code is right. It is None if
    unknown, or if the code or its category is the user's own. ``asked`` says what happened to a code of the
    user's. ``clashes`` are the code's exclusion notes that name other chosen codes of the note. ``near`` are
    its Excludes1 notes that name alternatives of other mentions.
    """

    mention: NoteMention
    hits: Sequence[Hit]
    told: bool
    evidence: str = ""
    asked: str = ""
    excluded: Sequence[Exclusion] = ()
    clashes: Sequence[Conflict] = ()
    near: Sequence[Conflict] = ()
    confidence: float | None = None

    @property
    def code(self) -> str:
        """The chosen code, or an empty text."""
        return self.hits[0].id if self.told and self.hits else ""

    @property
    def warnings(self) -> list[str]:
        """One line per Excludes1 note that names other chosen codes: never use both."""
        return [clash.line for clash in self.clashes if clash.exclusion.kind == 1]

    @property
    def remarks(self) -> list[str]:
        """One line per Excludes2 note that names other chosen codes: both may be used."""
        return [clash.line for clash in self.clashes if clash.exclusion.kind == 2]


def code_mentions(mentions: Sequence[NoteMention], coder: Coder, top: int = 10) -> list[Coded]:
    """Code every mention, then find exclusion notes between the codes, at all levels.

    If the user gives a category, only its billable codes are ranked. If the user gives a billable code, it
    stays the choice and its rank is reported.

    Args:
        mentions: of one note.
        coder: what codes them.
        top: how many codes of a mention count as its alternatives.

    Raises:
        InputError: a code that is neither in the inventory nor one of its categories.
    """
    wanted = [None if m.code is None else _wanted(m, m.code, coder) for m in mentions]
    coded = [_code(m, w, coder) for m, w in zip(mentions, wanted, strict=True)]
    chosen = _meeting(coded, lambda one: [one.code] if one.code else [])
    others = _meeting(coded, lambda one: [h.id for h in one.hits[1:top] if one.code])
    for one in coded:
        if one.code:
            one.excluded = exclusions(one.code, coder.taxonomy[one.code].metadata)
            one.clashes = chosen.conflicts(one.excluded)
            own = {h.id for h in one.hits[:top]} | set(chosen.places)
            one.near = others.conflicts((e for e in one.excluded if e.kind == 1), but=own)
    return coded


def _meeting(coded: Sequence[Coded], codes: Callable[[Coded], Sequence[str]]) -> Meeting:
    places: dict[str, list[str]] = {}
    for one in coded:
        for code in codes(one):
            places.setdefault(code, []).append(one.mention.fact.fact_id)
    return Meeting(places)


def _wanted(mention: NoteMention, code: str, coder: Coder) -> tuple[str, list[str]]:
    """The user's code as written in the inventory, and its billable codes if it is a category."""
    taxonomy = coder.taxonomy
    found = _find(code, taxonomy)
    if found is None:
        message = f"{code} is neither one of the {len(taxonomy):,} codes of {taxonomy.name} nor a category"
        release = coder.release()
        if release is not None and _find(code, release) is not None:
            message += (
                f"; the whole release ({len(release):,} codes) has it: index {release.name}, not clinical"
            )
        raise InputError(message, file=mention.file, line=mention.line, field="code")
    return found


def _find(code: str, taxonomy: Taxonomy) -> tuple[str, list[str]] | None:
    """A code as written in the taxonomy, and its billable codes if it is a category; None if neither."""
    asked = code if code in taxonomy or "." in code or len(code) <= 3 else f"{code[:3]}.{code[3:]}"
    if asked in taxonomy:
        return asked, []
    children = billable_children(asked, taxonomy)
    return (asked.rstrip("-."), children) if children else None


def _code(mention: NoteMention, wanted: tuple[str, list[str]] | None, coder: Coder) -> Coded:
    if wanted is not None and wanted[1]:
        return _among(mention, wanted[0], wanted[1], coder)
    prediction = coder.program(fact=mention.fact)
    hits = ranked(prediction)
    told = bool(hits)
    asked = ""
    if wanted is not None:
        code = wanted[0]
        own = next((h for h in hits if h.id == code), None)
        place = f"rank {own.rank}" if own else f"not among the first {len(hits)}"
        asked = f"{code}: billable, " + (place if told else "not tested: no word of the mention is known")
        hits = [own or Hit(code, math.nan, len(hits) + 1), *(h for h in hits if h.id != code)]
        told = True
    sure = confidence_of(prediction, mention.fact, coder.calibration) if told and not asked else None
    coded = Coded(mention, hits, told, asked=asked, confidence=sure)
    return _with_evidence(coded, coder.taxonomy, prediction)


def _among(mention: NoteMention, category: str, children: Sequence[str], coder: Coder) -> Coded:
    """Code a mention with only the billable codes of a category."""
    n = len(children)
    prediction = coder.within(children)(fact=mention.fact)
    hits = ranked(prediction)
    told = n == 1 or bool(hits)
    asked = f"{category}: a category with {n:,} billable code{'s' if n > 1 else ''}, "
    asked += "ranked among these alone" if told else "and no word of the mention tells them apart"
    have = {hit.id for hit in hits}
    rest = [code for code in children if code not in have]
    hits += [Hit(code, math.nan, place) for place, code in enumerate(rest, len(hits) + 1)]
    coded = Coded(mention, hits, told, asked=asked)
    return _with_evidence(coded, coder.taxonomy, prediction)


def _with_evidence(coded: Coded, taxonomy: Taxonomy, prediction: Any) -> Coded:
    """Add the part of the code's text that shares most with the mention, or else the nearest precedent."""
    if coded.code:
        concept = taxonomy[coded.code]
        parts = [concept.label, *concept.definition.split(" ; ")]
        coded.evidence = evidence(tok_set(coded.mention.fact.value), parts, tok_set)
        near = prediction.trace.notes.get("precedents", ())
        found = next((p for p in near if p["concept"] == coded.code), None)
        if not coded.evidence and found is not None:
            coded.evidence = f"coded so before: {found['locus']} ({found['fact_id']})"
    return coded


def ranked(prediction: Any) -> list[Hit]:
    """The hits of a prediction with some support. Hits with zero in every ranking behind it only fill up the
    list and are left out.
    """
    rankings = prediction.trace.rankings or [prediction.ranking]
    found = {h.id for ranking in rankings for h in ranking if h.score != 0.0}
    hits = [hit for hit in prediction.ranking if hit.id in found]
    return [Hit(h.id, h.score, rank, h.components) for rank, h in enumerate(hits, 1)]


def build_within(spec: Spec, parts: Parts, ids: Sequence[str]) -> Any:
    """Build the program of a spec over a subset of the taxonomy's concepts.

    Args:
        spec, parts: as for :func:`~abduce.programs.methods.build_program`.
        ids: at least one concept of the taxonomy.
    """
    whole = parts.taxonomy
    some = Taxonomy([whole[id_] for id_ in ids], whole.name, whole.indexed)

    def retriever(changes: Mapping[str, Any]) -> Retriever:
        return Within(parts.retriever(changes), len(whole), ids)

    return build_program(spec, replace(parts, retriever=retriever, taxonomy=some))
