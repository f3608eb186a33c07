"""Settings: the papers' defaults; an unknown key or a value out of range is an error."""

from __future__ import annotations

import pytest
from abduce.programs.config import FHSConfig, FHSSeqConfig, RefineConfig, SampleConfig, SearchConfig
from pydantic import ValidationError


def test_the_paper_s_settings_are_the_defaults():
    config = FHSConfig()
    assert (config.J, config.K, config.kappa, config.Kv, config.beta, config.scan) == (
        2,
        200,
        60,
        10,
        0.6,
        60,
    )
    assert (config.temperature, config.fusion, config.normalise, config.abstain) == (
        0.8,
        "sum",
        True,
        "exclude",
    )
    assert config.forms == ("label", "definition")
    assert (FHSSeqConfig().rounds, RefineConfig().rounds, RefineConfig().shown) == (3, 4, 10)


@pytest.mark.parametrize("cls", [SearchConfig, SampleConfig, FHSConfig, FHSSeqConfig, RefineConfig])
def test_an_unknown_key_is_an_error(cls):
    with pytest.raises(ValidationError, match="colour"):
        cls(colour=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"J": 0},
        {"K": 0},
        {"kappa": -1},
        {"Kv": 0},
        {"beta": -0.1},
        {"temperature": 3},
        {"fusion": "max"},
        {"forms": ("title",)},
        {"abstain": "support"},
    ],
)
def test_a_value_out_of_range_is_an_error(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        FHSConfig(**wrong)
