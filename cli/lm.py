"""``abduce lm check`` checks a model endpoint; ``abduce lm serve`` starts a model server for a profile."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

lm = typer.Typer(
    name="lm",
    help="Language-model endpoints.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@lm.callback()
def _group() -> None:
    """Language-model endpoints."""


@lm.command()
def check(
    experiment: Annotated[
        Path | None, typer.Argument(help="A TOML file with an \\[lm] table; default: the options below.")
    ] = None,
    kind: Annotated[str, typer.Option(help="vllm, openai or llama-cpp.")] = "vllm",
    url: Annotated[list[str] | None, typer.Option(help="Address that ends in /v1; repeatable.")] = None,
    model: Annotated[str, typer.Option(help="The model's name on the server.")] = "",
    path: Annotated[str | None, typer.Option(help="GGUF file, for llama-cpp.")] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable with the key; never the key itself.")
    ] = None,
    stage: Annotated[str, typer.Option(help="Check the model of this stage (\\[lm.STAGE]).")] = "",
    timeout: Annotated[float, typer.Option(min=1, help="Seconds per request.")] = 120.0,
) -> None:
    """Send a few tiny requests and report what the endpoint supports: schema, patterns, thinking switch,
    log-probabilities, soft verdicts, one-token selection, n, seed, token counts, context length.

    The exit code is 1 if programs cannot use the endpoint with these settings.

    Examples:

        abduce lm check --url http://localhost:8000/v1

        abduce lm check my-experiment.toml --stage judge

        abduce lm check --kind openai --url http://localhost:11434/v1 --model qwen3:4b
    """
    from .pages.endpoints import check_endpoints, read_profile

    given = {"kind": kind, "base_url": url, "model": model, "path": path, "api_key_env": api_key_env}
    profile = read_profile(experiment, {k: v for k, v in given.items() if v}, stage)
    if not check_endpoints(profile, timeout):
        raise typer.Exit(1)


@lm.command()
def serve(
    profile: Annotated[
        str,
        typer.Argument(help="vllm, llama-cpp, a TOML file with an \\[lm] table, or an experiment."),
    ],
    run: Annotated[
        bool, typer.Option("--run", help="Start the server; without this, print the command.")
    ] = False,
    model: Annotated[
        str, typer.Option(help="The model; for an experiment with several, its name there.")
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

        abduce lm serve vllm --tensor-parallel 2

        abduce lm serve vllm --model Qwen/Qwen3-4B-Instruct-2507 --run

        abduce lm serve llama-cpp --path model.gguf --run

        abduce lm serve hcqr-main --model Qwen3-4B --run
    """
    from .pages.endpoints import read_profile, start_or_print

    options = {
        "host": host,
        "port": port,
        "tensor_parallel": tensor_parallel,
        "data_parallel": data_parallel,
        "max_model_len": max_model_len,
    }
    given: dict[str, Any] = {"model": model, "path": path, "thinking": thinking or None}
    given["serve"] = {k: v for k, v in options.items() if v is not None}
    file = Path(profile) if profile.endswith(".toml") else None
    named = _model_of(profile, model)
    if named is not None:
        given = {**given, **named, "serve": {**named.get("serve", {}), **given["serve"]}}
        file = None
    elif file is None:
        given["kind"] = profile
    start_or_print(read_profile(file, {k: v for k, v in given.items() if v}), run)


def _model_of(profile: str, model: str) -> dict[str, Any] | None:
    """The ``[lm]`` table of one of an experiment's models; None if it is not an experiment with models.

    Raises:
        InputError: it has several models, and none is called ``model``.
    """
    from ..lm.profiles import KINDS
    from ..retrievers.errors import InputError
    from ..retrievers.files import read_toml

    if profile in KINDS or (profile.endswith(".toml") and "model" not in read_toml(profile)):
        return None
    from ..eval.experiments.files import load_experiment

    models: dict[str, dict[str, Any]] = load_experiment(profile).table.models()
    if model in models:
        return models[model]
    if list(models) == [""]:
        return models[""] | ({"model": model} if model else {})
    raise InputError(f"name one of its models: {', '.join(models)}", field="model")
