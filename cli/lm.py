"""``abduce lm check``: try out a model endpoint and say what it honours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
        Path | None, typer.Argument(help="A TOML file with an \\[lm] table; without it, the options below.")
    ] = None,
    kind: Annotated[str, typer.Option(help="vllm, openai or llama-cpp.")] = "vllm",
    url: Annotated[
        list[str] | None, typer.Option(help="Address that ends in /v1; may be given again.")
    ] = None,
    model: Annotated[str, typer.Option(help="The model's name on the server.")] = "",
    path: Annotated[str | None, typer.Option(help="GGUF file, for llama-cpp.")] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable that holds the key; never the key itself.")
    ] = None,
    stage: Annotated[str, typer.Option(help="Check the model of this stage (\\[lm.STAGE]).")] = "",
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for one request.")] = 120.0,
) -> None:
    """Send a few tiny requests and say what the endpoint honours: schema, patterns, thinking switch,
    log-probabilities, soft verdicts, one-token selection, n, seed, token counts, context length.

    Leaves with exit code 1 if programs cannot use the endpoint as it would be asked.

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
