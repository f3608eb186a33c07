"""A resolved row: every setting of its program, and how to change it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..signatures.replies import VerdictForm
from ..signatures.toml import one_line
from .config import (
    FHSConfig,
    FHSSeqConfig,
    PrecedentsConfig,
    RefineConfig,
    SampleConfig,
    SearchConfig,
    TrainedConfig,
)

MODEL_FREE = frozenset({"rules", "phrases"})
"""Generators that call no model."""


WINDOW = frozenset({"K", "kappa", "fusion", "Kv", "scan", "forms", "weights", "companions", "J", "keep"})
"""Settings that decide which candidates the verifier is shown."""

SHOWN_SCOPES: Mapping[str, Literal["others", "own"]] = {"lm-precedents": "others", "lm-precedents-own": "own"}
"""Generators that are shown already-tagged facts, and whose."""


class About(NamedTuple):
    """What is known of a method before it is built: its config class, whether it never calls a model, and
    whether it is an oracle, which sees the gold concept.
    """

    config: type[SearchConfig]
    model_free: bool = False
    needs_gold: bool = False


def about(program: str) -> About:
    """What is known of a method, one of :data:`METHODS`, or ``package.module:Class``, which is imported.

    Raises:
        ValueError: an unknown name.
    """
    if ":" not in program:
        if program not in METHODS:
            raise ValueError(f"no program {program!r}; there are {', '.join(METHODS)}, package.module:Class")
        return METHODS[program]
    from .base import Program
    from .own import config_class, own_class

    cls = own_class(program, Program)
    return About(config_class(cls), cls.model_free, cls.needs_gold)


METHODS: Mapping[str, About] = {
    "direct": About(SearchConfig, model_free=True),
    "locus": About(SearchConfig, model_free=True),
    "precedents": About(PrecedentsConfig, model_free=True),
    "trained": About(TrainedConfig, model_free=True),
    "probe": About(SearchConfig, model_free=True, needs_gold=True),
    "parallel": About(SampleConfig),
    "decomposed": About(SearchConfig),
    "refine": About(RefineConfig),
    "fhs": About(FHSConfig),
    "fhs-seq": About(FHSSeqConfig),
    "fhs-table": About(FHSConfig),
    "each-alone": About(FHSConfig),
    "verifier-picks": About(FHSConfig),
    "oracle": About(FHSConfig, needs_gold=True),
}
"""The methods that a spec can name; :mod:`abduce.programs.methods` puts them together."""


class SpecBase(BaseModel):
    """The common part of both families' specs: a program's name, the changes to its config, and how to change
    a spec.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    program: str
    config: Mapping[str, Any] = Field(default_factory=dict)

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """This spec with some changed fields.

        A key is a field of the spec (``prompts``), a dotted field (``retriever.w_cov``,
        ``serializer.markup``, ``options.text``), or else a field of the method's config (``beta``).

        Raises:
            ValueError: an unknown key, or a wrong value.
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
            spec = type(self).model_validate(data)
        except ValidationError as e:
            raise ValueError(one_line(e)) from e
        spec.resolve()
        return spec

    def resolve(self) -> BaseModel:
        """The method's full config; raises ValueError if there is none."""
        raise NotImplementedError


class Configured(Protocol):
    """Anything with a method's config class."""

    @property
    def config(self) -> type[BaseModel]: ...


def resolved_config(method: Configured, config: Mapping[str, Any]) -> Any:
    """The full config of a method.

    Raises:
        ValueError: an unknown key or wrong value of its config.
    """
    try:
        return method.config.model_validate(dict(config))
    except ValidationError as e:
        raise ValueError(one_line(e)) from e


class Spec(SpecBase):
    """One resolved row.

    Args:
        program: the method's name (a key of :data:`METHODS`), or ``package.module:Class``, your own subclass
            of :class:`~abduce.programs.base.Program`.
        config: fields of the method's config class that differ from its defaults.
        generator: ``lm``, ``rules`` or ``phrases`` (no model). ``lm-precedents`` also shows the model the
            nearest already-tagged facts of other companies; ``lm-precedents-own`` includes those of the
            company's own earlier filings.
        verifier: ``lm``, or ``symbolic`` (the program-driven check, no model).
        prompts: name or path of the prompt set.
        vocabulary: the category vocabularies: empty: the domain's own; ``paper``: those of the authors'
            release (finance only); or the path of a schema's TOML file.
        verdicts: form of the verifier's answers.
        selector: whether the shared listwise selector runs after the method; ``one-token``: the selector that
            reads one token per round instead.
        shared_evidence: ask once for facts that share their evidence (cells of a table row whose columns
            differ only in dates).
        retriever: settings of the retriever that differ from the experiment's.
        serializer: settings of the serializer that differ from the domain's.
        options: arguments of the method's constructor.
        replay: if not empty, the row whose logged hypotheses and queries replace the method's own (``ROW``,
            or ``FOLDER:ROW`` of an earlier run); its verdicts are used too if the row's window is the logged
            one.
        state: path of a compiled program's state (``abduce optimize``); empty: none.
    """

    generator: Literal["lm", "lm-precedents", "lm-precedents-own", "rules", "phrases"] = "lm"
    verifier: Literal["lm", "symbolic"] = "lm"
    prompts: str = "default"
    vocabulary: str = ""
    verdicts: VerdictForm = "compact"
    selector: bool | Literal["one-token"] = False
    shared_evidence: bool = False
    retriever: Mapping[str, Any] = Field(default_factory=dict)
    serializer: Mapping[str, Any] = Field(default_factory=dict)
    options: Mapping[str, Any] = Field(default_factory=dict)
    replay: str = ""
    state: str = ""

    def resolve(self) -> SearchConfig:
        """The method's full config.

        Raises:
            ValueError: an unknown program, or an unknown key or wrong value of its config.
        """
        config: SearchConfig = resolved_config(about(self.program), self.config)
        return config

    @property
    def needs_model(self) -> bool:
        """Whether running it calls a language model.

        A replay calls one if it changes the verifier or its window. A row whose window turns out to be the
        logged one still calls nothing.
        """
        if self.selector:
            return True
        if self.replay:
            judged = self.verifier == "lm" and getattr(self.resolve(), "beta", 0.0) > 0
            moved = bool(self.retriever) or not WINDOW.isdisjoint(self.config)
            return judged and (moved or self.verdicts != "compact")
        method = about(self.program)
        if method.model_free:
            return False
        if not issubclass(method.config, FHSConfig) and ":" in self.program:
            return True
        beta = getattr(self.resolve(), "beta", 0.0)
        return self.generator not in MODEL_FREE or (self.verifier == "lm" and beta > 0)

    @property
    def needs_gold(self) -> bool:
        """Whether it is an oracle, which sees the gold concept."""
        return about(self.program).needs_gold
