"""Which failed requests are retried, when, and for how long."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ..signatures.outside import plain


class Fault(StrEnum):
    """The kind of failure of one attempt, as named in counters and reports."""

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
        """Whether waiting helps, however often the request was sent already."""
        return self in (Fault.UNREACHABLE, Fault.BUSY)

    @property
    def may_pass(self) -> bool:
        return self.server_is_away or self in (Fault.STALLED, Fault.SERVER, Fault.GARBLED)


_SIZE = (
    r"(?:exceed\w*|too (?:long|large|many|big)|(?:long|great|larg)er than|at most|overflow\w*|limit"
    r"|must (?:be|have) (?:<|less)|should be (?:<|less|\[))"
)
_TOO_LONG = re.compile(
    r"maximum (?:context|prompt|input|sequence|model) length|max_model_len"
    r"|context[_ -]?(?:length|size|window|limit)"
    r"|exceeds? the (?:available|model'?s?)\b"
    rf"|(?:prompt|input|inputs|context|messages?|sequence|request|conversation)\b.{{0,120}}?\b{_SIZE}"
    rf"|{_SIZE} (?:.{{0,40}} )?(?:input|prompt|context)\b"
    r"|too many (?:input |prompt )?tokens|token (?:count|limit|length)\b.{0,80}(?:exceed|limit)"
    r"|reduce the (?:length|size) of",
    re.IGNORECASE | re.DOTALL,
)
_OUTPUT_ONLY = re.compile(r"max_(?:completion_|new_|output_)?tokens\W+(?:is |are )?too large", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"model.{0,200}(does not exist|not found|not (available|served))|unknown model", re.I | re.S
)


def classify(status: int | None, message: str, *, timed_out: bool = False, code: str = "") -> Fault:
    """The fault of one failed attempt.

    Args:
        status: the HTTP status, or None where no reply arrived.
        message: the words of the server or the transport.
        timed_out: the wait for the next byte ran out.
        code: the server's error code or type, if any.
    """
    if status is None:
        return Fault.STALLED if timed_out else Fault.UNREACHABLE
    if 300 <= status < 400:
        return Fault.REFUSED
    if status < 400:
        return Fault.GARBLED
    if status in (429, 503):
        return Fault.BUSY
    if status in (408, 504):
        return Fault.STALLED
    if status == 502:
        return Fault.UNREACHABLE
    if status == 413 or "exceed_context" in code or "context_length" in code or too_long(status, message):
        return Fault.CONTEXT
    if status >= 500:
        return Fault.SERVER
    if status in (400, 404) and ("model_not_found" in code or _NO_MODEL.search(message)):
        return Fault.MODEL
    return Fault.REFUSED


def too_long(status: int, message: str) -> bool:
    """Whether a server says that the prompt is too long, in any known wording."""
    if status not in (400, 413, 422, 500) or _OUTPUT_ONLY.search(message[:2000]):
        return False
    return _TOO_LONG.search(message[:2000]) is not None


_WORDS = (
    "message", "error", "detail", "details", "msg", "errors", "error_message", "description", "reason",
    "title", "metadata", "raw",
)  # fmt: skip
_CODES = ("code", "type", "error_type", "error_code")


def server_words(body: str) -> tuple[str, str]:
    """The message in an error body, and its code or type, for any shape of JSON."""
    try:
        level = [json.loads(body)]
    except (ValueError, RecursionError):
        return " ".join(body[:2000].split())[:500], ""
    texts: list[str] = []
    codes: list[str] = []
    for _ in range(6):
        below: list[Any] = []
        for part in level[:50]:
            if isinstance(part, str):
                texts.append(" ".join(part[:2000].split()))
            elif isinstance(part, list):
                below += part[:50]
            elif isinstance(part, dict):
                below += [part[name] for name in _WORDS if part.get(name)]
                codes += [str(part[name]) for name in _CODES if isinstance(part.get(name), str | int)]
        level = below
    code = next((c for c in codes if not c.isdigit()), codes[0] if codes else "")
    said = "; ".join(dict.fromkeys(text for text in texts if text))
    return (said or " ".join(body[:2000].split()))[:500], code[:100]


@dataclass(frozen=True)
class Patience:
    """Jittered exponential back-off with a limit on tries and time.

    If a server is away or overloaded, requests are retried for ``seconds`` (default three minutes: a restart
    within two loses no request). If it answers with errors or stalls, a request is sent ``tries`` times,
    however long that takes. ``draw`` returns a number in [0, 1) (the jitter).
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
            attempt: how many times the request was sent, from 1.
            answered: how many of these failed although the server was there.
            elapsed: seconds since the first attempt.
            retry_after: the wait that the server asks for; obeyed if time allows, and never shorter than the
                back-off.
        """
        if not fault.may_pass or (not fault.server_is_away and answered >= self.tries):
            return None
        left = self.seconds - elapsed if fault.server_is_away else self.seconds
        if left <= 0 or (retry_after is not None and retry_after > left):
            return None
        step = min(self.longest, self.first * 2.0 ** min(attempt - 1, 16)) * (0.5 + 0.5 * self.draw())
        if retry_after is not None and retry_after > step:
            return retry_after + 0.1 * self.draw()
        return min(left, step)


def redact(text: str, secrets: tuple[str, ...]) -> str:
    """``text`` without any of the secrets."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[key]")
    return text


