"""The papers' rows by name, each a base and the fields it changes; and programs built from them.

A :class:`Spec` is everything that decides what a row does. ``PRESETS`` holds the rows of the FHS paper
and abduce's own; an experiment file starts from one of them or from a bare program name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..retrievers.base import Retriever
from ..retrievers.precedents import Precedents
from ..retrievers.taxonomy import Taxonomy
from ..signatures.answers import VerdictForm
from ..signatures.dimensions import DimensionSchema
from ..signatures.fhs import Variation
from .base import Program
from .config import FHSConfig, FHSSeqConfig, RefineConfig, SampleConfig, SearchConfig
from .decomposed import Decomposed
from .direct import Direct
from .fhs import FHS
from .fhs_seq import FHSSeq
from .generate import Generator, LMGenerator, PhraseGenerator, RuleGenerator
from .locus import Locus
from .onepass import FREE_TEXT, STRUCTURED
from .oracle import EachAlone, OracleBest, VerifierPicks
from .parallel import Parallel
from .precedents import Demonstrations, PrecedentsConfig, PrecedentVote
from .probe import Probe
from .profiles import Profiles
from .refine import Refine
from .replay import Replay, Source
from .serialize import Serializer
from .verify import LMVerifier, SymbolicVerifier, Verifier

MODEL_FREE = frozenset({"rules", "phrases"})
"""Generators that call no model."""


class Spec(BaseModel):
    """One row, resolved.

    Args:
        program: name of the method (a key of ``PROGRAMS``).
        config: fields of the method's config class that differ from its defaults.
        generator: ``lm``, ``rules`` or ``phrases`` (no model), or an arm of the design study:
            ``lm-varied`` (samples are told to be distinct), ``lm-assigned`` (each has its own share of
            the dimensions); ``lm-precedents`` shows it the nearest already-tagged facts.
        verifier: ``lm``, or ``symbolic`` (the program-driven check, no model).
        prompts: name or path of the prompt set.
        verdicts: form of the verifier's answers.
        selector: whether the shared listwise selector runs after the method.
        retriever: settings of the retriever that differ from the experiment's.
        serializer: settings of the serializer that differ from the domain's.
        options: arguments of the method's own constructor.
        replay: where not empty, the row whose logged hypotheses, queries and verdicts are used again in
            place of the method's own (``ROW``, or ``FOLDER:ROW`` of an earlier run).
        state: path of a compiled program's state (``abduce optimize``); empty: none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    program: str
    config: Mapping[str, Any] = Field(default_factory=dict)
    generator: Literal["lm", "lm-varied", "lm-assigned", "lm-precedents", "rules", "phrases"] = "lm"
    verifier: Literal["lm", "symbolic"] = "lm"
    prompts: str = "default"
    verdicts: VerdictForm = "compact"
    selector: bool = False
    retriever: Mapping[str, Any] = Field(default_factory=dict)
    serializer: Mapping[str, Any] = Field(default_factory=dict)
    options: Mapping[str, Any] = Field(default_factory=dict)
    replay: str = ""
    state: str = ""

    def changed(self, changes: Mapping[str, Any]) -> Spec:
        """This spec with some fields changed.

        A key is a field of the spec (``prompts``), a dotted one (``retriever.w_cov``,
        ``serializer.markup``, ``options.text``), or else a field of the method's config (``beta``).

        Raises:
            ValueError: a key that is none of these, or a value that does not fit.
        """
        data = self.model_dump()
        for key, value in changes.items():
            head, _, tail = key.partition(".")
            if tail:
                if not isinstance(data.get(head), dict):
                    raise ValueError(f"no setting {key!r}")
                data[head] = {**data[head], tail: value}
            elif key in data and not isinstance(data[key], dict):
                data[key] = value
            else:
                data["config"] = {**data["config"], key: value}
        try:
            spec = Spec.model_validate(data)
        except ValidationError as e:
            raise ValueError(one_line(e)) from e
        spec.resolve()
        return spec

    def resolve(self) -> SearchConfig:
        """The method's full config.

        Raises:
            ValueError: no such program, or a key or value that its config does not have.
        """
        if self.program not in PROGRAMS:
            raise ValueError(f"no program {self.program!r}; there are {', '.join(PROGRAMS)}")
        try:
            return PROGRAMS[self.program].config.model_validate(dict(self.config))
        except ValidationError as e:
            raise ValueError(one_line(e)) from e

    @property
    def needs_model(self) -> bool:
        """Whether running it calls a language model."""
        if self.selector:
            return True
        if self.replay:
            return False
        method = PROGRAMS.get(self.program)
        if method is None or method.build in (_plain, _precedents):
            return False
        beta = getattr(self.resolve(), "beta", 0.0)
        return self.generator not in MODEL_FREE or (self.verifier == "lm" and beta > 0)

    @property
    def uses_precedents(self) -> bool:
        """Whether already-tagged facts decide its results, alone or as a companion."""
        companions = [n for n in self.config.get("companions", {}) if n != self.program]
        if self.program == "precedents" or self.generator == "lm-precedents":
            return True
        return any(spec_named(n).uses_precedents for n in companions)

    @property
    def needs_gold(self) -> bool:
        """Whether it is an oracle, which is shown the gold concept."""
        return PROGRAMS[self.program].cls.needs_gold


