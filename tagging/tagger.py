"""What ``abduce tag`` does with a file of facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rich.console import Console
from rich.table import Table as RichTable

from ..cli.pages.fact import explain_fact
from ..data.domains import CLINICAL, DOMAINS, FINANCE, Domain
from ..data.example import Example
from ..data.facts import read_contexts, read_facts
from ..data.folder import DataFolder
from ..data.parts import make_parts
from ..documents.read import SUFFIXES, kind_of
from ..lm.use import models_for
from ..programs.methods import Parts, build
from ..programs.presets import name_of, scoped, scopes, spec_named
from ..programs.spec import Spec
from ..retrievers.base import Ranking
from ..retrievers.errors import InputError
from ..retrievers.files import write_text
from ..retrievers.precedents.loci import company_key
from ..retrievers.restricted import narrowed
from ..retrievers.store import open_index, read_manifest
from ..retrievers.taxonomy import Taxonomy
from ..signatures.dimensions import load_schema
from ..signatures.induce import induce_schema
from ..signatures.types import Fact
from .filing import NAMELESS, DocumentOptions, is_document
from .in_order import report_failures, tracked
from .precedents import PrecedentSource
from .tags_file import PROVENANCE, csv_text, locus_of, tag_cells

if TYPE_CHECKING:
    from .notes.coder import Coder

COLUMNS = (
    "fact_id",
    "locus",
    "value",
    "datatype",
    "concept",
    "label",
    "score",
    "margin",
    "runner_up_concepts",
    *PROVENANCE,
)
"""Columns of a tags CSV. ``margin`` is the score's distance to the next concept."""

TAXONOMY = FINANCE.taxonomy
"""What facts and documents are tagged with where no taxonomy is named."""

BM25 = {"kind": "bm25"}
"""The retriever where no index folder is given."""

BEST_VOTE = {"others": "precedents (others), locus", "own": "precedents (own)"}
"""The row that votes where only already-tagged facts and their scope are given: the best on the dev split."""

FACTS = frozenset({".jsonl", ".ndjson", ".csv", ".tsv"})
"""What facts are read from (a ``.gz`` may follow)."""

SHOWN = 40
"""Facts that the terminal's table shows."""


def find_taxonomy(name: str, folder: DataFolder) -> tuple[Taxonomy, Domain]:
    """A taxonomy by its name, or by the path of a file or an index folder.

    A release by its name is whole, also where the domain's evaluation keeps a part of it.

    The facts of a file, or of a folder whose taxonomy no domain knows, are taken for finance-like ones.

    Raises:
        InputError: it is neither.
    """
    for domain in DOMAINS.values():
        if domain.taxonomy == name:
            return folder.taxonomy(domain, whole=True), domain
    path = Path(name)
    if path.is_dir():
        opened = open_index(path, read_manifest(path)["kind"]).collection()
        if not isinstance(opened, Taxonomy):
            raise InputError("is an index of passages, not of a taxonomy", file=path)
        known_as = (d for d in DOMAINS.values() if d.taxonomy == opened.name)
        return opened, next(known_as, DOMAINS["finance"])
    if not path.suffix:
        known = ", ".join(d.taxonomy for d in DOMAINS.values())
        raise InputError(f"no taxonomy {name!r}: give a file, or one of {known}")
    return Taxonomy.load(path), DOMAINS["finance"]


def tag_facts(
    path: Path | None,
    *,
    taxonomy: str | None,
    program: str | None,
    top: int,
    out: Path | None,
    explain: str | None,
    contexts: Path | None,
    schema: str | None,
    data: str | None,
    skip_bad: bool,
    mentions: Path | None = None,
    document: DocumentOptions | None = None,
    scope: Literal["others", "own"] | None = None,
    lm: Mapping[str, Any] | None = None,
    cache: bool = True,
    concurrency: int = 32,
    console: Console | None = None,
) -> None:
    """Tag every fact of a file; write a CSV, print a table, or explain one fact.

    ``taxonomy`` None is :data:`TAXONOMY` for facts and documents; a note's must be named. ``program`` and
    ``scope`` are a row and whose already-tagged facts it may use, see :func:`choose_row`.

    Raises:
        InputError: whatever is wrong with the file, the taxonomy, the program or the output's place.
    """
    console = console or Console()
    notes = Console(stderr=True)
    if out is not None and out.suffix.lower() not in ("", ".csv"):
        raise InputError(
            f"tags are written as CSV, not as {out.suffix}: give a name that ends in .csv", file=out
        )
    folder = DataFolder.find(data)
    options = document or DocumentOptions()
    row = choose_row(program, scope, bool(options.precedents))
    needed = f"the program {row.name!r}" if row.spec.needs_model else None
    with models_for(lm or {}, needed, cache=cache):
        _tag(
            path, taxonomy, row, top, out, explain, contexts, schema, folder, skip_bad, mentions,
            options, concurrency if row.spec.needs_model else 1, console, notes,
        )  # fmt: skip