_KEY = "for a key, set the variable that api_key_env names"
_SETTINGS: tuple[tuple[str, str], ...] = (
    (
        r"response_format|json_schema|json_object|structured output|guided|grammar|schema",
        "",
    ),
    (r"max_completion_tokens", 'set [lm] max_tokens_field = "max_completion_tokens"'),
    (r"max_tokens", "lower [lm] max_tokens, or set max_tokens_field to the other name"),
    (
        r"chat_template_kwargs|enable_thinking",
        'use kind = "openai" without thinking: it sends no thinking switch',
    ),
    (r"\btop_k\b|\bmin_p\b", "leave top_k and min_p out of [lm]"),
    (r"\bseed\b", "set [lm] seeds = false"),
    (r"\btemperature\b", "set [lm] temperature to what the server takes"),
    (
        r"api[ _-]?key|unauthori[sz]ed|authenticat|credential",
        "for a key, set the variable that api_key_env names",
    ),
)
"""What a refusal is about, and the setting that helps; empty: another mode of the schema."""


def advice_on_refusal(status: int | None, said: str, at: str, schema: str = "") -> str:
    """Which setting helps if a server refuses a request with this mode of ``schema``."""
    if status in (401, 403):
        return _KEY
    if status is not None and 300 <= status < 400:
        return "put the address that it leads to in [lm] base_url"
    if status == 402:
        return "the account behind the key cannot pay for it"
    if status in (404, 405):
        ends = "" if at.endswith("/v1") else "; most addresses end in /v1"
        return f"nothing answers POST at this address: check [lm] base_url{ends}"
    for words, advice in _SETTINGS:
        if re.search(words, said, re.IGNORECASE):
            return advice or _other_schema(schema)
    return "its words say why; 'abduce lm check' tries out what it takes"


def _other_schema(mode: str) -> str:
    """The modes of ``[lm] schema`` left to try, most likely first."""
    first, *rest = (f'"{m}"' for m in ("off", "strict", "portable", "object") if m != mode)
    return f"set [lm] schema = {first}, or try {' or '.join(rest)}; abduce lm check tells which works"


def describe(
    fault: Fault,
    said: str,
    *,
    model: str,
    attempts: int,
    elapsed: float,
    at: str,
    status: int | None = None,
    schema: str = "",
) -> str:
    """One sentence about a permanently failed request, with the remedy."""
    advice: dict[Fault, str] = {
        Fault.UNREACHABLE: "is the server running? try: abduce lm check",
        Fault.STALLED: "the server stopped answering; raise [lm] timeout if its replies are just long",
        Fault.BUSY: "the server is overloaded; lower --concurrency or raise [lm] patience",
        Fault.SERVER: "the server failed on this request; its log says why",
        Fault.GARBLED: "the address may not be an OpenAI-compatible chat endpoint",
        Fault.CONTEXT: "the prompt is longer than the server's context",
        Fault.MODEL: f"the server does not serve {model!r}; abduce lm check lists what it serves",
        Fault.REFUSED: f"the server refuses the request; {advice_on_refusal(status, said, at, schema)}",
    }
    tried = "" if attempts == 1 else f" ({attempts} tries in {elapsed:.0f} s)"
    said = plain(" ".join(said.split()))[:400]
    return f"{fault.value} at {at}{tried}: {said or 'no reply'}; {advice[fault]}"


def spoken(error: Any) -> str:
    """The server's words in an error, without the library's advice."""
    text = str(getattr(error, "message", "") or error)
    for advice in (
        "\n\n  To fix:", "\n\n  credential came from:", " A gateway or proxy in front of", "; this is lm15's"
    ):  # fmt: skip
        text = text.split(advice, 1)[0]
    return text.strip()
