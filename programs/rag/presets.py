"""The rows of the HCQR paper by name, each a program and the fields it changes; programs built from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from ...retrievers.base import Retriever
from ..own import arguments, config_class, own_class
from ..spec import SpecBase, resolved_config
from .base import NoRAG, QuestionProgram, SimpleRAG, SimpleRAGWithOptions
from .config import (
    EitherConfig,
    HCQRConfig,
    HyDEConfig,
    MainRAGConfig,
    RAGConfig,
    RerankConfig,
    RewritingConfig,
)
from .context import CountTokens, Passages, estimate_tokens
from .either import HCQROrCoT
from .hcqr import HCQR
from .hcqr_rules import RulePlanner
from .hyde import HyDE
from .main_rag import MainRAG
from .per_option import OptionEvidence
from .prompts import DEFAULT, reword
from .rerank import PairScorer, RerankRAG
from .rewriting import Rewriting


@dataclass(frozen=True)
class RAGParts:
    """What the rows of one experiment share.

    ``retriever`` builds (or returns) the retriever for a row's settings, ``reranker`` the cross-encoder; it
    is called only where a row reranks.
    """

    retriever: Callable[[Mapping[str, Any]], Retriever]
    passages: Passages
    reranker: Callable[[], PairScorer] | None = None
    count: CountTokens = estimate_tokens


class RAGSpec(SpecBase):
    """One row, resolved.

    Args:
        program: name of the method (a key of ``RAG_PROGRAMS``), or ``package.module:Class``, a subclass of
            :class:`~abduce.programs.rag.base.RAG` (or ``QuestionProgram``) of one's own.
        config: fields of the method's config class that differ from its defaults.
        planner: HCQR's: ``lm`` (two calls), or ``rules`` (no model).
        prompts: ``default``, or the path of a prompt set (:mod:`.prompts`).
        state: path of a compiled program's state (``abduce optimize``); empty: none.
        retriever: settings of the retriever that differ from the experiment's.
        options: arguments of the constructor of a method of one's own.
    """

    planner: Literal["lm", "rules"] = "lm"
    retriever: Mapping[str, Any] = Field(default_factory=dict)
    prompts: str = DEFAULT
    state: str = ""
    options: Mapping[str, Any] = Field(default_factory=dict)

    def resolve(self) -> RAGConfig:
        """The method's full config.

        Raises:
            ValueError: no such program, or a key or value that its config does not have.
        """
        config: RAGConfig = resolved_config(rag_method(self.program), self.config)
        return config

    @property
    def needs_model(self) -> bool:
        """Whether running it calls a language model."""
        if self.program == "no-rag" or self.resolve().answer:
            return True
        plain = self.program in ("simple", "simple + options", "evidence", "rerank")
        if ":" in self.program:
            plain = bool(rag_method(self.program).cls.model_free)
        return not plain and not (self.program == "hcqr" and self.planner == "rules")

    @property
    def needs_retriever(self) -> bool:
        return self.program != "no-rag"


Build = Callable[[RAGSpec, RAGParts, Any], Any]


@dataclass(frozen=True)
class RAGMethod:
    """A method that specs can name: its config, how it is put together, and its class."""

    config: type[RAGConfig]
    build: Build
    cls: type[Any]


def _retrieving(cls: type[Any]) -> Build:
    def build(spec: RAGSpec, parts: RAGParts, config: RAGConfig) -> Any:
        return cls(parts.retriever(spec.retriever), parts.passages, config, count=parts.count)

    return build


def _rerank(spec: RAGSpec, parts: RAGParts, config: RerankConfig) -> RerankRAG:
    if parts.reranker is None:
        raise ValueError("Rerank-RAG needs a cross-encoder: name one in [reranker]")
    first = parts.retriever(spec.retriever)
    return RerankRAG(first, parts.passages, parts.reranker(), config, parts.count)


def _hcqr(spec: RAGSpec, parts: RAGParts, config: HCQRConfig) -> HCQR:
    retriever = parts.retriever(spec.retriever)
    planner = RulePlanner(retriever) if spec.planner == "rules" else None
    return HCQR(retriever, parts.passages, config, planner, parts.count)


def _no_rag(spec: RAGSpec, parts: RAGParts, config: RAGConfig) -> NoRAG:
    return NoRAG(config)


RAG_PROGRAMS: dict[str, RAGMethod] = {
    "no-rag": RAGMethod(RAGConfig, _no_rag, NoRAG),
    "simple": RAGMethod(RAGConfig, _retrieving(SimpleRAG), SimpleRAG),
    "simple + options": RAGMethod(RAGConfig, _retrieving(SimpleRAGWithOptions), SimpleRAGWithOptions),
    "evidence": RAGMethod(RAGConfig, _retrieving(OptionEvidence), OptionEvidence),
    "rewriting": RAGMethod(RewritingConfig, _retrieving(Rewriting), Rewriting),
    "hyde": RAGMethod(HyDEConfig, _retrieving(HyDE), HyDE),
    "rerank": RAGMethod(RerankConfig, _rerank, RerankRAG),
    "main-rag": RAGMethod(MainRAGConfig, _retrieving(MainRAG), MainRAG),
    "hcqr": RAGMethod(HCQRConfig, _hcqr, HCQR),
    "hcqr or cot": RAGMethod(EitherConfig, _retrieving(HCQROrCoT), HCQROrCoT),
}


def rag_method(program: str) -> RAGMethod:
    """A method by its name, or by ``package.module:Class``.

    Raises:
        InputError: no such module or class.
        ValueError: no such method, or a class that is none.
    """
    if ":" in program:
        cls = own_class(program, QuestionProgram)
        return RAGMethod(config_class(cls), _own(cls), cls)
    if program not in RAG_PROGRAMS:
        raise ValueError(f"no program {program!r}; there are {', '.join(RAG_PROGRAMS)}, package.module:Class")
    return RAG_PROGRAMS[program]


def _own(cls: type[Any]) -> Build:
    def build(spec: RAGSpec, parts: RAGParts, config: RAGConfig) -> Any:
        known: dict[str, Callable[[], Any]] = {
            "retriever": lambda: parts.retriever(spec.retriever),
            "passages": lambda: parts.passages,
            "config": lambda: config,
            "count": lambda: parts.count,
        }
        if parts.reranker is not None:
            known["reranker"] = parts.reranker
        return cls(**arguments(cls, known, spec.options))

    return build


_HCQR = RAGSpec(program="hcqr")
_REWRITING = RAGSpec(program="rewriting")

RAG_PRESETS: dict[str, RAGSpec] = {
    "No-RAG (CoT)": RAGSpec(program="no-rag"),
    "Simple RAG": RAGSpec(program="simple"),
    "Rewriting": _REWRITING,
    "Rewriting + options": _REWRITING.changed({"options": True}),
    "HyDE": RAGSpec(program="hyde"),
    "Rerank-RAG": RAGSpec(program="rerank"),
    "MAIN-RAG": RAGSpec(program="main-rag"),
    "HCQR": _HCQR,
    "HCQR - options": _HCQR.changed({"options": False}),
    "HCQR - q1": _HCQR.changed({"drop": "q1"}),
    "HCQR - q2": _HCQR.changed({"drop": "q2"}),
    "HCQR - q3": _HCQR.changed({"drop": "q3"}),
    "HCQR + hypothesis": _HCQR.changed({"expose_hypothesis": True}),
    "Simple RAG + options": RAGSpec(program="simple + options"),
    "HCQR-rules": _HCQR.changed({"planner": "rules"}),
    "HCQR or CoT": RAGSpec(program="hcqr or cot"),
    "Evidence per option": RAGSpec(program="evidence"),
}
"""The paper's rows and, from "HCQR + hypothesis" on, abduce's own."""


def rag_spec(name: str) -> RAGSpec:
    """A preset by name (case does not matter), or the bare program of that name.

    Raises:
        ValueError: there is neither.
    """
    for known, spec in RAG_PRESETS.items():
        if known.casefold() == name.casefold():
            return spec
    if name in RAG_PROGRAMS or (":" in name and rag_method(name)):
        return RAGSpec(program=name)
    known = ", ".join([*RAG_PRESETS, *RAG_PROGRAMS])
    raise ValueError(f"no program {name!r}; there are {known}, and package.module:Class")


def build_rag(spec: RAGSpec, parts: RAGParts) -> Any:
    """The program of a spec.

    Raises:
        ValueError: a setting does not fit, a part is missing, or the prompt set is not for this program.
    """
    if spec.options and ":" not in spec.program:
        raise ValueError(f"the program {spec.program!r} has no option {next(iter(spec.options))!r}")
    program = rag_method(spec.program).build(spec, parts, spec.resolve())
    reword(program, spec.prompts)
    return program
