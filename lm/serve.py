"""The command that starts a model server for a profile, with all relevant options."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

from ..retrievers.errors import InputError
from .profiles import Profile

VLLM = "0.33"
"""The vLLM release the command is written for."""

MAX_MODEL_LEN = 40_960
"""Tokens: the selector's budget of 30,000, its answer, and room; also Qwen3-32B's own length."""


def serve_command(profile: Profile) -> list[str]:
    """The arguments of a server that answers as the profile expects.

    vLLM: prefix caching is on and cached tokens are reported. Sampling defaults of the model's
    ``generation_config`` are off (Qwen3's sets a top_k that no request asks for). A reasoning parser is set
    only if thinking is on; with thinking off it removes the answer in several releases. vLLM reads the key
    from ``VLLM_API_KEY``, so it never appears in a process list.

    Raises:
        InputError: the profile needs no server.
    """
    if profile.kind == "vllm":
        return _vllm(profile)
    if profile.kind == "llama-cpp":
        told = {
            "path": profile.path, "port": profile.serve.port, "context": profile.context,
            "slots": profile.slots, "threads": profile.threads, "name": profile.served_model,
        }  # fmt: skip
        return [sys.executable, str(Path(__file__).with_name("llama_child.py")), json.dumps(told)]
    raise InputError(
        f"a profile of kind {profile.kind!r} starts no server: use vllm or llama-cpp", field="lm.kind"
    )


def _vllm(profile: Profile) -> list[str]:
    serve = profile.serve
    command = ["vllm", "serve", profile.served_model]
    options: dict[str, object] = {
        "--host": serve.host,
        "--port": serve.port,
        "--tensor-parallel-size": serve.tensor_parallel,
        "--data-parallel-size": serve.data_parallel,
        "--max-model-len": serve.max_model_len or MAX_MODEL_LEN,
        "--gpu-memory-utilization": serve.gpu_memory,
        "--generation-config": "vllm",
        "--seed": 0,
    }
    if serve.max_num_seqs is not None:
        options["--max-num-seqs"] = serve.max_num_seqs
    if profile.thinks:
        options["--reasoning-parser"] = "qwen3"
    for name, value in options.items():
        command += [name, str(value)]
    return [*command, "--enable-prefix-caching", "--enable-prompt-tokens-details", *serve.args]


def shell_line(command: list[str]) -> str:
    """The command for a shell, one option per line."""
    parts = [shlex.quote(part) for part in command]
    lines, current = [], ""
    for part in parts:
        if part.startswith("--") and current:
            lines.append(current)
            current = f"    {part}"
        else:
            current = f"{current} {part}" if current else part
    return " \\\n".join([*lines, current])
