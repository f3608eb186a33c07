"""Errors in a user's input, or of one item of a run, in one line."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ..signatures.outside import plain
from ..signatures.toml import problem

if TYPE_CHECKING:
    from pydantic import ValidationError


MAX_TEXT = 2_000
"""Characters of a complaint: what it quotes may be of any length."""


class InputError(ValueError):
    """Bad input. Its text is one line that names the file, line and field, if known.

    The command line prints it and exits with code 2. ``of_every_example``: the error affects every fact or
    question, so it ends a run.
    """

    of_every_example = False

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        place = ":".join(str(p) for p in (file, line) if p is not None)
        parts = [p for p in (place, f"field {field!r}" if field else "", " ".join(message.split())) if p]
        text = plain(": ".join(parts))
        super().__init__(text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} ...")

    @classmethod
    def of_validation(
        cls,
        error: ValidationError,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        within: str = "",
    ) -> Self:
        """Pydantic's first error; ``within`` is the field's table (``lm``)."""
        field, message = problem(error)
        return cls(message, file=file, line=line, field=".".join(p for p in (within, field) if p) or None)


class MissingExtra(InputError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"{package} is not installed; install abduce[{extra}] (pip install 'abduce[{extra}]')"
        )


def describe(error: Exception) -> dict[str, str]:
    """An exception as ``type``, ``message`` (one line) and ``at`` (file and line of the raise)."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f"{'/'.join(Path(frames[-1].filename).parts[-2:])}:{frames[-1].lineno}" if frames else ""
    return {"type": type(error).__name__, "message": plain(" ".join(str(error).split()))[:2000], "at": at}
