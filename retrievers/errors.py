"""What is wrong with a user's input, in one line."""

from __future__ import annotations

from pathlib import Path


class InputError(ValueError):
    """Bad input. Its text is one line that names the file, line and field where they are known.

    The command line prints it and leaves with exit code 2. ``of_every_example``: it is no fault of the one
    fact or question on which it came up, and ends a run.
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
        super().__init__(": ".join(parts))


class MissingExtra(InputError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"{package} is not installed; install abduce[{extra}] (pip install 'abduce[{extra}]')"
        )
