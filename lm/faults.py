"""Which failures of a request are worth another try, when, and for how long."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Fault(StrEnum):
    """What went wrong with one attempt, as counters and reports name it."""

    UNREACHABLE = "unreachable"
    """Refused, reset, or closed before or in the middle of the reply."""
    STALLED = "stalled"
    """No byte for ``timeout`` seconds, or the server gave up waiting (408, 504)."""
    BUSY = "busy"
    """429 or 503."""
    SERVER = "server_error"
    """Another 5xx."""
    GARBLED = "garbled"
    """A reply of status 200 that is not a chat completion: empty, cut, not JSON."""
    CONTEXT = "context_too_long"
    MODEL = "unknown_model"
    REFUSED = "refused"
    """Another 4xx: the key, the request's shape, the account."""

    @property
    def server_is_away(self) -> bool:
        """True where waiting helps, however often the request was sent already."""
        return self in (Fault.UNREACHABLE, Fault.BUSY)

    @property
    def may_pass(self) -> bool:
        return self.server_is_away or self in (Fault.STALLED, Fault.SERVER, Fault.GARBLED)


_TOO_LONG = re.compile(
    r"maximum context length|context[_ ](length|size|window)|exceeds? the (available|model'?s?)|max_model_len"
    r"|prompt is too long|too many tokens|longer than the maximum model length|input length .* exceeds",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model.{0,200}(does not exist|not found|not (available|served))|unknown model", re.I | re.S
)


def classify(status: int | None, message: str, *, timed_out: bool = False, code: str = "") -> Fault:
    """The fault of one failed attempt.

    Args:
        status: the HTTP status, or None where no reply arrived.
        message: what the server or the transport said.
        timed_out: the wait for the next byte ran out.
        code: the server's own error code or type, where it sent one.
    """
    if status is None:
        return Fault.STALLED if timed_out else Fault.UNREACHABLE
    if status < 400:
        return Fault.GARBLED
    if status in (429, 503):
        return Fault.BUSY
    if status in (408, 504):
        return Fault.STALLED
    if status == 502:
        return Fault.UNREACHABLE
    if (
        "exceed_context" in code
        or "context_length" in code
        or (status in (400, 413, 422, 500) and _TOO_LONG.search(message))
    ):
        return Fault.CONTEXT
    if status >= 500:
        return Fault.SERVER
    if status in (400, 404) and ("model_not_found" in code or _NO_MODEL.search(message)):
        return Fault.MODEL
    return Fault.REFUSED


@dataclass(frozen=True)
class Patience:
    """Jittered exponential back-off, bounded in tries and in time.

    A server that is away or overloaded is waited for ``seconds`` (default three minutes: a restart
    within two costs no request); one that answers with errors is asked ``tries`` times at most.
    ``draw`` returns a number in [0, 1) (the jitter).
    """

    tries: int = 4
    seconds: float = 180.0
    first: float = 0.5
    longest: float = 10.0
    draw: Callable[[], float] = field(default=random.random, repr=False, compare=False)

    def wait(
        self, fault: Fault, attempt: int, answered: int, elapsed: float, retry_after: float | None = None
    ) -> float | None:
        """Seconds to wait before the next try, or None to give up.

        Args:
            attempt: how often the request was sent, from 1.
            answered: how many of these failed though the server was there.
            elapsed: seconds since it was first sent.
            retry_after: what the server asked for; obeyed where the time allows it.
        """
        if not fault.may_pass or (not fault.server_is_away and answered >= self.tries):
            return None
        left = self.seconds - elapsed
        if left <= 0:
            # One stalled reply may use up all the time; it is still asked for once more.
            return 0.0 if fault is Fault.STALLED and attempt == 1 else None
        if retry_after is not None:
            return None if retry_after > left else retry_after + 0.1 * self.draw()
        step = min(self.longest, self.first * 2.0 ** min(attempt - 1, 16))
        return min(left, step * (0.5 + 0.5 * self.draw()))


def redact(text: str, secrets: tuple[str, ...]) -> str:
    """``text`` without any of the secrets."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[key]")
    return text


def describe(fault: Fault, said: str, *, model: str, attempts: int, elapsed: float, at: str) -> str:
    """One sentence about a request that failed for good, with what can be done about it."""
    advice: dict[Fault, str] = {
        Fault.UNREACHABLE: "is the server running? try: abduce lm check",
        Fault.STALLED: "the server stopped answering; raise [lm] timeout if its replies are just long",
        Fault.BUSY: "the server is overloaded; lower --concurrency or raise [lm] patience",
        Fault.SERVER: "the server failed on this request; its log says why",
        Fault.GARBLED: "the address may not be an OpenAI-compatible chat endpoint",
        Fault.CONTEXT: "the prompt is longer than the server's context",
        Fault.MODEL: f"the server does not serve {model!r}; abduce lm check lists what it serves",
        Fault.REFUSED: "the server refuses the request; for a key, set the variable that api_key_env names",
    }
    tried = "" if attempts == 1 else f" ({attempts} tries in {elapsed:.0f} s)"
    said = " ".join(said.split())[:400]
    return f"{fault.value} at {at}{tried}: {said or 'no reply'}; {advice[fault]}"


def spoken(error: Any) -> str:
    """The server's own words in an error, without the library's advice."""
    text = str(getattr(error, "message", "") or error)
    for advice in (
        "\n\n  To fix:", "\n\n  credential came from:", " A gateway or proxy in front of", "; this is lm15's"
    ):  # fmt: skip
        text = text.split(advice, 1)[0]
    return text.strip()
