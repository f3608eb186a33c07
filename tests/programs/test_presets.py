"""Presets: an ablation differs from FHS in exactly the fields it names; wrong settings are refused."""

from __future__ import annotations

import pytest
from abduce.programs.methods import PROGRAMS, Parts, build_program
from abduce.programs.presets import PRESETS, scopes, spec_named
from abduce.programs.spec import METHODS, Spec

NAMED = {
    "- ensemble (hypothesis 0)": {"config.keep": [0]},
    "- ensemble (hypothesis 1)": {"config.keep": [1]},
    "- label form": {"config.forms": ["definition"], "config.beta": 0.8},
    "- definition form": {"config.forms": ["label"], "config.beta": 0.2},
    "- verifier": {"config.beta": 0.0},
    "mean RRF": {"config.fusion": "mean"},
    "raw fused scores": {"config.normalise": False},
    "- label coverage": {"retriever.w_cov": 0.0},
    "abstain as no support": {"config.abstain": "no_support"},
    "program-driven score": {"verifier": "symbolic"},
    "one-pass structured": {"config.J": 1, "config.temperature": 0.0, "config.beta": 0.0},
    "- ensemble": {"program": "each-alone"},
    "oracle best single": {"program": "oracle"},
    "verifier picks one": {"program": "verifier-picks"},
    "FHS-Seq": {"program": "fhs-seq", "config.rounds": 3},
    "FHS + locus": {"config.companions": {"locus": 1.0}},
    "FHS graded verdicts": {"verdicts": "graded"},
    "FHS soft verdicts": {"verdicts": "soft"},
    "FHS, one-token selector": {"selector": "one-token"},
    "FHS, shared evidence": {"shared_evidence": True},
    "FHS, table": {"program": "fhs-table", "config.Kv": 5, "shared_evidence": True},
    "Kv = 5": {"config.Kv": 5},
    "Kv = 20": {"config.Kv": 20},
    **{f"J = {n}": {"config.J": n} for n in (1, 3, 4)},
    "beta = 0": {"config.beta": 0.0},
    "beta = 0.2": {"config.beta": 0.2},
    "beta = 0.4": {"config.beta": 0.4},
    "beta = 0.8": {"config.beta": 0.8},
    "beta = 1": {"config.beta": 1.0},
    "verifier on, selector on": {"selector": True},
    "verifier on, selector off": {},
    "verifier off, selector on": {"config.beta": 0.0, "selector": True},
    "verifier off, selector off": {"config.beta": 0.0},
    "FHS-rules": {"generator": "rules", "verifier": "symbolic", "config.J": 1},
}

ALONE = [name for name, spec in PRESETS.items() if not scopes(spec)]
"""Presets that need no already-tagged facts; the others are tested with the precedents."""


OWN = {"FHS", "FHS-rules - verifier", "FHS-phrases"}
"""FHS itself, and rows that are no variation of it in one thing."""


def resolved(spec):
    """Every setting of a spec, its config's defaults included, by dotted name."""
    flat = {}
    for key, value in spec.model_dump(mode="json").items():
        if key == "config":
            value = spec.resolve().model_dump(mode="json")
        if isinstance(value, dict):
            flat |= {f"{key}.{k}": v for k, v in value.items()}
        else:
            flat[key] = value
    return flat


def difference(spec, base):
    a, b = resolved(spec), resolved(base)
    return {k: a.get(k) for k in a.keys() | b.keys() if a.get(k) != b.get(k)}


@pytest.mark.parametrize("name", NAMED)
def test_a_preset_differs_from_FHS_in_exactly_what_it_names(name):
    assert difference(PRESETS[name], PRESETS["FHS"]) == NAMED[name]


@pytest.mark.parametrize(
    ("name", "base", "changes"),
    [
        (
            "one-pass free-text",
            "parallel sampling",
            {"config.J": 1, "config.temperature": 0.0, "options.arm": "bare"},
        ),
        ("parallel sampling (forced variation)", "parallel sampling", {"options.arm": "varied"}),
        ("stochastic samples", "parallel sampling", {"config.J": 4, "options.arm": "warmer"}),
        (
            "diversity-prompted",
            "parallel sampling",
            {"config.J": 4, "config.temperature": 0.0, "options.arm": "diverse"},
        ),
        ("dimensions assigned", "diversity-prompted", {"options.arm": "directed"}),
        ("- factorization", "parallel sampling", {}),
        ("feedback refinement", "intrinsic refinement", {"options.feedback": True}),
        ("FHS-rules - verifier", "FHS-rules", {"config.beta": 0.0}),
        ("probe: label", "probe: label + definition", {"options.text": "label"}),
    ],
)
def test_others_differ_from_their_base(name, base, changes):
    assert difference(PRESETS[name], PRESETS[base]) == changes


