"""What a user must know beside the results: the project's log records, as lines on standard error."""

from __future__ import annotations

import logging


def print_note(line: str) -> None:
    """Print a note on standard error, in one line."""
    from .terminal import Console

    Console(stderr=True).print(f"note: {line}", markup=False, highlight=False, soft_wrap=True)


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print_note(record.getMessage())


def show_log(level: int = logging.INFO) -> None:
    """From now on print what ``abduce`` logs at a level or above it; details are logged at DEBUG."""
    log = logging.getLogger("abduce")
    log.setLevel(level)
    if not any(isinstance(handler, _Notes) for handler in log.handlers):
        log.addHandler(_Notes())
