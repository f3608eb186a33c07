"""Why a request gets no answer: a status of HTTP and one line."""

from __future__ import annotations

import logging
import sys

from ..retrievers.errors import InputError

LOG = logging.getLogger("abduce.serve")


class Refusal(Exception):
    """A request that is refused.

    Args:
        status: of HTTP, 400 to 599.
        message: one line for whoever asked.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def refusal_of(error: Exception) -> Refusal:
    """What an error is to whoever asked: their own fault (422), the model's (502), or ours (500), of which
    only the log says more."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, InputError):
        return Refusal(422, str(error))
    errors = sys.modules.get("dspy.utils.exceptions")  # not imported where nothing calls a model
    if errors is not None and isinstance(error, errors.LMError):
        return Refusal(502, " ".join(str(error).split())[:500])
    LOG.error("a request failed", exc_info=error)
    return Refusal(500, "something went wrong here; the server's log says what")