def test_every_FHS_like_preset_is_named_above():
    family = {"fhs", "fhs-seq", "fhs-table", "each-alone", "oracle", "verifier-picks"}
    like = {name for name, spec in PRESETS.items() if spec.program in family and name in ALONE}
    assert like - OWN == set(NAMED)


@pytest.mark.parametrize("name", ALONE)
def test_every_preset_builds_and_says_what_it_needs(name, tiny, schema, table_retriever):
    program = build_program(spec_named(name), Parts(lambda _: table_retriever(tiny), tiny, schema))
    spec = spec_named(name)
    method = program.program if spec.selector or spec.shared_evidence else program
    assert type(method) is PROGRAMS[spec.program].cls
    assert program.needs_gold == (name.startswith("probe") or name.startswith("oracle"))


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("direct", False),
        ("locus", False),
        ("probe: label", False),
        ("FHS-rules", False),
        ("FHS", True),
        ("- verifier", True),
        ("program-driven score", True),
        ("decomposed", True),
        ("one-pass free-text", True),
    ],
)
def test_needs_model(name, needs):
    assert spec_named(name).needs_model is needs
    assert spec_named(name).changed({"selector": True}).needs_model


def test_rules_with_a_model_s_verifier_need_a_model_unless_beta_is_0():
    rules = spec_named("FHS-rules").changed({"verifier": "lm"})
    assert rules.needs_model
    assert not rules.changed({"beta": 0.0}).needs_model


class TestChanges:
    def test_where_a_key_goes(self):
        spec = spec_named("FHS").changed(
            {"beta": 0.1, "retriever.w_cov": 0.0, "serializer.markup": "html", "prompts": "paper"}
        )
        assert spec.config["beta"] == 0.1
        assert dict(spec.retriever) == {"w_cov": 0.0}
        assert dict(spec.serializer) == {"markup": "html"}
        assert spec.prompts == "paper"

    def test_the_base_stays(self):
        before = PRESETS["FHS"].model_dump()
        PRESETS["FHS"].changed({"beta": 0.1, "retriever.w_cov": 0.0})
        assert PRESETS["FHS"].model_dump() == before

    @pytest.mark.parametrize(
        ("changes", "says"),
        [
            ({"colour": 1}, "no setting 'colour'"),
            ({"index.colour": 1}, "no setting 'index.colour'"),
            ({"beta": "high"}, "beta: "),
            ({"beta": -1}, "beta: "),
            ({"generator": "magic"}, "generator: "),
            ({"verdicts": "long"}, "verdicts: "),
        ],
    )
    def test_what_is_no_setting_is_refused_in_one_line(self, changes, says):
        with pytest.raises(ValueError) as caught:
            spec_named("FHS").changed(changes)
        assert says in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_setting_of_another_method_is_refused(self):
        with pytest.raises(ValueError, match="no setting 'beta'"):
            spec_named("direct").changed({"beta": 0.5})

    def test_an_unknown_option_or_serializer_setting_is_refused_when_built(
        self, tiny, schema, table_retriever
    ):
        parts = Parts(lambda _: table_retriever(tiny), tiny, schema)
        with pytest.raises(ValueError, match="colour"):
            build_program(spec_named("direct").changed({"options.colour": 1}), parts)
        with pytest.raises(ValueError, match="colour"):
            build_program(spec_named("direct").changed({"serializer.colour": 1}), parts)

    def test_retriever_settings_reach_the_builder(self, tiny, schema, table_retriever):
        asked = []

        def retriever(settings):
            asked.append(dict(settings))
            return table_retriever(tiny)

        build_program(spec_named("- label coverage"), Parts(retriever, tiny, schema))
        assert asked == [{"w_cov": 0.0}]


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match=r"no program 'nope'; there are direct, locus"):
        spec_named("nope")
    with pytest.raises(ValueError, match=r"no program 'nope'"):
        Spec(program="nope").resolve()


def test_what_is_known_of_a_method_is_what_its_class_says() -> None:
    assert METHODS.keys() == PROGRAMS.keys()
    for name, method in PROGRAMS.items():
        assert METHODS[name].needs_gold == method.cls.needs_gold, name
        own = getattr(method.cls, "default_config", None)
        assert own is None or isinstance(own, METHODS[name].config), name
