"""What an [lm] table says, and what it refuses."""

from __future__ import annotations

import json

import pytest
from abduce.lm.profiles import ModelProfiles
from abduce.retrievers.errors import InputError


def test_vllm_has_the_papers_model_a_local_address_and_thinking_off():
    profile = ModelProfiles.read({"kind": "vllm"}).default.profile
    assert profile.served_model == "Qwen/Qwen3-32B"
    assert profile.urls == ("http://localhost:8000/v1",)
    assert profile.thinks is False
    assert profile.schema_mode == "strict"


def test_an_openai_endpoint_is_sent_no_thinking_switch_unless_it_is_asked_for():
    table = {"kind": "openai", "model": "m", "base_url": "http://h:1/v1"}
    assert ModelProfiles.read(table).default.profile.thinks is None
    assert ModelProfiles.read({**table, "thinking": False}).default.profile.thinks is False


def test_several_addresses_are_replicas_and_lose_their_trailing_slash():
    table = {"kind": "vllm", "base_url": ["http://a:1/v1/", "http://b:1/v1"]}
    assert ModelProfiles.read(table).default.profile.urls == ("http://a:1/v1", "http://b:1/v1")


def test_a_stage_inherits_what_it_does_not_state():
    profiles = ModelProfiles.read(
        {"kind": "vllm", "base_url": "http://a:1/v1", "top_p": 0.9, "generator": {"temperature": 0.5}}
    )
    generator = profiles.of("generator")
    assert generator.profile == profiles.default.profile
    assert (generator.decoding.temperature, generator.decoding.top_p) == (0.5, 0.9)
    assert generator.stated == {"temperature"}
    assert profiles.of("verifier") == profiles.default
    assert profiles.default.decoding.temperature == 0.0


def test_a_stage_elsewhere_inherits_decoding_but_nothing_of_the_address():
    profiles = ModelProfiles.read(
        {
            "kind": "vllm",
            "base_url": "http://a:1/v1",
            "max_tokens": 99,
            "api_key_env": "MINE",
            "judge": {"kind": "openai", "model": "gpt", "base_url": "https://cloud/v1"},
        }
    )
    judge = profiles.of("judge")
    assert judge.profile.urls == ("https://cloud/v1",)
    assert judge.profile.key_variable == "OPENAI_API_KEY"
    assert judge.decoding.max_tokens == 99


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ({"kind": "vlm"}, "lm.kind"),
        ({"kind": "vllm", "temprature": 0.1}, "lm.temprature"),
        ({"kind": "vllm", "temperature": 3}, "lm.temperature"),
        ({"kind": "vllm", "verifier": {"top_p": 0}}, "lm.verifier.top_p"),
        ({"kind": "vllm", "verifier": 3}, "lm.verifier"),
        ({"kind": "openai"}, "lm"),
        ({"kind": "llama-cpp"}, "lm"),
        ({"kind": "vllm", "base_url": "localhost:8000"}, "lm.base_url"),
        ({"kind": "vllm", "api_key": "sk-secret"}, "lm.api_key"),
    ],
)
def test_a_wrong_table_is_refused_in_one_line_that_names_the_key(table, field):
    with pytest.raises(InputError) as caught:
        ModelProfiles.read(table, file="x.toml")
    text = str(caught.value)
    assert text.startswith(f"x.toml: field {field!r}: ")
    assert "\n" not in text
    assert "sk-secret" not in text


@pytest.mark.parametrize(
    "table",
    [
        {"kind": "vllm", "base_url": "http://user:sk-secret@host/v1"},
        {"kind": "vllm", "base_url": "http://host/v1?key=sk-secret"},
        {"kind": "vllm", "base_url": "user:sk-secret@host/v1"},
        {"kind": "vllm", "extra": {"api_key": "sk-secret"}},
        {"kind": "vllm", "extra": {"headers": [{"X-Api-Key": "sk-secret"}]}},
        {"kind": "vllm", "serve": {"args": ["--api-key", "sk-secret"]}},
        {"kind": "vllm", "serve": {"args": ["--api-key=sk-secret"]}},
        {"kind": "vllm", "api_key_env": "sk-secret"},
    ],
)
def test_a_secret_in_the_table_is_refused_without_repeating_it(table):
    with pytest.raises(InputError) as caught:
        ModelProfiles.read(table)
    assert "sk-secret" not in str(caught.value)


def test_the_resolved_table_is_complete_names_the_variable_and_never_holds_the_key(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret")
    table = {"kind": "vllm", "api_key_env": "MY_KEY", "verifier": {"temperature": 0.1}}
    resolved = ModelProfiles.read(table).resolved()
    assert "sk-secret" not in json.dumps(resolved)
    assert resolved["api_key_env"] == "MY_KEY"
    assert resolved["model"] == "Qwen/Qwen3-32B"
    assert resolved["verifier"]["temperature"] == 0.1
    again = ModelProfiles.read(resolved)
    assert again.default.profile.urls == ("http://localhost:8000/v1",)
    assert again.resolved() == resolved


def test_none_is_the_default_and_resolves_to_itself():
    assert ModelProfiles.read({}).resolved() == {"kind": "none"}
