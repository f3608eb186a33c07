"""Build programs from specs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from ..retrievers.base import Retriever
from ..retrievers.precedents.index import Precedents
from ..retrievers.taxonomy import Taxonomy
from ..signatures.dimensions import DimensionSchema, load_schema
from ..signatures.toml import one_line
from ..signatures.types import Fact
from ..signatures.wording import load_wording
from .base import Program
from .config import FHSConfig, SearchConfig
from .decomposed import Decomposed
from .direct import Direct
from .fhs import FHS
from .fhs_seq import FHSSeq
from .generate import Generator, LMGenerator, PhraseGenerator, RuleGenerator
from .learned import Learned
from .locus import Locus
from .oracle import EachAlone, OracleBest, VerifierPicks
from .own import arguments, own_class
from .parallel import Parallel
from .precedents import Demonstrations, PrecedentVote
from .presets import spec_named
from .probe import Probe
from .profiles import Profiles
from .refine import Refine
from .replay import Replay, Source
from .serialize import Serializer
from .shared_rows import shared_evidence
from .spec import SHOWN_SCOPES, Spec, about
from .table import TableFHS
from .trained import Trained, beside
from .verify import LMVerifier, SymbolicVerifier, Verifier


@dataclass(frozen=True)
class Parts:
    """The parts that rows of one experiment share.

    ``retriever`` builds (or returns) the retriever for a row's settings. ``replay`` gives the logged traces
    of a row, ``precedents`` the index of already-tagged facts, and ``trained`` the trained model. ``facts``
    are all facts of the run, because some rows ask about several at once.
    """

    retriever: Callable[[Mapping[str, Any]], Retriever]
    taxonomy: Taxonomy
    schema: DimensionSchema
    serializer: Serializer = field(default_factory=Serializer)
    profiles: Profiles | None = None
    replay: Callable[[str], Source] | None = None
    precedents: Callable[[], Precedents] | None = None
    trained: Callable[[], Learned] | None = None
    facts: Sequence[Fact] = ()
    _profiles: dict[str, Profiles] = field(default_factory=dict)

    def under(self, vocabulary: str) -> Parts:
        """The parts of a row with another vocabulary.

        Args:
            vocabulary: ``paper`` (that of the authors' release), or the path of a schema's TOML file;
                empty: the domain's.

        Raises:
            ValueError: the domain has no such vocabulary, or the file is not a schema.
        """
        if not vocabulary:
            return self
        of_file = vocabulary.endswith(".toml")
        schema = load_schema(vocabulary if of_file else f"{self.schema.name}-{vocabulary}")
        shared = self._profiles.setdefault(schema.fingerprint, Profiles(schema, self.taxonomy))
        return replace(self, schema=schema, profiles=shared)

    def serializer_for(self, changes: Mapping[str, Any]) -> Serializer:
        given: Any = {k: tuple(v) if isinstance(v, list) else v for k, v in changes.items()}
        try:
            return replace(self.serializer, **given)
        except ValidationError as e:
            raise ValueError(f"serializer: {one_line(e)}") from None
        except TypeError as e:
            raise ValueError(f"no serializer setting among {', '.join(changes)}") from e


Build = Callable[[Any, Spec, Parts, SearchConfig], Program]


@dataclass(frozen=True)
class Method:
    """A method with a name: its class and how it is built."""

    cls: type[Program]
    build: Build


def _ranking_alone(cls: type[Any], spec: Spec, parts: Parts, config: SearchConfig) -> Program:
    program: Program = cls(
        parts.retriever(spec.retriever),
        parts.serializer_for(spec.serializer),
        parts.taxonomy,
        config,
        **spec.options,
    )
    return program


NO_PRECEDENTS = "there are no precedents: give already-tagged facts (--precedents PATH)"


def _precedents(cls: type[Any], spec: Spec, parts: Parts, config: SearchConfig) -> Program:
    if parts.precedents is None:
        raise ValueError(NO_PRECEDENTS)
    program: Program = cls(
        parts.retriever(spec.retriever),
        parts.precedents(),
        parts.serializer_for(spec.serializer),
        parts.taxonomy,
        config,
        **spec.options,
    )
    return program


NO_MODEL = "there is no trained model: give one (--model FOLDER), or train it (abduce train)"


def _trained(cls: type[Any], spec: Spec, parts: Parts, config: SearchConfig) -> Program:
    if parts.precedents is None:
        raise ValueError(NO_PRECEDENTS)
    if parts.trained is None:
        raise ValueError(NO_MODEL)
    serializer = parts.serializer_for(spec.serializer)
    program: Program = cls(
        parts.retriever(spec.retriever),
        parts.precedents(),
        parts.trained(),
        PhraseGenerator(parts.schema, phrase_serializer(serializer)),
        serializer,
        parts.taxonomy,
        config,
        beside(parts.facts),
        load_wording(parts.schema.name),
        **spec.options,
    )
    return program


def phrase_serializer(serializer: Serializer) -> Serializer:
    """The serializer for the phrase book: a wider window around a mention, if it has windows."""
    return replace(serializer, before=300, after=150) if serializer.before or serializer.after else serializer


def _grounded(cls: type[Any], spec: Spec, parts: Parts, config: SearchConfig) -> Program:
    program: Program = cls(
        retriever=parts.retriever(spec.retriever),
        schema=parts.schema,
        config=config,
        serializer=parts.serializer_for(spec.serializer),
        taxonomy=parts.taxonomy,
        prompts=spec.prompts,
        **spec.options,
    )
    return program


def generator_for(spec: Spec, parts: Parts) -> Generator:
    """A spec's generator."""
    serializer = parts.serializer_for(spec.serializer)
    if spec.generator == "rules":
        return RuleGenerator(parts.schema, serializer)
    if spec.generator in SHOWN_SCOPES:
        if parts.precedents is None:
            raise ValueError(NO_PRECEDENTS)
        shown = Demonstrations(parts.precedents(), parts.taxonomy, SHOWN_SCOPES[spec.generator])
        return LMGenerator(parts.schema, serializer, spec.prompts, shown)
    if spec.generator == "phrases":
        return PhraseGenerator(parts.schema, serializer)
    return LMGenerator(parts.schema, serializer, spec.prompts)


def verifier_for(spec: Spec, parts: Parts, profiles: Profiles) -> Verifier:
    """A spec's verifier."""
    if spec.verifier == "symbolic":
        return SymbolicVerifier(parts.schema, profiles)
    serializer = parts.serializer_for(spec.serializer)
    return LMVerifier(parts.schema, parts.taxonomy, serializer, spec.verdicts, spec.prompts)


def _fhs(cls: Callable[..., Any], spec: Spec, parts: Parts, config: SearchConfig) -> Program:
    assert isinstance(config, FHSConfig)
    profiles = parts.profiles or Profiles(parts.schema, parts.taxonomy)
    companions = {name: build_program(spec_named(name), parts) for name in config.companions}
    program: Program = cls(
        retriever=parts.retriever(spec.retriever),
        schema=parts.schema,
        config=config,
        generator=generator_for(spec, parts),
        verifier=verifier_for(spec, parts, profiles),
        serializer=parts.serializer_for(spec.serializer),
        taxonomy=parts.taxonomy,
        profiles=profiles,
        prompts=spec.prompts,
        companions=companions,
        **spec.options,
    )
    return program


def _table(cls: type[Any], spec: Spec, parts: Parts, config: SearchConfig) -> Program:
    facts = list(parts.facts)
    if spec.shared_evidence:
        facts = [facts[group[0]] for group in shared_evidence(facts)]
    return _fhs(lambda **more: cls(facts=facts, **more), spec, parts, config)


NOT_REPLAYED = frozenset(
    {"each-alone", "fhs-table", "verifier-picks", "oracle", "precedents", "probe", "trained"}
)
"""Programs that choose among rankings by more than their log holds, or see the gold concept."""


def check_replay(spec: Spec, base: Spec | None = None) -> None:
    """Refuse a replay that cannot work.

    Args:
        spec: the replaying row.
        base: the row whose log is used, if known.

    Raises:
        ValueError: its program, or the replayed one, cannot be replayed; or the log lacks the samples that
            the row needs.
    """
    for program in (spec.program, base.program if base is not None else spec.program):
        if program in NOT_REPLAYED:
            raise ValueError(f"the program {program!r} cannot be replayed")
    if base is None:
        return
    mine, theirs = spec.resolve(), base.resolve()
    if getattr(mine, "J", 0) > getattr(theirs, "J", getattr(mine, "J", 0)):
        raise ValueError(f"J is {getattr(mine, 'J', 0)}, but the replayed row draws fewer samples")


def _replay(spec: Spec, parts: Parts) -> Program:
    if parts.replay is None:
        raise ValueError(f"there is no log to replay {spec.replay!r} from")
    check_replay(spec)
    config = spec.resolve().model_dump()
    known = {"beta": 0.0} | {k: v for k, v in config.items() if k in FHSConfig.model_fields}
    profiles = parts.profiles or Profiles(parts.schema, parts.taxonomy)
    return Replay(
        parts.retriever(spec.retriever),
        parts.replay(spec.replay),
        FHSConfig.model_validate(known),
        profiles,
        verifier_for(spec, parts, profiles),
        parts.serializer_for(spec.serializer),
        parts.taxonomy,
    )


PROGRAMS: dict[str, Method] = {
    "direct": Method(Direct, _ranking_alone),
    "locus": Method(Locus, _ranking_alone),
    "precedents": Method(PrecedentVote, _precedents),
    "trained": Method(Trained, _trained),
    "probe": Method(Probe, _ranking_alone),
    "parallel": Method(Parallel, _grounded),
    "decomposed": Method(Decomposed, _grounded),
    "refine": Method(Refine, _grounded),
    "fhs": Method(FHS, _fhs),
    "fhs-seq": Method(FHSSeq, _fhs),
    "fhs-table": Method(TableFHS, _table),
    "each-alone": Method(EachAlone, _fhs),
    "verifier-picks": Method(VerifierPicks, _fhs),
    "oracle": Method(OracleBest, _fhs),
}


def method_named(program: str) -> Method:
    """The method with a name, or ``package.module:Class``.

    Raises:
        InputError: no such module or class.
        ValueError: no such method, or a class that is not one.
    """
    if ":" in program:
        return Method(own_class(program, Program), _own)
    about(program)
    return PROGRAMS[program]


def _own(cls: type[Any], spec: Spec, parts: Parts, config: SearchConfig) -> Program:
    profiles = parts.profiles or Profiles(parts.schema, parts.taxonomy)
    known: dict[str, Callable[[], Any]] = {
        "retriever": lambda: parts.retriever(spec.retriever),
        "taxonomy": lambda: parts.taxonomy,
        "schema": lambda: parts.schema,
        "config": lambda: config,
        "serializer": lambda: parts.serializer_for(spec.serializer),
        "profiles": lambda: profiles,
        "prompts": lambda: spec.prompts,
        "generator": lambda: generator_for(spec, parts),
        "verifier": lambda: verifier_for(spec, parts, profiles),
    }
    if parts.precedents is not None:
        known["precedents"] = parts.precedents
    if parts.trained is not None:
        known["learned"] = parts.trained
    program: Program = cls(**arguments(cls, known, spec.options))
    return program


def build_program(spec: Spec, parts: Parts) -> Any:
    """Build a spec's program, with the selector if the spec has one.

    Raises:
        ValueError: an unknown option, vocabulary or prompt set.
    """
    from .one_token import OneTokenSelector
    from .select import Selector
    from .shared import SharedEvidence

    method = method_named(spec.program)
    parts = parts.under(spec.vocabulary)
    try:
        if spec.replay:
            program = _replay(spec, parts)
        else:
            program = method.build(method.cls, spec, parts, spec.resolve())
    except TypeError as e:
        raise ValueError(f"the program {spec.program!r} has no such option: {e}") from e
    whole: Any = program
    if spec.selector:
        selector = OneTokenSelector if spec.selector == "one-token" else Selector
        whole = selector(program, parts.schema, spec.prompts)
    return SharedEvidence(whole, parts.facts) if spec.shared_evidence else whole
