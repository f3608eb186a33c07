"""The family of taxonomy experiments: facts, concepts, and the rows of the FHS paper."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field

from ...data.domains import Domain
from ...data.example import Example, fingerprint
from ...data.folder import DataFolder, domain_named, file_fingerprint
from ...data.kept import Chosen, FactsOf
from ...data.own import OwnData, own_fingerprint
from ...data.parts import make_parts
from ...programs.methods import Parts, build_program, check_replay, method_named
from ...programs.presets import learns, scopes, spec_named
from ...programs.shared_rows import shared_evidence
from ...programs.spec import Spec
from ...programs.stages import FACT_STAGES
from ...retrievers.base import Where
from ...retrievers.errors import InputError
from ...retrievers.settings import BuiltRetrievers, check_settings, outside_modules, sealed
from ...retrievers.taxonomy import Taxonomy
from ...signatures.dimensions import DimensionSchema
from ...signatures.prompting import load_prompts
from ...signatures.tokenize import tok_set
from ...signatures.types import Fact
from ...tagging.models import TrainedOnce, bundled_model
from ...tagging.precedents import PrecedentSource, domain_precedents
from ..report.breakdown import label_length
from ..runs.code_version import code_version
from ..runs.replay import Logs, Recorded
from ..runs.row import Row
from ..runs.seeded import Seeded
from ..runs.state import load_state, state_fingerprint
from ..runs.taxonomy_codec import TaxonomyCodec
from .experiment import Experiment, ExperimentTable, RowTable
from .family import Bench, Session

log = logging.getLogger(__name__)

_OWN_KEYS = ("generator", "verifier", "prompts", "vocabulary", "verdicts", "replay", "state", "selector")


class TaxonomyRowTable(RowTable):
    """A row; some settings may be outside its ``set``."""

    generator: str = ""
    verifier: str = ""
    prompts: str = ""
    vocabulary: str = ""
    verdicts: str = ""
    replay: str = ""
    state: str = ""
    selector: bool | Literal["one-token"] | None = None


class TaxonomyTable(ExperimentTable):
    """``defaults`` apply to every row that starts from a program with these settings, before the row's
    changes. ``data`` gives the user's own facts and taxonomy, instead of those of ``domain``.
    """

    domain: str = "finance"
    split: str = "test"
    data: OwnData | None = None
    defaults: dict[str, Any] = Field(default_factory=dict)
    row: Sequence[TaxonomyRowTable] = Field(min_length=1)

    def written(self) -> dict[str, Any]:
        found = super().written()
        found.pop("defaults", None)  # every row states them
        return found

    def located(self, folder: Path) -> Self:
        return self if self.data is None else self.model_copy(update={"data": self.data.located(folder)})


TaxonomyExperiment = Experiment[TaxonomyTable, Spec]


class TaxonomyFamily:
    """Facts to concepts. A file has a ``domain``, a ``split`` and rows of
    :data:`abduce.programs.presets.PRESETS`.
    """

    table = TaxonomyTable

    def spec(self, row: RowTable, start: Spec | None, table: TaxonomyTable) -> Spec:
        if not row.program and start is None:
            raise ValueError("give either program or base")
        spec = spec_named(row.program).changed(table.defaults) if start is None else start
        return spec.changed({k: v for k in _OWN_KEYS if (v := getattr(row, k)) not in ("", None)})

    def open(
        self,
        experiment: TaxonomyExperiment,
        folder: DataFolder,
        split: str | None,
        bad: list[InputError] | None,
    ) -> TaxonomyBench:
        if experiment.table.data is not None:
            return _open_own(experiment.table.data, experiment.table.split, folder, split, bad)
        domain = domain_named(experiment.table.domain)
        own = next(iter(domain.splits)) if folder.bundled else experiment.table.split
        chosen = split or own
        facts = folder.facts(domain, chosen, bad)
        taxonomy = folder.taxonomy(domain)
        _check_golds(facts, taxonomy, folder.file(domain.name, domain.splits[chosen]))
        return TaxonomyBench(
            folder=folder,
            domain=domain,
            taxonomy=taxonomy,
            name=f"{domain.name} {chosen}",
            examples=Chosen(facts, range(len(facts)), partial(with_label_length, taxonomy=taxonomy)),
            whole=chosen == experiment.table.split and not folder.bundled,
            fingerprint=file_fingerprint(folder.file(domain.name, domain.inventory)),
            ids=taxonomy.ids,
            noun="facts",
            precedents=domain_precedents(folder, domain),
        )


def _open_own(
    data: OwnData, usual: str, folder: DataFolder, split: str | None, bad: list[InputError] | None
) -> TaxonomyBench:
    """The bench of the user's own data."""
    taxonomy, domain = data.open_taxonomy(folder)
    chosen = data.split(split, usual)
    facts = data.examples(chosen, bad)
    _check_golds(facts, taxonomy, Path(data.splits[chosen]))
    source = None
    if data.precedents:
        source = PrecedentSource([Path(p) for p in data.precedents], None, domain, columns=data.headings)
    return TaxonomyBench(
        folder=folder,
        domain=replace(domain, judged=(), precedents=(), splits={}),
        taxonomy=taxonomy,
        name=f"{taxonomy.name} {chosen}",
        examples=[with_label_length(e, taxonomy) for e in facts],
        whole=split is None or split == usual,
        fingerprint=own_fingerprint(taxonomy),
        ids=taxonomy.ids,
        noun="facts",
        precedents=source,
        schema=data.open_schema(taxonomy, domain),
        origin=data.splits[chosen],
    )


