"""What ``abduce tag`` does with a document: its facts, their tags with confidence and evidence, a score."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Collection as Values
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

from ..data.domains import Domain
from ..data.folder import DataFolder
from ..documents.document import Document
from ..documents.read import SUFFIXES, kind_of, read_document
from ..documents.source import open_bytes
from ..programs.methods import Parts
from ..retrievers.base import Ranking, Where
from ..retrievers.errors import InputError
from ..retrievers.files import write_text
from ..retrievers.filters import passing
from ..retrievers.precedents.loci import company_key
from ..retrievers.restricted import not_among
from ..retrievers.taxonomy import Taxonomy
from ..signatures.types import Fact
from .calibration import Calibration, bundled_calibration, features, precedents_print
from .in_order import report_failures, tracked
from .precedents import PrecedentSource, domain_precedents
from .score import Golds, print_score
from .shared_rows import shared_evidence
from .tags_file import PROVENANCE, csv_text, locus_of, tag_cells

COLUMNS = (
    "fact_id",
    "locus",
    "value",
    "datatype",
    "concept",
    "label",
    "score",
    "margin",
    "confidence",
    "source_of_evidence",
    "runner_up_concepts",
    "labelled",
    *PROVENANCE,
)
"""Columns of a document's tags CSV. ``margin`` is the score's distance to the next concept; ``confidence`` is
the calibrated probability that ``concept`` is right (empty where there is no calibration for the program and
the taxonomy). ``labelled`` is ``no`` where a row of a table has no label of its own (its ``row_header`` then
only stands for one), else empty. A reviewed file is a file of precedents: correct ``concept``, or empty it
where the fact should not be used."""

NAMELESS = "does not say whose it is, and scope 'others' leaves out precedents of its company: give"

SHOWN = 40
"""Facts that the terminal's table shows."""


@dataclass(frozen=True)
class TaggedFact:
    """One fact with its ranking, the evidence behind its first concept, and how sure that is."""

    fact: Fact
    ranking: Ranking
    evidence: str
    confidence: float | None

    @property
    def concept(self) -> str:
        return self.ranking.ids[0] if len(self.ranking) else ""


def is_document(path: Path) -> bool:
    """Whether a file is a document to read facts from, not a file of facts: HTML, Markdown, a workbook, or a
    CSV file without a ``fact_id`` column."""
    kind = kind_of(path)
    if kind in (".csv", ".tsv"):
        with open_bytes(path) as stream:
            return b"fact_id" not in stream.read(4096).split(b"\n", 1)[0]
    return kind in SUFFIXES


