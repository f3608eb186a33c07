"""The command that starts a server."""

from __future__ import annotations

import json
import shlex

import pytest
from abduce.lm.profiles import ModelProfiles
from abduce.lm.serve import serve_command, shell_line
from abduce.retrievers.errors import InputError
from command_line import cli


def command(**table):
    return serve_command(ModelProfiles.read(table).default.profile)


def options(words):
    return {a: b for a, b in zip(words, [*words[1:], ""], strict=True) if a.startswith("--")}


def test_vllm_is_started_with_everything_that_matters():
    words = command(kind="vllm")
    assert words[:3] == ["vllm", "serve", "Qwen/Qwen3-32B"]
    given = options(words)
    assert "--enable-prefix-caching" in given
    assert given["--generation-config"] == "vllm"
    assert given["--max-model-len"] == "40960"
    assert given["--tensor-parallel-size"] == given["--data-parallel-size"] == "1"
    assert "--reasoning-parser" not in given


def test_a_reasoning_parser_comes_with_thinking_only():
    assert options(command(kind="vllm", thinking=True))["--reasoning-parser"] == "qwen3"


def test_sizes_and_further_arguments_are_taken_over():
    serve = {"tensor_parallel": 4, "data_parallel": 2, "max_model_len": 9000, "port": 9, "args": ["--x", "1"]}
    words = command(kind="vllm", model="Qwen/Qwen3-4B-Instruct-2507", serve=serve)
    given = options(words)
    assert (given["--tensor-parallel-size"], given["--data-parallel-size"]) == ("4", "2")
    assert (given["--max-model-len"], given["--port"], given["--x"]) == ("9000", "9", "1")
    assert words[2] == "Qwen/Qwen3-4B-Instruct-2507"


def test_the_key_is_never_on_the_command_line(monkeypatch):
    monkeypatch.setenv("VLLM_API_KEY", "sk-secret")
    assert "sk-secret" not in " ".join(command(kind="vllm"))


def test_llama_cpp_is_started_on_its_file():
    words = command(kind="llama-cpp", path="a model.gguf", serve={"port": 1234})
    told = json.loads(words[-1])
    assert (told["path"], told["port"]) == ("a model.gguf", 1234)


def test_the_printed_line_is_the_command():
    words = command(kind="llama-cpp", path="a model.gguf")
    assert shlex.split(shell_line(words).replace("\\\n", " ")) == words


def test_a_plain_endpoint_has_nothing_to_start():
    with pytest.raises(InputError, match="starts no server"):
        command(kind="openai", model="m", base_url="http://h/v1")


def test_one_of_an_experiments_models_is_served():
    shown = cli("lm", "serve", "hcqr-main", "--model", "Llama-3.1-8B").out
    assert "meta-llama/Llama-3.1-8B-Instruct" in shown
    assert "--port 8002" in shown
    assert "--max-model-len 8192" in shown
    unnamed = cli("lm", "serve", "hcqr-main")
    assert "name one of its models: Llama-3.2-3B, Llama-3.1-8B" in unnamed.err
    alone = cli("lm", "serve", "hcqr-smoke").out
    assert "Qwen/Qwen3-4B-Instruct-2507" in alone


def test_an_unknown_setting_of_the_server_is_told_with_the_known_ones():
    with pytest.raises(InputError, match=r"lm\.serve\.prot.*known: args.*port") as refused:
        command(kind="vllm", serve={"prot": 1})
    assert "temperature" not in str(refused.value)