def _check_golds(facts: Sequence[Example], taxonomy: Taxonomy, file: Path) -> None:
    unknown = next((e for e in facts if e.gold not in taxonomy), None)
    if unknown is not None:
        raise InputError(
            f"the gold concept {unknown.gold!r} of fact {unknown.id!r} is not in {taxonomy.name}",
            file=file,
            field="gold",
        )


@dataclass(frozen=True, kw_only=True)
class TaxonomyBench(Bench[TaxonomyTable, Spec]):
    """The facts of a split and the ranked inventory. ``precedents`` are the already-tagged facts. ``schema``
    is the user's own, if it replaces the domain's.
    """

    folder: DataFolder
    domain: Domain
    taxonomy: Taxonomy
    precedents: PrecedentSource | None
    schema: DimensionSchema | None = None

    def codec(self, measures: Sequence[str]) -> TaxonomyCodec:
        return TaxonomyCodec(measures)

    def rows(self, experiment: TaxonomyExperiment, session: Session) -> Sequence[Row]:
        source = self.precedents
        if source is not None:
            source = source.for_facts(FactsOf(session.examples))
        parts = make_parts(self.taxonomy, self.domain, experiment.retriever, self.schema, source)
        parts = replace(parts, facts=FactsOf(session.examples))
        learned = ""
        if source is not None and any(learns(r.spec) for r in experiment.rows):
            model = TrainedOnce(
                source,
                parts,
                self._judged(),
                on_note=session.note,
                bundled=None if self.schema is not None else bundled_model(self.domain.name),
                asked=FactsOf(session.examples),
            )
            parts, learned = replace(parts, trained=model), model.fingerprint
        identity, ready = None, None
        for models in session.models.values():
            session.closing.enter_context(models.context())
            needing = next(row.name for row in experiment.rows if row.spec.needs_model)
            identity, ready = (
                models.identity(),
                partial(models.refuse_if_away, FACT_STAGES, f"the row {needing!r}"),
            )
        printed = (
            "" if source is None or not any(scopes(r.spec) for r in experiment.rows) else source.fingerprint
        )
        return make_rows(experiment, parts, self.fingerprint, identity, session.out, ready, printed, learned)

    def _judged(self) -> list[Fact]:
        """The facts of every evaluated split of the domain. In training, their companies (or cases) are a
        separate fold. For the user's own data, the facts of the split.
        """
        judged = [] if self.domain.judged else list(FactsOf(self.examples))
        for split in self.domain.judged:
            with suppress(InputError):
                judged += [e.inputs["fact"] for e in self.folder.facts(self.domain, split)]
        return judged


def with_label_length(example: Example, taxonomy: Taxonomy) -> Example:
    """The example with the length of its gold label as a group, for breakdowns."""
    tokens = len(tok_set(taxonomy[example.gold].label))
    return replace(example, groups={**example.groups, "gold label length": label_length(tokens)})


COSTLY = frozenset({"dense", "hybrid", "rerank", "milvus"})
"""Retrievers that are not made before they are needed: they load models or talk to a server."""