def one_line(error: ValidationError) -> str:
    """A pydantic complaint in one line that names the field."""
    first = error.errors()[0]
    where = ".".join(str(p) for p in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"no setting {where!r}"
    return f"{where}: {first['msg']}"


@dataclass(frozen=True)
class Parts:
    """What rows of one experiment share.

    ``retriever`` builds (or returns) the retriever for a row's settings; ``replay`` gives the logged
    traces of a row; ``precedents`` gives the index of already-tagged facts.
    """

    retriever: Callable[[Mapping[str, Any]], Retriever]
    taxonomy: Taxonomy
    schema: DimensionSchema
    serializer: Serializer = field(default_factory=Serializer)
    profiles: Profiles | None = None
    replay: Callable[[str], Source] | None = None
    precedents: Callable[[], Precedents] | None = None

    def serializer_for(self, changes: Mapping[str, Any]) -> Serializer:
        given: Any = {k: tuple(v) if isinstance(v, list) else v for k, v in changes.items()}
        try:
            return replace(self.serializer, **given)
        except TypeError as e:
            raise ValueError(f"no serializer setting among {', '.join(changes)}") from e


Build = Callable[[type[Any], Spec, Parts, SearchConfig], Program]


@dataclass(frozen=True)
class Method:
    """A method that specs can name: its class, its config class, and how it is put together."""

    cls: type[Program]
    config: type[SearchConfig]
    build: Build


def _plain(cls: type[Any], spec: Spec, parts: Parts, config: SearchConfig) -> Program:
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
    """The generator that a spec names."""
    serializer = parts.serializer_for(spec.serializer)
    if spec.generator == "rules":
        return RuleGenerator(parts.schema, serializer)
    if spec.generator == "lm-precedents":
        if parts.precedents is None:
            raise ValueError(NO_PRECEDENTS)
        shown = Demonstrations(parts.precedents(), parts.taxonomy)
        return LMGenerator(parts.schema, serializer, spec.prompts, "precedents", shown)
    if spec.generator == "phrases":
        return PhraseGenerator(parts.schema, serializer)
    variation: Variation = {"lm-varied": "varied", "lm-assigned": "assigned"}.get(spec.generator, "")  # type: ignore[assignment]
    return LMGenerator(parts.schema, serializer, spec.prompts, variation)


def verifier_for(spec: Spec, parts: Parts, profiles: Profiles) -> Verifier:
    """The verifier that a spec names."""
    if spec.verifier == "symbolic":
        return SymbolicVerifier(parts.schema, profiles)
    serializer = parts.serializer_for(spec.serializer)
    return LMVerifier(parts.schema, parts.taxonomy, serializer, spec.verdicts, spec.prompts)


def _fhs(cls: type[Any], spec: Spec, parts: Parts, config: SearchConfig) -> Program:
    assert isinstance(config, FHSConfig)
    profiles = parts.profiles or Profiles(parts.schema, parts.taxonomy)
    companions = {name: build(spec_named(name), parts) for name in config.companions}
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


NOT_REPLAYED = frozenset({"each-alone", "verifier-picks", "oracle", "precedents", "probe"})
"""Programs that choose among rankings by more than their log holds, or see the gold concept."""


def check_replay(spec: Spec, base: Spec | None = None) -> None:
    """Refuse a replay that cannot give what it says.

    Args:
        spec: the replaying row.
        base: the row whose log is used, where it is known.

    Raises:
        ValueError: its program, or the replayed one, cannot be replayed; or the log will lack the samples
            or the verdicts that the row needs.
    """
    for program in (spec.program, base.program if base is not None else spec.program):
        if program in NOT_REPLAYED:
            raise ValueError(f"the program {program!r} cannot be replayed")
    if base is None:
        return
    mine, theirs = spec.resolve(), base.resolve()
    beta = getattr(mine, "beta", 0.0)
    if beta > 0 and spec.verifier != "symbolic" and not getattr(theirs, "beta", 0.0):
        raise ValueError(f"beta is {beta:g}, but the replayed row logs no verdicts (its beta is 0)")
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
        parts.serializer_for(spec.serializer),
        parts.taxonomy,
        SymbolicVerifier(parts.schema, profiles) if spec.verifier == "symbolic" else None,
    )


