"""The papers' rows by name: each is a base with some changed fields.

An experiment file starts from one of them or from a program's name. :class:`~abduce.programs.spec.Spec`
defines a row, and :mod:`abduce.programs.methods` builds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from .spec import METHODS, SHOWN_SCOPES, Spec, about

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
    "one-pass free-text": _PARALLEL.changed({"J": 1, "temperature": 0.0, "options.arm": "bare"}),
    "one-pass structured": _FHS.changed({"J": 1, "temperature": 0.0, "beta": 0.0}),
    "parallel sampling": _PARALLEL,
    "parallel sampling (forced variation)": _PARALLEL.changed({"options.arm": "varied"}),
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
    "stochastic samples": _PARALLEL.changed({"J": 4, "options.arm": "warmer"}),
    "diversity-prompted": _PARALLEL.changed({"J": 4, "temperature": 0.0, "options.arm": "diverse"}),
    "dimensions assigned": _PARALLEL.changed({"J": 4, "temperature": 0.0, "options.arm": "directed"}),
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
    "precedents (others), locus": Spec(
        program="precedents", config={"scope": "others", "locus": 0.05, "period": 0.5}
    ),
    "precedents (own)": Spec(program="precedents", config={"scope": "own"}),
    "precedents (own), decisions first": Spec(
        program="precedents", config={"scope": "own", "locus": 0.05, "alike": 0.3, "decisions": True}
    ),
    "precedents + locus": Spec(program="precedents", config={"scope": "others", "locus": 0.2}),
    "trained (others)": Spec(program="trained", config={"scope": "others"}),
    "trained (own)": Spec(program="trained", config={"scope": "own"}),
    "trained": Spec(program="trained", config={"scope": "others", "joint": False}),
    "FHS-rules + precedents (others)": _RULES.changed(
        {"companions": {"precedents (others)": 4.0}, "kappa": 0.0, "beta": 0.1}
    ),
    "FHS-rules + precedents (own)": _RULES.changed(
        {"companions": {"precedents (own)": 4.0}, "kappa": 0.0, "beta": 0.1}
    ),
    "FHS-rules - verifier": _RULES.changed({"beta": 0.0}),
    "FHS-phrases": _PHRASES,
    "FHS + locus": _FHS.changed({"companions": {"locus": 1.0}}),
    "FHS graded verdicts": _FHS.changed({"verdicts": "graded"}),
    "FHS soft verdicts": _FHS.changed({"verdicts": "soft"}),
    "FHS, one-token selector": _FHS.changed({"selector": "one-token"}),
    "FHS, shared evidence": _FHS.changed({"shared_evidence": True}),
    "FHS, table": Spec(program="fhs-table", config={"Kv": 5}, shared_evidence=True),
}
"""Rows by name. "- ensemble" is the mean of keeping each hypothesis alone."""


VOTING = frozenset({"precedents", "trained"})
"""Methods that have a scope of their own."""


def spec_named(name: str) -> Spec:
    """The preset with a name, or the program with that name.

    Raises:
        ValueError: an unknown name.
    """
    if name in PRESETS:
        return PRESETS[name]
    if name in METHODS:
        return Spec(program=name)
    if ":" in name and about(name):
        return Spec(program=name)
    known = ", ".join([*PRESETS, *METHODS])
    raise ValueError(f"no program {name!r}; there are {known}, and package.module:Class")


def scopes(spec: Spec) -> frozenset[str]:
    """The scopes (``others``, ``own``) of already-tagged facts that affect a spec's results: alone, as a
    companion or as demonstrations. Empty if it uses none.
    """
    found: set[str] = {SHOWN_SCOPES[spec.generator]} if spec.generator in SHOWN_SCOPES else set()
    if spec.program in VOTING:
        found.add(getattr(spec.resolve(), "scope"))  # noqa: B009
    for name in spec.config.get("companions", {}):
        if name != spec.program:
            found |= scopes(spec_named(name))
    return frozenset(found)


def learns(spec: Spec) -> bool:
    """Whether a trained model affects a spec's results, alone or as a companion."""
    names = (name for name in spec.config.get("companions", {}) if name != spec.program)
    return spec.program == "trained" or any(learns(spec_named(name)) for name in names)


def scoped(spec: Spec, scope: Literal["others", "own"]) -> Spec:
    """A spec that uses already-tagged facts of one scope everywhere: in the vote, in its companions, as
    demonstrations.

    Raises:
        ValueError: it uses none, or a companion has no version with that scope.
    """
    used = scopes(spec)
    if not used:
        raise ValueError(f"the program {spec.program!r} uses no already-tagged facts, so it has no scope")
    if used == {scope}:
        return spec
    changes: dict[str, Any] = {}
    if spec.generator in SHOWN_SCOPES:
        changes["generator"] = next(g for g, s in SHOWN_SCOPES.items() if s == scope)
    if spec.program in VOTING:
        changes["scope"] = scope
    companions = spec.config.get("companions", {})
    if companions:
        changes["companions"] = {_twin(name, scope): weight for name, weight in companions.items()}
    return spec.changed(changes)


def _twin(name: str, scope: Literal["others", "own"]) -> str:
    """A companion's preset with another scope."""
    spec = spec_named(name)
    if not scopes(spec):
        return name
    wanted = scoped(spec, scope)
    twin = name_of(wanted)
    if twin is None:
        raise ValueError(f"its companion {name!r} has no twin of the scope {scope!r}")
    return twin


def name_of(spec: Spec) -> str | None:
    """The name of a spec's preset, or None."""
    return next((name for name, preset in PRESETS.items() if preset == spec), None)