def make_rows(
    experiment: TaxonomyExperiment,
    parts: Parts,
    taxonomy_fingerprint: str,
    model: Any = None,
    out: Path | None = None,
    ready: Callable[[], None] | None = None,
    precedents_fingerprint: str = "",
    learned_fingerprint: str = "",
) -> Sequence[Row]:
    """The runner's rows of an experiment.

    Args:
        experiment: with resolved rows.
        parts: shared by all rows.
        taxonomy_fingerprint: fingerprint of the inventory.
        model: identity of the language model, in the resume key of rows that call one.
        out: the run folder, from which replaying rows read earlier results.
        ready: see :class:`Row`; for rows that call a model.
        precedents_fingerprint: fingerprint of the already-tagged facts.
        learned_fingerprint: fingerprint of the trained rows' model.

    Raises:
        InputError: a row with an unknown setting or an impossible replay.
    """
    rows: dict[str, Row] = {}
    logs = Logs(out)
    replayed = {row.spec.replay for row in experiment.rows}
    specs: dict[str, Spec] = {}
    retrievers = BuiltRetrievers(parts.taxonomy, experiment.retriever)
    for row in experiment.rows:
        spec = row.spec
        base = rows.get(spec.replay)
        place: Any = {"file": experiment.file, "field": f"row {row.name!r}"}
        if spec.replay and base is None and ":" not in spec.replay and not logs.has(spec.replay):
            raise InputError(f"replays {spec.replay!r}, which is no earlier row", **place)
        retriever = retrievers.resolved(spec.retriever)
        try:
            _check(spec, parts, retriever)
            if base is not None:
                check_replay(spec, specs[spec.replay])
        except ValueError as e:
            raise InputError(str(e), **place) from e
        specs[row.name] = spec
        settings = {
            "spec": spec.model_dump(mode="json"),
            "config": spec.resolve().model_dump(mode="json"),
            "retriever": sealed(retriever, parts.taxonomy),
            "taxonomy": {"name": parts.taxonomy.name, "fingerprint": taxonomy_fingerprint},
            "schema": parts.under(spec.vocabulary).schema.fingerprint,
        }
        if spec.shared_evidence or spec.program == "fhs-table":
            together = shared_evidence(parts.facts)
            settings["together"] = fingerprint(
                [[parts.facts[i].fact_id for i in group] for group in together]
            )
        if spec.state:
            settings["state"] = state_fingerprint(Path(spec.state))
        if precedents_fingerprint and scopes(spec):
            settings["precedents"] = precedents_fingerprint
        if learned_fingerprint and learns(spec):
            settings["learned"] = learned_fingerprint
        if base is not None:
            settings["replayed"] = base.identity("")
        prompts = None
        if spec.needs_model:
            try:
                texts = {k: p.model_dump(mode="json") for k, p in load_prompts(spec.prompts).items()}
            except ValueError as e:
                raise InputError(str(e), field="prompts") from e
            prompts = fingerprint(texts)
        seeds: Sequence[int] = (experiment.seeds[0],)
        if spec.needs_model or spec.replay:
            seeds = tuple(experiment.seeds) if base is None else base.seeds
        rows[row.name] = Row(
            name=row.name,
            build=partial(_build_seeded, row.name, spec, parts, logs, row.name in replayed),
            settings=settings,
            prompts=prompts,
            model=model if spec.needs_model else None,
            code=code_version(method_named(spec.program).cls, *outside_modules(retriever)),
            seeds=seeds,
            takes_gold=spec.needs_gold and not spec.replay,
            ready=ready if spec.needs_model else None,
            reference=row.reference,
            warm=partial(_warm, parts, spec.retriever),
        )
    return list(rows.values())


def _build_seeded(name: str, spec: Spec, parts: Parts, logs: Logs, replayed: bool, seed: int) -> Any:
    parts = replace(parts, replay=lambda of: logs.named(of, seed))
    try:
        program = build_program(spec, parts)
    except ValueError as e:
        raise InputError(str(e), field=f"row {name!r}") from e
    if spec.state:
        load_state(program, Path(spec.state))
    if spec.needs_model or spec.replay:
        program = Seeded(program, seed)
    return Recorded(program, logs.of(name, seed)) if replayed else program


def _warm(parts: Parts, settings: Mapping[str, Any], examples: Sequence[Example]) -> None:
    """Query a row's retriever once per datatype of the examples, so that it builds its indexes."""
    kinds = sorted({str(e.inputs["fact"].datatype or "") for e in examples})
    try:
        parts.retriever(settings).search(
            ["value"] * len(kinds), 1, [Where(datatype=k or None) for k in kinds]
        )
    except Exception as e:  # noqa: BLE001 - what is wrong is told by the examples, each in its own record
        log.info("the retriever could not be warmed up: %s", e)


def _check(spec: Spec, parts: Parts, retriever: Mapping[str, Any]) -> None:
    """Build a row before anything runs or is written, as far as that is cheap.

    Raises:
        ValueError: an unknown setting of its retriever, serializer or options, a missing extra, or an
            impossible replay.
    """
    rest = dict(retriever)
    kind = str(rest.pop("kind", "bm25"))
    check_settings(kind, rest)
    costly = kind in COSTLY or ":" in kind or "index" in rest
    if spec.replay:
        check_replay(spec)
    elif not (costly or spec.state or scopes(spec)):
        build_program(spec, parts)