class Chosen(NamedTuple):
    """A row: its name, and what it is."""

    name: str
    spec: Spec


def choose_row(program: str | None, scope: Literal["others", "own"] | None, given: bool = False) -> Chosen:
    """The row that tags.

    Args:
        program: its name; None: ``locus``, or the vote of the ``given`` precedents (the row of that scope
            that is best on the dev split).
        scope: whose already-tagged facts it may use; None: as the row has it, ``own`` where none is named.
        given: whether the user gives already-tagged facts.

    Raises:
        InputError: no such program, or precedents or a scope for one that uses none.
    """
    try:
        if program is None and given:
            name = BEST_VOTE[scope or "own"]
            return Chosen(name, spec_named(name))
        name = program or "locus"
        spec = spec_named(name)
        if (given or scope) and not scopes(spec):
            option = "--precedents" if given else "--precedent-scope"
            raise InputError(f"{option}: the program {name!r} uses no already-tagged facts")
        if scope is None:
            return Chosen(name, spec)
        changed = scoped(spec, scope)
        return Chosen(name if changed == spec else name_of(changed) or f"{name} [{scope}]", changed)
    except ValueError as e:
        raise InputError(str(e)) from e


def _tag(
    path: Path | None,
    taxonomy: str | None,
    row: Chosen,
    top: int,
    out: Path | None,
    explain: str | None,
    contexts: Path | None,
    schema: str | None,
    folder: DataFolder,
    skip_bad: bool,
    mentions: Path | None,
    options: DocumentOptions,
    concurrency: int,
    console: Console,
    notes: Console,
) -> None:
    """:func:`tag_facts` with its models at hand."""
    if mentions is not None:
        from .notes.table import tag_note

        for name, given in (("--explain", explain), ("--contexts", contexts), ("--skip-bad", skip_bad)):
            if given:
                raise InputError(f"{name} is for facts files, not for a note with --mentions")
        options.check_unused("a note with --mentions")
        if taxonomy is None:
            raise InputError(f"--mentions needs the release to code in: give --taxonomy {CLINICAL.taxonomy}")
        at_hand = partial(_coder, taxonomy, folder, row, schema, options)
        tag_note(path, mentions, at_hand, top, out, console)
        return
    taxonomy = taxonomy or TAXONOMY
    found, domain = find_taxonomy(taxonomy, folder)
    source = options.source(folder, domain)
    others = "others" in scopes(row.spec) and domain.companies
    if path is not None and is_document(path):
        ready = partial(_method, row, found, domain, schema, index=taxonomy, numbers=True)
        kind = read_manifest(taxonomy)["kind"] if Path(taxonomy).is_dir() else BM25["kind"]
        setup = kind if schema is None else f"{kind}, schema {schema}"
        asked = replace(options, concurrency=concurrency, others=others)
        asked.tag(path, row.name, source, ready, found, domain, setup, explain, top, out, console)
        return
    if path is not None and kind_of(path) not in FACTS:
        kinds = f"{', '.join(sorted(FACTS))} (facts), {', '.join(sorted(SUFFIXES))} (documents)"
        raise InputError(f"is none of {kinds}", file=path)
    options.check_unused()
    bad: list[InputError] | None = [] if skip_bad else None
    if path is None:
        split = next(iter(domain.splits))
        notes.print(f"Facts: {domain.name} {split} of {folder}", markup=False, highlight=False)
        examples = folder.facts(domain, split, bad)
    else:
        known = None if contexts is None else read_contexts(contexts)
        examples = list(read_facts(path, known, bad))
    for problem in bad or ():
        notes.print(f"skipped: {problem}", markup=False, highlight=False, soft_wrap=True)
    if bad:
        notes.print(f"{len(bad)} bad facts were skipped", markup=False)
    if not examples:
        raise InputError("has no facts", file=path)
    facts = [e.inputs["fact"] for e in examples]
    nameless = next((f for f in facts if not company_key(f.company or "")), None) if others else None
    if nameless is not None:
        raise InputError(f"fact {nameless.fact_id!r} {NAMELESS} a field 'company'", file=path)
    source = source.for_facts(facts) if source is not None else None
    method, parts = _method(row, found, domain, schema, source, taxonomy)
    if explain is not None:
        chosen = next((e for e in examples if e.id == explain), None)
        if chosen is None:
            raise InputError(f"no fact {explain!r}", file=path, field="fact_id")
        fact = chosen.inputs["fact"]
        console.print(explain_fact(fact, method(fact=fact), parts, row.name, chosen.gold, top))
        return
    ranked = _run(method, examples, concurrency, console)
    if out is not None:
        lines = (tag_cells(fact, ranking, found, parts.serializer, top) for fact, ranking in ranked)
        write_text(out, csv_text(COLUMNS, lines))
        console.print(f"{len(ranked):,} facts tagged: {out}", markup=False, highlight=False)
    else:
        console.print(_table(ranked, found, parts))
        if len(ranked) > SHOWN:
            console.print(f"... and {len(ranked) - SHOWN:,} more; --out FILE.csv writes all", markup=False)


