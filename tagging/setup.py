"""What tags, put together: taxonomy, program, precedents, calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.folder import DataFolder
from ..data.taxonomies import domain_of, find_taxonomy
from ..programs.presets import scopes
from ..programs.spec import Spec
from ..retrievers.base import Retriever, Where
from ..retrievers.errors import InputError
from ..retrievers.filters import passing
from ..retrievers.restricted import Make, narrowed, not_among
from ..retrievers.store import read_manifest
from ..retrievers.taxonomy import Taxonomy
from ..signatures.dimensions import DimensionSchema, load_schema
from ..signatures.induce import induce_schema
from ..signatures.types import Fact
from .calibration import Calibration, bundled_calibration, precedents_print
from .inputs import Given
from .numeric import is_number
from .precedents import PrecedentSource, domain_precedents
from .row import Row

if TYPE_CHECKING:
    from ..programs.methods import Parts
    from .notes.coder import Coder

BM25 = {"kind": "bm25"}
"""The retriever where no index folder is given."""

Tell = Callable[[str], None]
"""Called with each thing that the user should know, in one line."""


class Ready:
    """A row's program: over all concepts, or over those that numbers can have where a number has no known
    datatype.

    Args:
        spec, parts: the row and what it is made of.
        narrow: makes retrievers that keep to the concepts of numbers there.

    Raises:
        ValueError: it cannot be built of these parts.
    """

    def __init__(self, spec: Spec, parts: Parts, narrow: Make) -> None:
        from ..programs.methods import build

        self.spec, self.parts = spec, parts
        self._numbers = build(spec, replace(parts, retriever=narrow))

    @cached_property
    def words(self) -> Any:
        """The program over all concepts."""
        from ..programs.methods import build

        return build(self.spec, self.parts)

    def program(self, fact: Fact) -> Any:
        """The one that a fact is for."""
        return self._numbers if is_number(fact.value) else self.words


class Setup:
    """What a :class:`~.tagger.Tagger` is made of; see its arguments.

    ``index`` is the folder of the taxonomy's index, or empty; ``source`` gives the precedents, if any.

    Raises:
        InputError: no such taxonomy or schema, an unreadable calibration.
    """

    def __init__(
        self,
        row: Row,
        folder: DataFolder,
        taxonomy: str | Path | Taxonomy,
        precedents: Sequence[Path],
        schema: str | Path | DimensionSchema | None,
        retriever: Retriever | Mapping[str, Any] | None,
        calibration: Calibration | str | Path | None,
        company: str | None,
    ) -> None:
        if row.spec.needs_gold:
            raise InputError(f"{row.name!r} is an oracle: it needs the gold concept and cannot tag")
        self.row, self.folder, self.company = row, folder, company
        self.index = ""
        if isinstance(taxonomy, Taxonomy):
            self.taxonomy, self.domain = taxonomy, domain_of(taxonomy.name)
        else:
            self.taxonomy, self.domain = find_taxonomy(taxonomy, folder)
            self.index = str(taxonomy) if Path(taxonomy).is_dir() else ""
        self.schema = _schema(schema)
        self.own_schema = (
            schema if isinstance(schema, str) else "" if self.schema is None else self.schema.name
        )
        self.retriever = retriever if retriever is not None else self._stored()
        self.own_calibration = calibration
        if precedents:
            self.source: PrecedentSource | None = PrecedentSource(precedents, None, self.domain)
        else:
            self.source = domain_precedents(folder, self.domain)

    def _stored(self) -> Mapping[str, Any]:
        return {"kind": read_manifest(self.index)["kind"], "index": self.index} if self.index else BM25

    @property
    def leaves_out(self) -> bool:
        """Whether precedents of a fact's company are left out, so that it must be known."""
        return "others" in scopes(self.row.spec) and self.domain.companies

    @property
    def numbers(self) -> int:
        """How many concepts a number without a known datatype can have."""
        mask = passing(self.taxonomy, Where(exclude=not_among(self.taxonomy, self.domain.numeric)))
        return len(self.taxonomy) if mask is None else int(mask.sum())

    @property
    def name(self) -> str:
        """What is searched with, as :class:`~.calibration.Calibration` knows it."""
        kind = type(self.retriever).__name__
        if isinstance(self.retriever, Mapping):
            kind = self.retriever.get("kind", "bm25")
        return f"{kind}, schema {self.own_schema}" if self.own_schema else kind

    def calibration(self, tell: Tell) -> Calibration | None:
        """The calibration that holds here, or None.

        Raises:
            InputError: the user's own was fitted for something else.
        """
        own, program = self.own_calibration, self.row.name
        if isinstance(own, str | Path):
            known: Calibration | None = Calibration.load(Path(own))
        else:
            known = own if own is not None else bundled_calibration(program)
        if known is None:
            return None
        if reason := known.misfit(program, self.taxonomy, self.name):
            if own is not None:
                raise InputError(reason, file=None if isinstance(own, Calibration) else own)
            tell(f"no confidence is given: the calibration of {program!r} {reason}")
            return None
        if known.precedents and known.precedents != precedents_print(self.source):
            tell(
                f"the confidence was fitted ({known.split}) with other precedents than these: it is a guide, "
                "no probability; abduce calibrate fits one to yours"
            )
        return known

    def ready(self, given: Given, tell: Tell) -> Ready:
        """The program for these facts: another copy of their filing among the precedents never votes.

        Raises:
            InputError: it cannot tag.
        """
        if self.source is None:
            return self._build(None)
        return self._build(self.source.for_facts(given.facts, self.company, tell))

    def coder(self) -> Coder:
        """What codes the mentions of a note.

        Raises:
            InputError: the program cannot tag.
        """
        from .notes.coder import Coder
        from .notes.within import build_within

        ready = self._build(self.source)
        within = partial(build_within, self.row.spec, ready.parts)
        partly = self.domain.load is not None and self.index
        release = {"release": self._release} if partly else {}
        return Coder(self.taxonomy, ready.words, within, self.domain.fact_constants, **release)

    def _release(self) -> Taxonomy | None:
        """Every code of the domain's release, or None where the data folder has no inventory."""
        try:
            return self.folder.taxonomy(self.domain, whole=True)
        except InputError:
            return None

    def _build(self, source: PrecedentSource | None) -> Ready:
        from ..data.parts import make_parts

        spec = self.row.spec
        try:
            schema = self.schema
            if schema is None and self.taxonomy.name != self.domain.taxonomy:
                schema = induce_schema(self.taxonomy, self.taxonomy.name)
            settings = self.retriever if isinstance(self.retriever, Mapping) else BM25
            parts = make_parts(self.taxonomy, self.domain, settings, schema, source)
            if not isinstance(self.retriever, Mapping):
                at_hand = self.retriever
                parts = replace(parts, retriever=lambda changes: at_hand)
            if scopes(spec) and source is None:
                raise InputError(
                    f"the program {self.row.name!r} needs already-tagged facts: give --precedents PATH"
                )
            if source is not None and scopes(spec):
                if self.leaves_out:
                    source.check_named()
                source.tell_unknown(self.taxonomy)
            return Ready(spec, parts, narrowed(parts.retriever, self.taxonomy, self.domain.numeric))
        except InputError:
            raise
        except ValueError as e:
            raise InputError(str(e)) from e


def _schema(schema: str | Path | DimensionSchema | None) -> DimensionSchema | None:
    if schema is None or isinstance(schema, DimensionSchema):
        return schema
    try:
        return load_schema(str(schema))
    except InputError:
        raise
    except ValueError as e:
        raise InputError(str(e)) from e
