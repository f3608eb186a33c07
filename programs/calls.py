"""Model calls of the programs: one retry, then dropped and counted; several at once without nesting."""

from __future__ import annotations

import contextvars
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any, TypeVar

import dspy
from dspy.utils.exceptions import AdapterParseError, ContextWindowExceededError
from pydantic import ValidationError

from ..signatures.types import Fact
from .serialize import CONTEXT_CAPS, PROMPT_TOKENS, Serializer, estimated_tokens
from .trace import Call, Trace

T = TypeVar("T")

INSTRUCTION_TOKENS = 1_500
"""Allowance for the instructions and the answer's schema in the prompt budget."""

WORKERS = 256
"""Threads of the one pool that fans calls out; a served model is waited for, not computed here."""


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=WORKERS, thread_name_prefix="abduce-call")


def fan_out(thunks: Sequence[Callable[[], T]]) -> list[T]:
    """Run independent calls at the same time and return their results in order.

    The caller runs the first itself; the others run on one pool of the process, each in a copy of the
    caller's context (DSPy's settings live there). Thunks must not fan out themselves. If any raises,
    the first exception in order is raised once all have ended.
    """
    if not thunks:
        return []
    futures: list[Future[T]] = [_pool().submit(contextvars.copy_context().run, thunk) for thunk in thunks[1:]]
    outcome: T | None = None
    failure: Exception | None = None
    try:
        outcome = thunks[0]()
    except Exception as e:  # noqa: BLE001 - raised below, after the others have ended
        failure = e
    results: list[T] = [outcome]  # type: ignore[list-item]
    for future in futures:
        try:
            results.append(future.result())
        except Exception as e:  # noqa: BLE001
            failure = failure or e
    if failure is not None:
        raise failure
    return results


def ask(
    predictor: dspy.Predict,
    trace: Trace,
    stage: str,
    *,
    index: int = 0,
    temperature: float = 0.0,
    signature: type[dspy.Signature] | None = None,
    **inputs: str,
) -> Any | None:
    """One model call with one ``answer``; a reply that does not parse is retried once, then dropped.

    Args:
        predictor: a ``dspy.Predict`` whose signature has the output field ``answer``.
        trace: gets a :class:`~abduce.programs.trace.Call` for every reply, and the counters
            ``llm_calls`` and ``dropped_replies``.
        stage: ``generator``, ``verifier``, ``selector``, ...; also the stage of the caller's meter.
        index: which of several samples this is; each has a rollout of its own, so that J samples
            begin with the J - 1 samples of a smaller run.
        temperature: of the call; 0 is greedy.
        signature: stands in for the predictor's own (same fields, another answer type).
        inputs: the signature's inputs.

    Returns:
        The typed answer, or None where two replies did not parse.

    Raises:
        Whatever the language model raises when it cannot be reached.
    """
    seed = int(dspy.settings.get("seed", 0) or 0)
    for attempt in range(2):
        config: dict[str, Any] = {"temperature": temperature}
        if temperature > 0 or attempt:
            config["rollout_id"] = 1 + index + 100 * attempt + 1000 * seed
        extra = {} if signature is None else {"signature": signature}
        start = time.perf_counter()
        trace.count("llm_calls")
        try:
            with dspy.context(stage=stage):
                answer = predictor(config=config, **extra, **inputs).answer
        except (AdapterParseError, ValidationError) as e:
            reply = str(getattr(e, "lm_response", "") or "")
            trace.calls.append(
                Call(
                    stage,
                    False,
                    reply,
                    f"{type(e).__name__}: does not parse",
                    time.perf_counter() - start,
                    index,
                )
            )
            continue
        raw = answer.model_dump_json() if hasattr(answer, "model_dump_json") else json.dumps(answer)
        trace.calls.append(Call(stage, True, raw, "", time.perf_counter() - start, index))
        return answer
    trace.count("dropped_replies")
    return None


def ask_about(
    predictor: dspy.Predict,
    trace: Trace,
    stage: str,
    fact: Fact,
    serializer: Serializer,
    *,
    headers: bool = True,
    budget: int = PROMPT_TOKENS,
    index: int = 0,
    temperature: float = 0.0,
    signature: type[dspy.Signature] | None = None,
    inputs: Mapping[str, str] | None = None,
) -> Any | None:
    """:func:`ask` about a fact, its source context cut to what the prompt has room for.

    The context is capped at 12,000 characters and backs off to 8,000, 5,000 and 2,500 while the prompt
    is over ``budget`` tokens by estimate, or the server says that it is too long. ``inputs`` are the
    signature's inputs beside the evidence.
    """
    shown = set((signature or predictor.signature).input_fields)
    for cap in CONTEXT_CAPS:
        evidence = {k: v for k, v in serializer.evidence(fact, cap, headers).items() if k in shown}
        parts: Any = {**evidence, **(inputs or {})}
        last = cap == CONTEXT_CAPS[-1]
        tokens = INSTRUCTION_TOKENS + sum(estimated_tokens(p) for p in parts.values())
        if tokens > budget and not last:
            continue
        try:
            answer = ask(
                predictor,
                trace,
                stage,
                index=index,
                temperature=temperature,
                signature=signature,
                inputs=parts,
            )
        except ContextWindowExceededError:
            if last:
                raise
            trace.count("context_backoffs")
            continue
        if " ... " in evidence.get("source_context", ""):
            trace.count("truncated_contexts")
        return answer
    raise AssertionError("the last cap returns or raises")
