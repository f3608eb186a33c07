"""The engine that sends DSPy's requests to OpenAI-compatible servers.

All uses of private parts of DSPy's ``lm15`` are in this module. A new DSPy release can only break this
module, and a payload test detects that.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, NoReturn

import dspy
import orjson
from dspy import lm15

from ..programs.running import in_thread
from .faults import Fault, Patience, classify, describe, redact, server_words, spoken
from .wire import LeadsElsewhere, LoopWires, TooLarge, Unreachable, Wire, WireReply
from .worded import elsewhere, with_text

# By name: this sub-package alone is typed, and a static import would make type checkers take DSPy for it.
_base: Any = import_module("dspy._vendor.lm15.providers.base")
HttpResponse: Any = _base.HttpResponse
_attach_error_metadata: Any = _base._attach_error_metadata

Exchange = Callable[[Any], Awaitable[WireReply]]
"""Sends one HTTP request and gives its whole reply."""
Pause = Callable[[float], Awaitable[object]]

_PARAMETERS = frozenset(
    {
        "temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens", "seed", "stop", "logprobs",
        "top_logprobs", "response_format", "presence_penalty", "frequency_penalty",
    }
)  # fmt: skip
_PREFIX = 512  # characters of the first user message that decide which replica a request prefers
_SLACK = 8  # how many more requests than the idlest replica the preferred one may hold


class _Client(lm15.OpenAIChatLM):  # type: ignore[misc, unused-ignore]
    """DSPy's client of the chat protocol with three additions: body keys that DSPy does not support, bodies
    (up to 100,000 characters) written by orjson, and errors outside of OpenAI's envelope.
    """

    wire_model: str
    extra: dict[str, Any]
    portable: bool

    def _payload(self, request: lm15.Request, stream: bool) -> dict[str, Any]:
        payload: dict[str, Any] = super()._payload(request, stream)
        payload["model"] = self.wire_model
        if request.config.top_k is not None:
            payload["top_k"] = request.config.top_k
        if self.portable and "response_format" in payload:
            payload["response_format"] = without_lengths(payload["response_format"])
        return {**payload, **self.extra}

    def _emit(self, *, payload: Any = None, body: bytes | None = None, **more: Any) -> Any:
        if payload is not None:
            body = orjson.dumps(payload)
        return super()._emit(body=body, **more)

    def normalize_error(self, status: int, body: str) -> Any:
        message, code = server_words(body)
        told = {"message": message, "code": code, "type": code}
        return super().normalize_error(status, json.dumps({"error": told}))

    async def completed(self, request: lm15.Request, exchange: Exchange) -> lm15.Response:
        """One reply, as ``complete``; ``exchange`` sends a request over the wire."""
        sent, adaptations = self._build(request, stream=False, policy=self.adaptations)
        reply = await self._exchanged(sent, exchange)
        if reply.status >= 400:
            raise self._http_error(reply)
        try:
            parsed = self.parse_response(request, reply)
            return self._finish_response(request, parsed, adaptations, policy=self.adaptations)
        except lm15.ProviderError as error:
            _attach_error_metadata(error, reply.headers)
            raise

    async def _exchanged(self, request: Any, exchange: Exchange) -> Any:
        try:
            reply = await exchange(request)
        except Unreachable as error:
            raise lm15.TransportError(str(error)) from None
        except TooLarge:
            raise lm15.ProviderError("the reply is too long or packed more than once", status=200) from None
        except LeadsElsewhere as error:
            raise lm15.InvalidRequestError(str(error), status=error.status) from None
        return HttpResponse(
            status=reply.status, reason=reply.reason, headers=reply.headers, body=reply.body,
            provider=self.provider,
        )  # fmt: skip

    def parse_response(self, request: lm15.Request, response: Any) -> lm15.Response:
        return with_text(super().parse_response(request, response))


def without_lengths(schema: Any) -> Any:
    """A JSON schema without text lengths, at every level."""
    if isinstance(schema, list | tuple):
        return [without_lengths(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {key: without_lengths(value) for key, value in schema.items()}
    if kept.get("type") == "string":
        kept = {key: value for key, value in kept.items() if key not in ("minLength", "maxLength")}
    return kept


@dataclass(eq=False)
class Replica:
    """One base URL: its client, its running requests, and until when it is skipped after a failure."""

    url: str
    client: Any = field(repr=False)
    in_flight: int = 0
    down_until: float = 0.0
    failures: int = 0


class Replicas:
    """Several servers of one model. Requests with the same start go to the same server (for its prefix cache)
    unless it is clearly busier than the others. A failed server is skipped for a while.

    Safe to use from many threads. ``clock`` returns seconds.
    """

    def __init__(self, replicas: list[Replica], *, clock: Callable[[], float] = time.monotonic) -> None:
        self.all = replicas
        self._clock = clock
        self._lock = threading.Lock()

    def take(self, prefix: str, avoid: Replica | None = None) -> Replica:
        """The replica for a request that begins with ``prefix``; ``avoid`` has just failed."""
        with self._lock:
            now = self._clock()
            up = [r for r in self.all if r.down_until <= now] or self.all
            if avoid is not None and len(up) > 1:
                up = [r for r in up if r is not avoid]
            idlest = min(up, key=lambda r: r.in_flight)
            chosen = up[zlib.crc32(prefix.encode("utf-8", "replace")) % len(up)]
            if chosen.in_flight > idlest.in_flight + _SLACK:
                chosen = idlest
            chosen.in_flight += 1
            return chosen

    def release(self, replica: Replica, fault: Fault | None) -> None:
        with self._lock:
            replica.in_flight -= 1
            if fault is not None and fault.server_is_away:
                replica.failures += 1
                replica.down_until = self._clock() + min(10.0, 0.5 * 2.0 ** min(replica.failures - 1, 8))
            elif fault is None:
                replica.failures, replica.down_until = 0, 0.0

    def another_is_up(self, than: Replica) -> bool:
        with self._lock:
            now = self._clock()
            return any(r is not than and r.down_until <= now for r in self.all)


class Served:
    """A DSPy engine (``dspy.LM(model, engine=Served(...))``) for one model behind one or more addresses.

    It adds what DSPy cannot send (the thinking switch, ``top_k``, ``min_p``), spreads requests over replicas,
    and retries temporary failures. Other failures become one clear ``dspy.lm15`` error whose text never
    contains the key. DSPy's retries must be off (``num_retries=0``).

    Args:
        model: the model's name in requests.
        urls: addresses that end in ``/v1``.
        key_variable: the environment variable with the API key; if it is not set, no key is sent.
        thinking: Qwen3's switch, or None to send none.
        schema: ``strict``, ``portable``, ``object`` or ``off``.
        extra: further body keys.
        patience: when to retry, and for how long.
        timeout: seconds without a byte that count as stalled.
        deadline: seconds for a whole reply; None: twice ``timeout``.
        clock, sleep: for tests; ``sleep(seconds)`` replaces waiting.
    """

    supports_function_calling = False
    supports_reasoning = False

    def __init__(
        self,
        model: str,
        urls: tuple[str, ...],
        *,
        key_variable: str | None = None,
        thinking: bool | None = None,
        schema: str = "strict",
        extra: Mapping[str, Any] | None = None,
        patience: Patience | None = None,
        timeout: float = 300.0,
        deadline: float | None = None,
        max_connections: int = 256,
        max_tokens_field: str = "max_tokens",
        trust_env: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        self.model = model
        self.patience = patience or Patience()
        self.extra = dict(extra or {})
        if thinking is not None:
            template = dict(self.extra.get("chat_template_kwargs") or {})
            self.extra["chat_template_kwargs"] = {"enable_thinking": thinking, **template}
        self.supports_response_schema = schema in ("strict", "portable")
        self._portable = schema == "portable"
        self.supported_params = _PARAMETERS if schema != "off" else _PARAMETERS - {"response_format"}
        self._clock = clock
        self._closing = threading.Event()
        self._sleep = sleep or self._closing.wait
        key = os.environ.get(key_variable) if key_variable else None
        self._secrets = (key,) if key else ()
        self._built = {
            "model": model, "urls": list(urls), "key_variable": key_variable, "thinking": thinking,
            "schema": schema, "extra": dict(extra or {}), "timeout": timeout, "deadline": deadline,
            "max_connections": max_connections, "max_tokens_field": max_tokens_field, "trust_env": trust_env,
        }  # fmt: skip
        wires: dict[str, Any] = {
            "timeout": timeout, "deadline": 2 * timeout if deadline is None else deadline,
            "max_connections": max_connections, "trust_env": trust_env,
        }  # fmt: skip
        self._transport = Wire(**wires)
        self._loops = LoopWires(wires)
        compat = lm15.OpenAIChatCompat(
            instruction_role="system", max_tokens_field=max_tokens_field, thinking_format="none",
            cache_control="none", token_scoring="none",
        )  # fmt: skip
        self.replicas = Replicas([Replica(url, self._client(url, key, compat)) for url in urls], clock=clock)

    def _client(self, url: str, key: str | None, compat: Any) -> _Client:
        client = _Client(
            api_key=key or "EMPTY",
            transport=self._transport,
            base_url=url,
            compat=compat,
            adaptations="silent",
        )
        client.wire_model, client.extra, client.portable = self.model, self.extra, self._portable
        return client

    def __deepcopy__(self, memo: dict[int, Any]) -> Served:
        return self  # optimizers copy programs with their models; connections are shared

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).load_state, (self.dump_state(),)

    def __repr__(self) -> str:
        return f"Served({self.model!r}, {[r.url for r in self.replicas.all]})"

    def dump_state(self) -> dict[str, Any]:
        """What a saved program stores of its model: everything except the key."""
        return {**self._built, "tries": self.patience.tries, "patience": self.patience.seconds}

    @classmethod
    def load_state(cls, state: Mapping[str, Any]) -> Served:
        """The inverse of ``dump_state``; the key is read from the environment again."""
        rest = dict(state)
        patience = Patience(tries=rest.pop("tries"), seconds=rest.pop("patience"))
        return cls(rest.pop("model"), tuple(rest.pop("urls")), patience=patience, **rest)

    def complete(self, request: lm15.Request) -> lm15.Response:
        """One reply, waited for in this thread; see :meth:`acomplete`."""

        async def exchange(sent: Any) -> WireReply:
            return self._transport.exchange(sent)

        async def pause(seconds: float) -> None:
            self._sleep(seconds)

        return in_thread(self._tried(request, exchange, pause))

    async def acomplete(self, request: lm15.Request) -> lm15.Response:
        """One reply, on the caller's event loop. Retries and faults are reported to
        ``dspy.settings.receipt``, if there is one.

        Raises:
            dspy.lm15.LM15Error: a permanent failure, as the closest of its classes; a context that is too
                long is a ``ContextLengthError``.
        """
        return await self._tried(request, self._loops.of_loop().exchange, asyncio.sleep)

    async def _tried(self, request: lm15.Request, exchange: Exchange, pause: Pause) -> lm15.Response:
        prefix = request.messages[0].text or "" if request.messages else ""
        prefix = prefix[:_PREFIX]
        receipt = dspy.settings.get("receipt")
        began, attempt, answered, last = self._clock(), 0, 0, None
        while True:
            attempt += 1
            replica = self.replicas.take(prefix, avoid=last)
            if receipt is not None:
                receipt.sent()
            fault: Fault | None = Fault.REFUSED
            try:
                response = await self._answer(replica, request, exchange)
                fault = None
                if receipt is not None:
                    receipt.replied(
                        response.text or "", response.finish_reason, elsewhere=elsewhere(response)
                    )
                return response
            except lm15.LM15Error as error:
                fault = fault_of(error)
                failure = error
            finally:
                self.replicas.release(replica, fault)
            answered += not fault.server_is_away
            elapsed = self._clock() - began
            seconds = self.patience.wait(fault, attempt, answered, elapsed, failure.retry_after)
            again = seconds is not None and not self._closing.is_set()
            if receipt is not None:
                receipt.faulted(fault.value, again)
            if seconds is None or not again:
                self._give_up(failure, fault, replica, attempt, elapsed)
            if not (fault.server_is_away and self.replicas.another_is_up(replica)):
                await pause(seconds)
            last = replica

    def stream(self, request: lm15.Request) -> Iterator[Any]:
        raise lm15.UnsupportedFeatureError("abduce's engine answers whole replies; it does not stream")

    def close(self) -> None:
        """End waiting retries and close every connection, also those of event loops."""
        self._closing.set()
        self._transport.close()
        self._loops.close()

    async def _answer(self, replica: Replica, request: lm15.Request, exchange: Exchange) -> lm15.Response:
        try:
            response: lm15.Response = await replica.client.completed(request, exchange)
        except lm15.LM15Error:
            raise
        except (TypeError, ValueError, KeyError, AttributeError, IndexError, RecursionError) as error:
            # A reply of status 200 with a body of another shape.
            raise lm15.ProviderError(f"not a chat completion: {error}", status=200) from None
        choices = (response.provider_data or {}).get("choices")
        if not choices:
            raise lm15.ProviderError("the reply holds no choices", status=200)
        if isinstance(choices[0], dict) and choices[0].get("finish_reason") == "error":
            said, _ = server_words(json.dumps(choices[0]))
            raise lm15.ProviderError(said, status=200)
        return replace(response, provider_data=None)  # its content again: the cache need not hold it twice

    def _give_up(self, error: Any, fault: Fault, replica: Replica, attempts: int, elapsed: float) -> NoReturn:
        said = redact(spoken(error), self._secrets)
        text = describe(
            fault,
            said,
            model=self.model,
            attempts=attempts,
            elapsed=elapsed,
            at=replica.url,
            status=error.status,
            schema=str(self._built["schema"]),
        )
        kind = {
            Fault.CONTEXT: lm15.ContextLengthError,
            Fault.MODEL: lm15.UnsupportedModelError,
            Fault.UNREACHABLE: lm15.TransportError,
            Fault.STALLED: lm15.TimeoutError,
            Fault.BUSY: lm15.RateLimitError,
            Fault.SERVER: lm15.ServerError,
            Fault.GARBLED: lm15.ProviderError,
            Fault.REFUSED: lm15.AuthError if error.status in (401, 403) else lm15.InvalidRequestError,
        }[fault]
        final = kind("", status=error.status)
        final.message = text  # the classes append advice of their own; ours is in the sentence
        final.args = (text,)
        raise final from None


def fault_of(error: Any) -> Fault:
    """The fault behind an error of ``dspy.lm15``. A connection timeout means that the server is away; a
    missing reply means that it stalls.
    """
    timed_out = isinstance(error, lm15.TimeoutError) or "read timed out" in str(error)
    status = error.status
    if status is None and isinstance(error, lm15.ContextLengthError):
        status = 400
    if status is None and not isinstance(error, (lm15.TransportError, lm15.TimeoutError)):
        # An error object inside a reply of status 200, or a reply that is not JSON.
        status = 200 if isinstance(error, lm15.ProviderError) else 400
    if isinstance(error, lm15.BillingError):
        return Fault.REFUSED
    return classify(status, spoken(error), timed_out=timed_out, code=str(error.provider_code or ""))
