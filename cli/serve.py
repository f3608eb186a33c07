"""``abduce serve``: the command that starts a model server for a profile."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    profile: Annotated[str, typer.Argument(help="vllm, llama-cpp, or a TOML file with an \\[lm] table.")],
    run: Annotated[
        bool, typer.Option("--run", help="Start the server; without it the command is printed.")
    ] = False,
    model: Annotated[
        str, typer.Option(help="Model; the HCQR paper's are Qwen/Qwen3-4B-Instruct-2507 and -30B-A3B-.")
    ] = "",
    path: Annotated[str | None, typer.Option(help="GGUF file, for llama-cpp.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; default this machine only.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535)] = None,
    tensor_parallel: Annotated[int | None, typer.Option(min=1, help="GPUs that share one copy.")] = None,
    data_parallel: Annotated[int | None, typer.Option(min=1, help="Copies of the model.")] = None,
    max_model_len: Annotated[int | None, typer.Option(min=512, help="Tokens of context.")] = None,
    thinking: Annotated[
        bool, typer.Option("--thinking", help="Serve for profiles with thinking on.")
    ] = False,
) -> None:
    """Print, or with --run start, a server that answers as the profile expects.

    Examples:

        abduce serve vllm --tensor-parallel 2

        abduce serve vllm --model Qwen/Qwen3-4B-Instruct-2507 --run

        abduce serve llama-cpp --path model.gguf --run
    """
    from .pages.endpoints import read_profile, start_or_print

    options = {
        "host": host,
        "port": port,
        "tensor_parallel": tensor_parallel,
        "data_parallel": data_parallel,
        "max_model_len": max_model_len,
    }
    given: dict[str, object] = {"model": model, "path": path, "thinking": thinking or None}
    file = Path(profile) if profile.endswith(".toml") else None
    if file is None:
        given["kind"] = profile
    given["serve"] = {k: v for k, v in options.items() if v is not None}
    start_or_print(read_profile(file, {k: v for k, v in given.items() if v}), run)