@dataclass(frozen=True)
class DocumentOptions:
    """What ``abduce tag`` may be told about a document.

    Args:
        gold: score against the document's own tags.
        precedents: files of already-tagged facts; none: those of the data folder, where they are needed.
        calibration: a calibration file; none: the bundled one of the program.
        company: whose document it is, where it does not say so itself.
        each_fact: ask the program for every fact, not once for cells of a row that share their evidence.
        concurrency: values in flight, for a program that calls a model.
        others: the program leaves out precedents of the document's company, so it must be known.
    """

    gold: bool = False
    precedents: Sequence[Path] = ()
    calibration: Path | None = None
    company: str | None = None
    each_fact: bool = False
    concurrency: int = 1
    others: bool = False

    def source(self, folder: DataFolder, domain: Domain) -> PrecedentSource | None:
        """Where precedents come from."""
        if self.precedents:
            return PrecedentSource(self.precedents, None, domain)
        return domain_precedents(folder, domain)

    def _calibration(
        self,
        program: str,
        taxonomy: Taxonomy,
        setup: str,
        source: PrecedentSource | None,
        notes: list[str],
    ) -> Calibration | None:
        """The calibration that holds here, or None; ``notes`` gets what there is to say of it.

        Raises:
            InputError: the user's own was fitted for something else.
        """
        known = Calibration.load(self.calibration) if self.calibration else bundled_calibration(program)
        if known is None:
            return None
        if reason := known.misfit(program, taxonomy, setup):
            if self.calibration:
                raise InputError(reason, file=self.calibration)
            notes.append(f"no confidence is given: the calibration of {program!r} {reason}")
            return None
        if known.precedents and known.precedents != precedents_print(source):
            notes.append(
                f"the confidence was fitted ({known.split}) with other precedents than these: it is a guide, "
                "no probability; abduce calibrate fits one to yours"
            )
        return known

    def check_unused(self, what: str = "facts files") -> None:
        """Raise InputError for an option that only documents take; ``what`` is there instead."""
        given = {"--gold": self.gold, "--company": self.company, "--each-fact": self.each_fact}
        given |= {"--calibration": self.calibration is not None}
        for name, value in given.items():
            if value:
                raise InputError(f"{name} is for documents (HTML, Markdown, CSV, Excel), not for {what}")

    def tag(
        self,
        path: Path,
        program: str,
        source: PrecedentSource | None,
        method: Callable[..., tuple[Callable[..., Any], Parts]],
        taxonomy: Taxonomy,
        domain: Domain,
        setup: str,
        explain: str | None,
        top: int,
        out: Path | None,
        console: Console,
    ) -> None:
        """Read a document and tag it; see :func:`tag_document`.

        Args:
            source: the precedents; those of another copy of the document are told and left out.
            method: makes the program and its parts, given ``precedents``.
            domain: says which datatypes numbers have.
            setup: what it searches with, see :class:`~.calibration.Calibration`.

        Raises:
            InputError: ``others``, and nobody says whose the document is.
        """
        document = read_document(path, self.company)
        if self.others and not company_key(document.company or ""):
            raise InputError(f"the document {NAMELESS} --company NAME", file=path)
        known_here = source.for_facts(document.facts, self.company) if source is not None else None
        ready = partial(method, precedents=known_here)
        year = document.taxonomy_year
        if year and year not in taxonomy.name and re.search(r"20\d\d", taxonomy.name):
            document.notes.append(
                f"the document uses the {year} taxonomy; it is tagged with {taxonomy.name}. Build the right "
                "one with: abduce data build us-gaap --from DIR"
            )
        if explain is not None:
            from ..cli.pages.fact import explain_fact

            fact = next((f for f in document.facts if f.fact_id == explain), None)
            if fact is None:
                raise InputError(f"no fact {explain!r}", file=path, field="fact_id")
            method, parts = ready()
            gold = document.gold.get(explain, "")
            console.print(explain_fact(fact, method(fact=fact), parts, program, gold, top))
            return
        known = self._calibration(program, taxonomy, setup, source, document.notes)
        tag_document(
            document,
            taxonomy,
            ready,
            calibration=known,
            gold=self.gold,
            each_fact=self.each_fact,
            top=top,
            out=out,
            console=console,
            concurrency=self.concurrency,
            searched=_numeric(taxonomy, domain),
        )


def _numeric(taxonomy: Taxonomy, domain: Domain) -> int:
    """How many concepts a number can have where its datatype is not known."""
    mask = passing(taxonomy, Where(exclude=not_among(taxonomy, domain.numeric)))
    return len(taxonomy) if mask is None else int(mask.sum())


def tag_document(
    document: Document,
    taxonomy: Taxonomy,
    ready: Callable[[], tuple[Callable[..., Any], Parts]],
    *,
    calibration: Calibration | None,
    gold: bool,
    each_fact: bool,
    top: int,
    out: Path | None,
    console: Console,
    concurrency: int = 1,
    searched: int,
) -> list[TaggedFact]:
    """Tag every fact of a document; write a CSV or print a table, and score where ``gold`` is set.

    Args:
        document: from :func:`abduce.documents.read.read_document`.
        taxonomy: what it is tagged with.
        ready: the program and what it is made of; called once the rest is known to be right.
        calibration: how its scores become probabilities.
        gold: print how often the document's own tags were found. No method sees them.
        each_fact: ask the program for every fact; else cells of one row that differ only in dates are asked
            for once.
        top: how many concepts are written a fact.
        out: a CSV file, written at the end in one step.
        concurrency: values in flight, for a program that calls a model.
        searched: how many concepts are searched for a value without a known datatype.

    Raises:
        InputError: ``gold`` without tags of the taxonomy in the document, or ``out`` cannot be written.
    """
    notes = Console(stderr=True)
    for line in document.notes:
        notes.print(f"note: {line}", markup=False, highlight=False, soft_wrap=True)
    golds = Golds.of(document, taxonomy) if gold else None
    if out is not None and not out.resolve().parent.is_dir():
        raise InputError("there is no such folder to write to", file=out)
    method, parts = ready()
    tagged = list(_tag(document.facts, method, calibration, each_fact, concurrency, console))
    if out is not None:
        write_text(out, to_csv(tagged, parts, top, document.unlabelled))
        console.print(f"{len(tagged):,} facts tagged: {out}", markup=False, highlight=False)
    else:
        console.print(_table(tagged, parts))
        if len(tagged) > SHOWN:
            console.print(f"... and {len(tagged) - SHOWN:,} more; --out FILE.csv writes all", markup=False)
    _tell_fallbacks(sum(t.ranking.fell_back for t in tagged), searched, parts.taxonomy, notes)
    if golds is not None:
        print_score(document, golds, tagged, parts.taxonomy, calibration, console)
    return tagged


