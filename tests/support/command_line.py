"""The command line in this process, as ``main`` runs it: exit codes, both streams, errors in one line."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Ran:
    """What a command did: its exit code and what it wrote to both streams."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err

    @property
    def errors(self) -> list[str]:
        """The lines of ``err``."""
        return self.err.strip().splitlines()


def cli(*arguments: object, columns: int = 200) -> Ran:
    """``cli("tag", "facts.jsonl")`` runs ``abduce tag facts.jsonl`` on a terminal of so many columns."""
    from abduce.cli.main import main

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", newline="") for _ in range(2))
    code = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setenv("COLUMNS", str(columns))
        patch.delenv("ABDUCE_DATA", raising=False)
        patch.setattr("sys.argv", ["abduce", *map(str, arguments)])
        try:
            main()
        except SystemExit as e:
            code = int(e.code or 0)
    texts = []
    for stream in (out, err):
        stream.seek(0)
        texts.append(stream.read())
    return Ran(code, *texts)
