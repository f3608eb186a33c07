"""The parts of a tagger: taxonomy, program, precedents, calibration."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.columns import Columns
from ..data.domains import DOMAINS
from ..data.folder import DataFolder
from ..data.kept_index import kept_release
from ..data.taxonomies import domain_of, find_taxonomy
from ..programs.presets import learns, scopes
from ..retrievers.base import Retriever, Where
from ..retrievers.errors import InputError
from ..retrievers.filters import passing
from ..retrievers.precedents.loci import company_key
from ..retrievers.precedents.stored import StoredPrecedents
from ..retrievers.restricted import Make, narrowed, not_among
from ..retrievers.store import read_manifest
from ..retrievers.taxonomy import Taxonomy
from ..signatures.dimensions import DimensionSchema, load_schema
from ..signatures.induce import induce_schema
from ..signatures.types import Fact
from .calibration import Calibration, Thresholds, bundled_calibration, precedents_fingerprint
from .inputs import DEFAULT
from .models import ModelFolder, bundled_model
from .precedents import PrecedentSource, bundled_precedents, domain_precedents
from .row import BEST_TRAINED, BEST_VOTE, Row, Scope, best_row, named_row

if TYPE_CHECKING:
    from ..programs.methods import Parts
    from ..programs.spec import Spec
    from .notes.coder import Coder

RELEASES = {domain.taxonomy: domain for domain in DOMAINS.values()}

BM25 = {"kind": "bm25"}
"""The retriever where no index folder is given."""

Tell = Callable[[str], None]
"""Called with each thing that the user should know, in one line."""


class Ready:
    """A row's program over all concepts, and one over the concepts of numbers, for numbers with an unknown
    datatype.

    Args:
        row, parts: the row and its parts.
        narrow: makes retrievers that only return concepts of numbers.

    Raises:
        ValueError: it cannot be built from these parts.
    """

    def __init__(self, row: Row, parts: Parts, narrow: Make) -> None:
        from ..programs.methods import build_program

        self.row, self.parts = row, parts
        self._numbers = build_program(row.spec, replace(parts, retriever=narrow))

    @cached_property
    def words(self) -> Any:
        """The program over all concepts."""
        from ..programs.methods import build_program

        return build_program(self.row.spec, self.parts)

    def seen(self, facts: Sequence[Fact], golds: Mapping[str, str]) -> dict[str, dict[str, bool]]:
        """What others' precedents have of the facts with known concepts, by fact id; empty without
        precedents.
        """
        if self.parts.precedents is None:
            return {}
        index = self.parts.precedents()
        return {f.fact_id: index.seen(f, golds[f.fact_id]) for f in facts if f.fact_id in golds}

    def program(self, fact: Fact) -> Any:
        """The program for a fact."""
        from .numeric import is_number  # reading numbers takes a while to import, and notes have none

        return self._numbers if is_number(fact.value) else self.words


class Setup:
    """The parts of a :class:`~.tagger.Tagger`; see its arguments.

    ``index`` is the folder of a named index, ``kept`` that of a release's stored one; either may be empty.
    ``source`` gives the precedents, if any.

    Raises:
        InputError: no such taxonomy, program or schema; settings that do not fit one another.
    """

    def __init__(
        self,
        taxonomy: str | Path | Taxonomy,
        program: str | Spec | None,
        precedents: Sequence[Path],
        scope: Scope | None,
        schema: str | Path | DimensionSchema | None,
        retriever: Retriever | Mapping[str, Any] | None,
        folder: DataFolder,
        calibration: Calibration | str | Path | None,
        company: str | None,
        model: str | Path | None = None,
        columns: Columns = DEFAULT,
    ) -> None:
        self.columns = columns
        self.named = None if program is None else named_row(program, scope, bool(precedents))
        if self.named is not None and self.named.spec.needs_gold:
            raise InputError(f"{self.named.name!r} is an oracle: it needs the gold concept and cannot tag")
        self.scope, self.folder, self.company = scope, folder, company
        self.index = self.kept = ""
        if isinstance(taxonomy, Taxonomy):
            self.taxonomy, self.domain = taxonomy, domain_of(taxonomy.name)
        elif retriever is None and str(taxonomy) in RELEASES:
            self.domain = RELEASES[str(taxonomy)]
            self.taxonomy, self.kept = kept_release(self.domain, folder)
        else:
            self.taxonomy, self.domain = find_taxonomy(taxonomy, folder, columns.names)
            self.index = str(taxonomy) if os.path.isdir(taxonomy) else ""
        self.schema = _schema(schema)
        self.own_schema = "" if self.schema is None else self.schema.name
        if isinstance(schema, str | Path):
            self.own_schema = str(schema)
        self.retriever = retriever if retriever is not None else self._stored()
        self.own_calibration = calibration
        self.source = self._source(precedents)
        self.model = ModelFolder(model) if model is not None else self._bundled_model()
        if scope is not None and self.source is None:
            raise InputError(f"--precedent-scope: no already-tagged facts fit {self.taxonomy.name}")

    def _stored(self) -> Mapping[str, Any]:
        if self.kept:
            return {"kind": "bm25", "index": self.kept}
        return {"kind": read_manifest(self.index)["kind"], "index": self.index} if self.index else BM25

    def _source(self, precedents: Sequence[Path]) -> PrecedentSource | None:
        """The user's precedents, those of the data folder, and the bundled ones, as the row needs them."""
        if self.named is not None and precedents:
            return PrecedentSource(precedents, None, self.domain, columns=self.columns)
        if self.named is not None and not scopes(self.named.spec):
            return None
        if self.named is not None:
            of_folder = domain_precedents(self.folder, self.domain)
            if of_folder is not None:
                return of_folder
        stored = bundled_precedents(self.domain.name)
        if stored is not None and not _fits(stored, self.taxonomy):
            stored = None
        if not precedents and stored is None:
            return None
        given = bool(precedents)
        return PrecedentSource(
            precedents, None, self.domain, given=given, stored=stored, columns=self.columns
        )

    def _bundled_model(self) -> ModelFolder | None:
        """The bundled model, if it is for this taxonomy."""
        return bundled_model(self.domain.name) if self.taxonomy.name == self.domain.taxonomy else None

    def leaves_out(self, row: Row) -> bool:
        """Whether a row leaves out precedents of a fact's company."""
        return "others" in scopes(row.spec) and self.domain.companies

    @cached_property
    def numbers(self) -> int:
        """How many concepts a number with an unknown datatype can have."""
        mask = passing(self.taxonomy, Where(exclude=not_among(self.taxonomy, self.domain.numeric)))
        return len(self.taxonomy) if mask is None else int(mask.sum())

    @property
    def name(self) -> str:
        """The name of the search setup, as :class:`~.calibration.Calibration` records it."""
        kind = type(self.retriever).__name__
        if isinstance(self.retriever, Mapping):
            kind = self.retriever.get("kind", "bm25")
        return f"{kind}, schema {self.own_schema}" if self.own_schema else kind

    def thresholds(self, row: Row, tell: Tell) -> Thresholds | None:
        """The confidence from which tags may be accepted, if the row's model gives the confidence."""
        if self.model is None or not learns(row.spec):
            return None
        scope = next(iter(scopes(row.spec)))
        learned = self.model()
        if scope not in learned.confidence:
            tell("no confidence is given: the model learned from too few companies or filings to tell")
            return None
        many = sum(map(len, learned.groups))
        whose = "companies" if self.domain.companies else "documents"
        return Thresholds(f"{many:,} {whose} that the model left out", learned.accepted.get(scope, {}))

    def calibration(self, row: Row, tell: Tell) -> Calibration | None:
        """The calibration that applies to a row, or None.

        Raises:
            InputError: the user's calibration was fitted for something else.
        """
        own, program = self.own_calibration, row.name
        if own is None and learns(row.spec):
            return None  # the model gives the confidence itself
        if isinstance(own, str | Path):
            known: Calibration | None = Calibration.load(Path(own))
        else:
            known = own if own is not None else bundled_calibration(program)
        if known is None:
            tell(f"no confidence is given: {program!r} has no calibration; abduce calibrate makes one")
            return None
        if reason := known.misfit(program, self.taxonomy, self.name):
            if own is not None:
                raise InputError(reason, file=None if isinstance(own, Calibration) else own)
            tell(f"no confidence is given: the calibration of {program!r} {reason}")
            return None
        if known.precedents and known.precedents != precedents_fingerprint(self.source):
            tell(
                f"the confidence was fitted ({known.split}) with other precedents than these: it is a guide, "
                "no probability; abduce calibrate fits one to yours"
            )
        return known

    def ready(self, facts: Sequence[Fact], tell: Tell, shown: int = 0, company: str | None = None) -> Ready:
        """The program for these facts. Another copy of their filing among the precedents never votes.

        ``shown`` is how many precedents its traces have; 0: the program's default. ``company`` is the user's
        name for the facts' company.

        Raises:
            InputError: it cannot tag.
        """
        source, row = self.source, self.named
        if source is not None:
            others = self.scope == "others" or (row is not None and self.leaves_out(row))
            source = source.for_facts(facts, company, tell, others)
        if row is None:
            index = None if source is None else source()
            given = source is not None and source.given
            learned = self.model is not None
            companies = self._companies(facts, source)
            row = best_row(facts, index, companies, self.scope, given, learned)
            self._tell_row(row, facts, source, tell)
        elif self.model is None and learns(row.spec):
            raise InputError(f"the program {row.name!r} needs a trained model: give --model FOLDER")
        elif source is None and scopes(row.spec):
            raise InputError(f"the program {row.name!r} needs already-tagged facts: give --precedents PATH")
        unnamed = any(not company_key(f.company or "") for f in facts)
        if self.leaves_out(row) and unnamed and self._companies(facts, source):
            tell(
                "whose facts these are is not known: no company's precedents are left out, only those of the "
                "same filing, as far as its tables tell; --company NAME says it"
            )
        if source is not None and scopes(row.spec):
            if self.leaves_out(row) and not unnamed:
                source.check_named()
            source.tell_unknown(self.taxonomy)
            if shown and hasattr(row.spec.resolve(), "shown"):
                row = Row(row.name, row.spec.changed({"shown": shown}))
            return self._build(row, source, facts)
        return self._build(row, None, facts)

    def _companies(self, facts: Sequence[Fact], source: PrecedentSource | None) -> bool:
        """Whether companies have an effect: the domain has companies, and a fact or a precedent names one."""
        if not self.domain.companies or source is None:
            return self.domain.companies
        return source.companies or any(company_key(f.company or "") for f in facts)

    def _tell_row(self, row: Row, facts: Sequence[Fact], source: PrecedentSource | None, tell: Tell) -> None:
        """Note which row was chosen, and what would be better."""
        if source is None:
            better = "already-tagged facts (--precedents) would be better"
        elif source.stored is None:
            better = "those of other companies are not used: none that come with abduce fit this taxonomy"
        else:
            better = f"{source.stored.about} that come with abduce vote"
            if row.name in (BEST_VOTE["others"], BEST_TRAINED):
                better += "; the company's own tagged filings (--precedents) would be better"
        tell(f"tagged by {row.name!r}: {better}")

    def coder(self, facts: Sequence[Fact], tell: Tell) -> Coder:
        """The coder for the mentions of a note.

        Raises:
            InputError: the program cannot tag.
        """
        from .notes.coder import Coder, build_within

        ready = self.ready(facts, tell)
        within = partial(build_within, ready.row.spec, ready.parts)
        partly = self.domain.load is not None and self.index
        release = self._release if partly else lambda: None
        constants = self.domain.fact_constants
        calibration = self.calibration(ready.row, tell)
        thresholds = self.thresholds(ready.row, tell) if calibration is None else calibration.accepts
        return Coder(
            self.taxonomy, ready.words, within, constants, release, ready.row.name, calibration, thresholds
        )

    def _release(self) -> Taxonomy | None:
        """Every code of the domain's release, or None if the data folder has no inventory."""
        try:
            return self.folder.taxonomy(self.domain, whole=True)
        except InputError:
            return None

    @property
    def splits(self) -> bool:
        """Whether a fact's tag depends only on facts of its source context: a named program without
        already-tagged facts or a trained model.
        """
        return self.named is not None and self.source is None and not learns(self.named.spec)

    @cached_property
    def _parts(self) -> Parts:
        """The parts that programs share for all facts; retrievers are built once."""
        from ..data.parts import make_parts

        schema = self.schema
        if schema is None and self.taxonomy.name != self.domain.taxonomy:
            schema = induce_schema(self.taxonomy, self.taxonomy.name)
        settings = self.retriever if isinstance(self.retriever, Mapping) else BM25
        parts = replace(make_parts(self.taxonomy, self.domain, settings, schema), trained=self.model)
        if isinstance(self.retriever, Mapping):
            return parts
        at_hand = self.retriever
        return replace(parts, retriever=lambda changes: at_hand)

    @property
    def searched(self) -> Retriever:
        """The retriever for a search by words."""
        return self._parts.retriever({})

    def _build(self, row: Row, source: PrecedentSource | None, facts: Sequence[Fact]) -> Ready:
        try:
            parts = replace(self._parts, precedents=source, facts=facts)
            return Ready(row, parts, narrowed(parts.retriever, self.taxonomy, self.domain.numeric))
        except InputError:
            raise
        except ValueError as e:
            raise InputError(str(e)) from e


def _fits(stored: StoredPrecedents, taxonomy: Taxonomy) -> bool:
    """Whether the taxonomy has most concepts of an index."""
    concepts = stored.index.concepts
    return 2 * sum(concept in taxonomy for concept in concepts) >= len(concepts)


def _schema(schema: str | Path | DimensionSchema | None) -> DimensionSchema | None:
    if schema is None or isinstance(schema, DimensionSchema):
        return schema
    try:
        return load_schema(str(schema))
    except InputError:
        raise
    except ValueError as e:
        raise InputError(str(e)) from e