def _tell_fallbacks(count: int, searched: int, taxonomy: Taxonomy, notes: Console) -> None:
    """Say how many values have no known datatype, and what was searched for them."""
    if not count:
        return
    what = "everything was searched"
    if searched < len(taxonomy):
        what = f"the {searched:,} of {len(taxonomy):,} concepts that numbers can have were searched"
    notes.print(f"{count:,} values have no datatype that could be told: {what}", soft_wrap=True)


def _tag(
    facts: Sequence[Fact],
    method: Callable[..., Any],
    calibration: Calibration | None,
    each_fact: bool,
    concurrency: int,
    console: Console,
) -> Sequence[TaggedFact]:
    groups = [[i] for i in range(len(facts))] if each_fact else shared_evidence(facts)
    found: list[TaggedFact | None] = [None] * len(facts)
    failures: list[tuple[str, str]] = []
    asked = [facts[group[0]] for group in groups]
    notes = Console(stderr=True)
    predictions = tracked(method, asked, concurrency, failures, console)
    for group, prediction in zip(groups, predictions, strict=True):
        for i in group:
            fact, ranking, sure = facts[i], Ranking.of([]), None
            if prediction is not None:
                ranking = prediction.ranking
                if calibration is not None:
                    sure = float(calibration.probability([features(ranking, fact.modality)])[0])
            evidence = "" if prediction is None else evidence_of(prediction)
            found[i] = TaggedFact(fact, ranking, evidence, sure)
    report_failures(failures, notes)
    return [t for t in found if t is not None]


def evidence_of(prediction: Any) -> str:
    """What the first concept rests on: the nearest precedent that has it, or the query that found it best."""
    ranking, trace = prediction.ranking, prediction.trace
    if not len(ranking):
        return ""
    best = ranking.ids[0]
    for near in trace.notes.get("precedents", ()):
        if near["concept"] == best:
            filing, value = str(near["filing_id"]), "same value" if near["same_value"] else ""
            if str(near["fact_id"]).startswith(filing):
                filing = ""  # it says no more than the fact's id
            whose = ", ".join(str(t) for t in (near["company"], filing, value) if t)
            return f"precedent {near['fact_id']}{f' ({whose})' if whose else ''}: {near['locus']}"
    ranks = [(r.rank_of(best) or 10**9, q.form) for q, r in zip(trace.queries, trace.rankings, strict=False)]
    rank, form = min(ranks, default=(10**9, ""))
    return f"{form} query, rank {rank}" if rank < 10**9 else ""


def to_csv(
    tagged: Sequence[TaggedFact], parts: Parts, top: int, unlabelled: Values[str] = frozenset()
) -> str:
    """The tags as CSV text with :data:`COLUMNS`; ``unlabelled`` are ids of facts in rows without a label."""
    return csv_text(
        COLUMNS,
        (
            {
                **tag_cells(one.fact, one.ranking, parts.taxonomy, parts.serializer, top),
                "confidence": None if one.confidence is None else round(one.confidence, 4),
                "source_of_evidence": one.evidence,
                "labelled": "no" if one.fact.fact_id in unlabelled else "",
            }
            for one in tagged
        ),
    )


def _table(tagged: Sequence[TaggedFact], parts: Parts) -> RichTable:
    from rich.markup import escape

    table = RichTable(title=f"{parts.taxonomy.name}: {len(tagged):,} facts")
    for name, width in (("value", 14), ("locus", 44), ("concept", 52), ("confidence", None)):
        table.add_column(name, max_width=width, overflow="fold" if name != "locus" else "ellipsis")
    for one in tagged[:SHOWN]:
        sure = "" if one.confidence is None else f"{one.confidence:.2f}"
        table.add_row(
            *(escape(c) for c in (one.fact.value, locus_of(one.fact, parts.serializer), one.concept, sure))
        )
    return table
