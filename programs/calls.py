"""Model calls of the programs: an unusable reply is asked for once more, then dropped and counted."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError, ContextWindowExceededError
from pydantic import ValidationError

from ..retrievers.errors import InputError
from ..signatures.types import Fact
from .adapter import StrictJSON
from .receipt import Receipt
from .running import called
from .serialize import CONTEXT_CAPS, PROMPT_TOKENS, Serializer, estimated_tokens
from .stages import Stage
from .telling import note, span
from .trace import Call, Trace

INSTRUCTION_TOKENS = 1_500
"""Allowance for the instructions and the answer's schema in the prompt budget."""

EXPLICIT = {"top_p": 1.0, "max_tokens": 2_048}
"""Decoding that is sent where the model does not state it itself."""

MAX_RAW = 32_000
"""Characters of a reply that the trace keeps; 2,048 tokens are about 8,000."""


class NoModel(InputError):
    """A program (``who``) needs a language model, but the caller has none."""

    of_every_example = True

    def __init__(self, who: str) -> None:
        super().__init__(
            f"{who} needs a language model and none is set: give the command --lm FILE or the "
            "experiment an [lm] table (kind vllm, openai or llama-cpp; try 'abduce lm check'), call "
            "dspy.configure(lm=...), or use a program that needs no model"
        )


def model_for(predictor: dspy.Predict, stage: str) -> Any:
    """The model of a stage.

    The predictor's own (``predictor.set_lm``), else the caller's for the stage (``stage_lms`` of the DSPy
    context; None there: the stage has no model), else the caller's ``lm``.

    Raises:
        NoModel: there is none.
    """
    own = getattr(predictor, "lm", None)
    lm = own or (dspy.settings.get("stage_lms") or {}).get(stage, dspy.settings.lm)
    if lm is None:
        raise NoModel(f"the {stage}")
    return lm


def decoding(lm: Any, temperature: float | None, rollout: int, fresh: bool) -> dict[str, Any]:
    """The settings of one call, in addition to those that the model sends with every call.

    Args:
        temperature: None: greedy, unless the user set a temperature in ``[lm]``; 0: greedy by the method's
            definition; above 0: the method samples, and a temperature in ``[lm.STAGE]`` replaces it.
        rollout: distinguishes samples of one prompt, in the cache and as the seed of a sampled reply.
        fresh: ask the server even if the cache has the reply of rollout 0.
    """
    own: dict[str, Any] = getattr(lm, "kwargs", None) or {}
    stated = getattr(lm, "stated", None)
    if stated is not None and (temperature is None or (temperature > 0 and "temperature" in stated)):
        temperature = own.get("temperature")
    config: dict[str, Any] = {}
    reasons = "max_completion_tokens" in own  # OpenAI's reasoning models refuse any decoding but their own
    if not reasons:
        config = {name: value for name, value in EXPLICIT.items() if own.get(name) is None}
        config["temperature"] = temperature or 0.0
    sampled = reasons or config["temperature"] > 0
    if sampled or fresh:
        config["rollout_id"] = rollout
    if sampled and getattr(lm, "seeds_samples", False):
        config["seed"] = rollout
    return config


async def ask(
    predictor: dspy.Predict,
    trace: Trace,
    stage: Stage | str,
    *,
    index: int = 0,
    temperature: float | None = None,
    signature: type[dspy.Signature] | None = None,
    **inputs: str,
) -> Any | None:
    """One model call with one ``answer``; a reply that does not parse, or was cut off before the answer was
    complete, is asked for once more (a new rollout) and then dropped.

    Args:
        predictor: a ``dspy.Predict`` whose signature has the output field ``answer``, or what calls one.
        trace: gets a :class:`~abduce.programs.trace.Call` for every reply, and the counters
            ``llm_calls`` and ``dropped_replies``; so does the caller's ``meter``.
        stage: decides the model (:func:`model_for`).
        index: which of several samples this is; each has a rollout of its own, so that J samples
            begin with the J - 1 samples of a smaller run.
        temperature: see :func:`decoding`.
        signature: stands in for the predictor's own (same fields, another answer type).
        inputs: the signature's inputs.

    Returns:
        The typed answer, or None where two replies were no use.

    Raises:
        NoModel: there is no model to ask.
        ValueError: there is no such stage.
        dspy.LMError: the model could not be reached, or refused the request; the call is recorded.
    """
    stage = Stage(stage).value
    lm = model_for(predictor, stage)
    seed = int(dspy.settings.get("seed", 0) or 0)
    more = {} if signature is None else {"signature": signature}
    for attempt in range(2):
        config = decoding(lm, temperature, 1 + index + 100 * attempt + 1000 * seed, fresh=attempt > 0)
        receipt, call = Receipt(), Call(stage, False, index=index, retry=attempt > 0)
        settings = {"lm": lm, "stage": stage, "receipt": receipt, "usage_tracker": receipt}
        if getattr(lm, "tells_receipts", False):
            settings["disable_history"] = True  # the trace keeps the reply; DSPy's copies would pile up
            settings["send_stream"] = None  # whole answers come; a stream hears of stages
        if dspy.settings.adapter is None:
            settings["adapter"] = default_adapter()
        with span("call", stage=stage, index=index, model=str(getattr(lm, "model", ""))) as current:
            answer = await _once(predictor, {"config": config, **more, **inputs}, settings, call, trace)
            note(current, prompt_tokens=call.prompt_tokens, completion_tokens=call.completion_tokens)
            note(current, ok=call.ok, error=call.error, cached=call.cache_hit)
        if call.ok:
            receipt.keep()
            return answer
    trace.count("dropped_replies")
    return None