def _method(
    row: Chosen,
    found: Taxonomy,
    domain: Domain,
    schema: str | None,
    precedents: PrecedentSource | None = None,
    index: str = "",
    numbers: bool = False,
) -> tuple[Any, Parts]:
    """A program and what it is made of; ``index`` names the taxonomy's index folder, if it is one.

    ``numbers``: all values are numbers, so those without a known datatype can only have concepts of the
    domain's numeric ones.

    Raises:
        InputError: no such schema, or a program that cannot tag.
    """
    try:
        own_schema = None if schema is None else load_schema(schema)
        if own_schema is None and found.name != domain.taxonomy:
            own_schema = induce_schema(found, found.name)
        stored = bool(index) and Path(index).is_dir()
        settings = {"kind": read_manifest(index)["kind"], "index": index} if stored else BM25
        parts = make_parts(found, domain, settings, own_schema, precedents)
        if numbers:
            parts = replace(parts, retriever=narrowed(parts.retriever, found, domain.numeric))
        if scopes(row.spec) and precedents is None:
            raise InputError(f"the program {row.name!r} needs already-tagged facts: give --precedents PATH")
    except ValueError as e:
        raise InputError(str(e)) from e
    if "others" in scopes(row.spec) and domain.companies and precedents is not None:
        precedents.check_named()
    if precedents is not None and scopes(row.spec):
        precedents.tell_unknown(found)
    if row.spec.needs_gold:
        raise InputError(f"{row.name!r} is an oracle: it needs the gold concept and cannot tag")
    return build(row.spec, parts), parts


def _coder(name: str, folder: DataFolder, row: Chosen, schema: str | None, options: DocumentOptions) -> Coder:
    """What codes the mentions of a note: a program over the taxonomy of a name, or over some of its codes."""
    from .notes.coder import Coder
    from .notes.within import build_within

    found, domain = find_taxonomy(name, folder)
    source = options.source(folder, domain)
    method, parts = _method(row, found, domain, schema, source, name)
    within = partial(build_within, row.spec, parts)
    if domain.load is None or not Path(name).is_dir():  # it is whole
        return Coder(found, method, within, domain.fact_constants)
    return Coder(found, method, within, domain.fact_constants, partial(_release, folder, domain))


def _release(folder: DataFolder, domain: Domain) -> Taxonomy | None:
    """Every code of a domain's release, or None where the data folder has no inventory."""
    try:
        return folder.taxonomy(domain, whole=True)
    except InputError:
        return None


def _run(
    method: Any, examples: Sequence[Example], concurrency: int, console: Console
) -> list[tuple[Fact, Ranking]]:
    notes = Console(stderr=True)
    facts = [e.inputs["fact"] for e in examples]
    failures: list[tuple[str, str]] = []
    predictions = tracked(method, facts, concurrency, failures, console)
    ranked = []
    fallbacks = 0
    for fact, prediction in zip(facts, predictions, strict=True):
        if prediction is not None:
            fallbacks += bool(prediction.trace.counters["datatype_fallback"])
        ranked.append((fact, Ranking.of([]) if prediction is None else prediction.ranking))
    report_failures(failures, notes)
    if fallbacks:
        notes.print(
            f"{fallbacks} facts have no datatype that the taxonomy declares: the full index was searched"
        )
    return ranked


def _table(ranked: Sequence[tuple[Fact, Ranking]], taxonomy: Taxonomy, parts: Parts) -> RichTable:
    table = RichTable(title=f"{taxonomy.name}: {len(ranked):,} facts")
    for name, width in (("fact", None), ("value", 14), ("locus", 40), ("concept", 50), ("score", None)):
        table.add_column(name, max_width=width, overflow="fold" if name != "locus" else "ellipsis")
    for fact, ranking in ranked[:SHOWN]:
        best = ranking.ids[0] if len(ranking) else ""
        score = f"{ranking.scores[0]:.3f}" if len(ranking) else ""
        cells = (fact.fact_id, fact.value, locus_of(fact, parts.serializer), best, score)
        table.add_row(*(_plain(c) for c in cells))
    return table


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
