"""What a running program tells others: status messages to a DSPy stream, spans to OpenTelemetry.

Both cost next to nothing where nobody listens. Spans are made where the application has imported
OpenTelemetry's API and set a tracer provider: ``abduce.STAGE`` for each stage, ``abduce.call`` for each model
call inside, and ``abduce.retrieve`` knows how much was searched and found.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import anyio
import dspy

from .running import blocking

STATUS: Mapping[str, str] = {
    "generate": "writing hypotheses",
    "retrieve": "retrieving",
    "fuse": "fusing rankings",
    "verify": "checking candidates",
    "select": "selecting",
    "rank": "ranking",
    "formulate": "forming a hypothesis",
    "rewrite": "writing queries",
    "propose": "proposing answers",
    "hyde": "imagining documents",
    "filter": "judging documents",
    "rerank": "reranking",
    "answer": "answering",
    "judge": "judging the context",
}
"""What a stage says of itself to the users of a streamed program (``dspy.streamify``)."""


def announce(stage: str) -> None:
    """Send a stage's status message to the stream of the caller's DSPy context, where there is one.

    One that finds the stream full, or starts in a thread that has no way to its loop, is left out.
    """
    stream = dspy.settings.get("send_stream")
    if stream is None:
        return
    message = dspy.streaming.StatusMessage(STATUS.get(stage, stage))
    try:
        if blocking():
            anyio.from_thread.run_sync(stream.send_nowait, message)
        else:
            stream.send_nowait(message)
    except (anyio.WouldBlock, RuntimeError):
        return


@contextmanager
def span(name: str, **attributes: Any) -> Iterator[Any]:
    """An OpenTelemetry span ``abduce.NAME`` around the block; None where none is configured.

    An error of the block is recorded in it.
    """
    tracer = _tracer()
    if tracer is None:
        yield None
        return
    named = {f"abduce.{key}": value for key, value in attributes.items()}
    with tracer.start_as_current_span(f"abduce.{name}", attributes=named) as current:
        yield current


def note(current: Any, **attributes: Any) -> None:
    """Add what became known to a span that :func:`span` gave."""
    if current is not None:
        for key, value in attributes.items():
            current.set_attribute(f"abduce.{key}", value)


def _tracer() -> Any:
    api = sys.modules.get("opentelemetry.trace")  # never imported here: who configures it has done so
    if api is None:
        return None
    provider = api.get_tracer_provider()
    return None if isinstance(provider, api.ProxyTracerProvider) else provider.get_tracer("abduce")
