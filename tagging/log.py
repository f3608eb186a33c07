"""What a user should know beside the results, as log records: a program shows them or not."""

from __future__ import annotations

import logging

LOG = logging.getLogger("abduce.tagging")


def log_note(line: str) -> None:
    """Log a note, in one line, at level INFO."""
    LOG.info("%s", line)