PROGRAMS: dict[str, Method] = {
    "direct": Method(Direct, SearchConfig, _plain),
    "locus": Method(Locus, SearchConfig, _plain),
    "precedents": Method(PrecedentVote, PrecedentsConfig, _precedents),
    "probe": Method(Probe, SearchConfig, _plain),
    "parallel": Method(Parallel, SampleConfig, _grounded),
    "decomposed": Method(Decomposed, SearchConfig, _grounded),
    "refine": Method(Refine, RefineConfig, _grounded),
    "fhs": Method(FHS, FHSConfig, _fhs),
    "fhs-seq": Method(FHSSeq, FHSSeqConfig, _fhs),
    "each-alone": Method(EachAlone, FHSConfig, _fhs),
    "verifier-picks": Method(VerifierPicks, FHSConfig, _fhs),
    "oracle": Method(OracleBest, FHSConfig, _fhs),
}

_FHS = Spec(program="fhs")
_RULES = Spec(program="fhs", generator="rules", verifier="symbolic", config={"J": 1})
# Tuned on the development split: no identifier in front, a wider window, the reading with the text above
# the table weighed double.
_PHRASES = Spec(
    program="fhs",
    generator="phrases",
    verifier="symbolic",
    config={"J": 2, "beta": 0.0, "forms": ("definition",), "weights": (0.5, 1.0)},
    serializer={"identifier": (), "before": 300, "after": 150},
)
_PARALLEL = Spec(program="parallel")
_SWEEPS: Mapping[str, tuple[float, ...]] = {"Kv": (5, 20), "J": (1, 3, 4), "beta": (0.0, 0.2, 0.4, 0.8, 1.0)}

