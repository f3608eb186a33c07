"""Output and actions of ``abduce lm check`` and ``abduce lm serve``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from ...lm.check import Finding, check, usable
from ...lm.options import lm_table
from ...lm.profiles import ModelProfiles, Profile
from ...lm.serve import VLLM, serve_command, shell_line
from ...retrievers.errors import InputError, MissingExtra
from ..terminal import Console

_MARKS = {"yes": "[green]yes[/]", "no": "[red]no[/]", "unknown": "[yellow]?[/]"}


def read_profile(file: Path | None, given: Mapping[str, Any], stage: str = "") -> Profile:
    """The profile of a command: the ``[lm]`` table of a file, or the command's options.

    ``given`` overrides the file's table, if there is one; its ``serve`` table is merged in.

    Raises:
        InputError: no such file, no ``[lm]`` table in it, or a wrong setting.
    """
    table: dict[str, Any] = {}
    if file is not None:
        table = lm_table(file)
        given = {k: v for k, v in given.items() if k != "kind"}
    serve = {**(table.get("serve") or {}), **(given.get("serve") or {})}
    table = {**table, **given, **({"serve": serve} if serve else {})}
    profiles = ModelProfiles.read(table, file=file)
    profile = (profiles.of(stage) if stage else profiles.default).profile
    if profile.kind == "none":
        raise InputError(
            "the profile is 'none': name a kind (vllm, openai or llama-cpp)", file=file, field="lm.kind"
        )
    return profile


def check_endpoints(profile: Profile, timeout: float, console: Console | None = None) -> bool:
    """Check every address of a profile and print the findings. True: programs can use all of them."""
    console = console or Console()
    fit = True
    with ExitStack() as stack:
        urls = profile.urls
        if profile.kind == "llama-cpp" and not urls:
            from ...lm.llama import LlamaServer

            urls = (stack.enter_context(LlamaServer.of(profile)).url,)
        for url in urls:
            findings = check(profile, url, timeout)
            console.print(_table(url, findings))
            fit &= usable(findings)
    console.print("Programs can use it." if fit else "Programs cannot use it as it would be asked.")
    return fit


def _table(url: str, findings: list[Finding]) -> Table:
    table = Table(title=escape(url), title_justify="left")
    for column in ("what", "honoured", "detail"):
        table.add_column(column)
    for found in findings:
        table.add_row(escape(found.what), _MARKS[found.mark], escape(found.detail))
    return table


def start_or_print(profile: Profile, run: bool, console: Console | None = None) -> None:
    """Print the command that starts a server for the profile, or run it in place of this process.

    Raises:
        MissingExtra: ``run``, and the server is not installed.
    """
    command = serve_command(profile)
    if not run:
        console = console or Console(soft_wrap=True)
        if profile.kind == "vllm":
            note = (
                f"# for vLLM {VLLM} (pip install 'abduce[gpu]'); the key, if any, is read from VLLM_API_KEY"
            )
            console.print(note, markup=False, highlight=False)
        console.print(shell_line(command), markup=False, highlight=False)
        return
    if shutil.which(command[0]) is None:
        raise MissingExtra(command[0], "gpu")
    os.execvp(command[0], command)
