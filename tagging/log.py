"""Notes for the user as log records."""

from __future__ import annotations

import logging

LOG = logging.getLogger("abduce.tagging")


def log_note(line: str) -> None:
    """Log a note, in one line, at level INFO."""
    LOG.info("%s", line)