PRESETS: dict[str, Spec] = {
    # Methods (paper: Table 4)
    "direct": Spec(program="direct"),
    "locus": Spec(program="locus"),
    "one-pass free-text": _PARALLEL.changed(FREE_TEXT),
    "one-pass structured": _FHS.changed(STRUCTURED),
    "parallel sampling": _PARALLEL,
    "parallel sampling (forced variation)": _PARALLEL.changed({"options.varied": True}),
    "decomposed": Spec(program="decomposed"),
    "intrinsic refinement": Spec(program="refine"),
    "feedback refinement": Spec(program="refine", options={"feedback": True}),
    "FHS": _FHS,
    "FHS-Seq": Spec(program="fhs-seq"),
    # Probes and bounds: they see the gold concept and are no methods (Table 1, Table 6)
    "probe: label + definition": Spec(program="probe", options={"text": "label+definition"}),
    "probe: label": Spec(program="probe", options={"text": "label"}),
    "oracle best single": Spec(program="oracle"),
    # Arms of the design study (Table 11)
    "diversity-prompted": _FHS.changed({"generator": "lm-varied"}),
    "dimensions assigned": _FHS.changed({"generator": "lm-assigned"}),
    "verifier picks one": Spec(program="verifier-picks"),
    # Ablations (Table 6, Appendix E.2): FHS and the one thing that is taken away or replaced
    "- ensemble": Spec(program="each-alone"),
    "- ensemble (hypothesis 0)": _FHS.changed({"keep": (0,)}),
    "- ensemble (hypothesis 1)": _FHS.changed({"keep": (1,)}),
    "- factorization": _PARALLEL,
    "- label form": _FHS.changed({"forms": ("definition",), "beta": 0.8}),
    "- definition form": _FHS.changed({"forms": ("label",), "beta": 0.2}),
    "- verifier": _FHS.changed({"beta": 0.0}),
    "mean RRF": _FHS.changed({"fusion": "mean"}),
    "raw fused scores": _FHS.changed({"normalise": False}),
    "- label coverage": _FHS.changed({"retriever.w_cov": 0.0}),
    "abstain as no support": _FHS.changed({"abstain": "no_support"}),
    "program-driven score": _FHS.changed({"verifier": "symbolic"}),
    # Sweeps (Tables 11, 12, 14); FHS itself has Kv = 10, J = 2, beta = 0.6
    **{f"{key} = {v:g}": _FHS.changed({key: v}) for key, values in _SWEEPS.items() for v in values},
    # Interaction (Table 16)
    **{
        f"verifier {v}, selector {s}": _FHS.changed({"beta": beta, "selector": s == "on"})
        for v, beta in (("on", 0.6), ("off", 0.0))
        for s in ("on", "off")
    },
    # abduce's own
    "FHS-rules": _RULES,
    "FHS, precedents shown": _FHS.changed({"generator": "lm-precedents"}),
    "precedents (others)": Spec(program="precedents", config={"scope": "others"}),
    "precedents (others), locus": Spec(program="precedents", config={"scope": "others", "locus": 0.05}),
    "precedents (own)": Spec(program="precedents", config={"scope": "own"}),
    "precedents + locus": Spec(program="precedents", config={"scope": "others", "locus": 0.2}),
    "FHS-rules + precedents (others)": _RULES.changed(
        {"companions": {"precedents (others)": 4.0}, "kappa": 0.0, "beta": 0.1}
    ),
    "FHS-rules - verifier": _RULES.changed({"beta": 0.0}),
    "FHS-phrases": _PHRASES,
    "FHS + locus": _FHS.changed({"companions": {"locus": 1.0}}),
    "FHS graded verdicts": _FHS.changed({"verdicts": "graded"}),
}
"""Rows by name. "- ensemble" is the mean of keeping each hypothesis alone."""


def spec_named(name: str) -> Spec:
    """A preset by name, or the bare program of that name.

    Raises:
        ValueError: there is neither.
    """
    if name in PRESETS:
        return PRESETS[name]
    if name in PROGRAMS:
        return Spec(program=name)
    raise ValueError(f"no program {name!r}; there are {', '.join([*PRESETS, *PROGRAMS])}")


def build(spec: Spec, parts: Parts) -> Any:
    """The program of a spec, with the selector around it where the spec says so."""
    from .select import Selector

    method = PROGRAMS[spec.program]
    try:
        if spec.replay:
            program = _replay(spec, parts)
        else:
            program = method.build(method.cls, spec, parts, spec.resolve())
    except TypeError as e:
        raise ValueError(f"the program {spec.program!r} has no such option: {e}") from e
    return Selector(program, parts.schema, spec.prompts) if spec.selector else program