async def _once(
    predictor: Any, inputs: Mapping[str, Any], settings: Mapping[str, Any], call: Call, trace: Trace
) -> Any | None:
    """The answer of one request under some DSPy settings; what became of it stands in ``call``, and in the
    trace."""
    receipt: Receipt = settings["receipt"]
    start = time.perf_counter()
    answer = None
    trace.count("llm_calls")
    try:
        with dspy.context(**settings):
            answer = (await called(predictor, **inputs)).answer
        # Our adapter takes complete objects only; another may have repaired what was cut off.
        strict = isinstance(settings.get("adapter") or dspy.settings.adapter, StrictJSON)
        call.ok = strict or not receipt.cut_off
        call.error = "" if call.ok else "cut off at max_tokens"
    except (AdapterParseError, ValidationError) as e:
        receipt.raw = receipt.raw or str(getattr(e, "lm_response", "") or "")
        call.error = "cut off at max_tokens" if receipt.cut_off else f"does not parse: {_why(e)}"
        if receipt.elsewhere:
            call.error += f" ({receipt.elsewhere})"
    except (Exception, asyncio.CancelledError) as e:
        call.failed = True
        call.error = f"{type(e).__name__}: {e}"
        raise
    finally:
        call.seconds = time.perf_counter() - start
        call.dropped = call.retry and not (call.ok or call.failed)
        _record(call, receipt, answer, trace)
    return answer


def _record(call: Call, receipt: Receipt, answer: Any, trace: Trace) -> None:
    call.raw = receipt.raw
    if len(call.raw) > MAX_RAW:
        call.raw = f"{call.raw[:MAX_RAW]} ... ({len(call.raw) - MAX_RAW:,} more characters)"
    if not call.raw and answer is not None:
        call.raw = answer.model_dump_json() if hasattr(answer, "model_dump_json") else json.dumps(answer)
    call.requests = receipt.requests or int(not receipt.cache_hit)
    call.retries, call.faults, call.cache_hit = receipt.retries, receipt.faults, receipt.cache_hit
    for name, value in receipt.usage.items():
        setattr(call, name, value)
    trace.calls.append(call)
    meter = dspy.settings.get("meter")
    if meter is not None:
        meter.add(call)


def _why(error: Exception) -> str:
    """The first line of a parser's error."""
    return str(error).strip().split("\n", 1)[0][:200]


@lru_cache(maxsize=1)
def default_adapter() -> StrictJSON:
    """The adapter for callers that set none."""
    return StrictJSON()


async def ask_about(
    predictor: dspy.Predict,
    trace: Trace,
    stage: str,
    fact: Fact,
    serializer: Serializer,
    *,
    budget: int = PROMPT_TOKENS,
    index: int = 0,
    temperature: float | None = None,
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
        evidence = {k: v for k, v in serializer.evidence(fact, cap).items() if k in shown}
        parts: Any = {**evidence, **(inputs or {})}
        last = cap == CONTEXT_CAPS[-1]
        tokens = INSTRUCTION_TOKENS + sum(estimated_tokens(p) for p in parts.values())
        if tokens > budget and not last:
            continue
        try:
            answer = await ask(
                predictor,
                trace,
                stage,
                index=index,
                temperature=temperature,
                signature=signature,
                **parts,
            )
        except ContextWindowExceededError:
            if last:
                raise
            trace.count("context_backoffs")
            continue
        if "source_context" in evidence and len(serializer.context(fact.context)) > cap:
            trace.count("truncated_contexts")
        return answer
    raise AssertionError("the last cap returns or raises")
