"""Checks what an endpoint supports with a few tiny requests, and reports it in plain words."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..programs.adapter import answer_format
from ..programs.logprobs import TOP, Unreadable, letter_chances, read_tokens
from ..programs.reply import json_object, json_value
from ..signatures.outside import plain
from .faults import redact, server_words
from .profiles import Profile
from .wire import LeadsElsewhere, TooLarge, TransportRequest, Unreachable, Wire

Mark = Literal["yes", "no", "unknown"]

NEEDED_CONTEXT = 32_768
"""Tokens: the selector's prompt of 30,000 and its answer."""


@dataclass(frozen=True)
class Finding:
    """One thing that an endpoint does or does not support; programs need the ``needed`` ones."""

    what: str
    mark: Mark
    detail: str
    needed: bool = False


def wire(profile: Profile, seconds: float) -> Wire:
    """A transport for one request, with or without the environment's proxies, as the profile says."""
    from_environment = profile.kind == "openai" if profile.trust_env is None else profile.trust_env
    return Wire(timeout=seconds, deadline=seconds, connect=min(10.0, seconds), trust_env=from_environment)


class Endpoint:
    """Plain requests to one address of a profile, without retries."""

    def __init__(self, profile: Profile, url: str, timeout: float = 120.0) -> None:
        self.profile, self.url, self.timeout = profile, url.rstrip("/"), timeout
        key = os.environ.get(profile.key_variable) if profile.key_variable else None
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key or 'EMPTY'}"}
        self._secrets = (key,) if key else ()
        self._wire = wire(profile, timeout)

    def get(self, path: str) -> Any:
        return self._send("GET", path)

    def chat(self, prompt: str, **changes: Any) -> dict[str, Any]:
        """A completion. ``changes`` adds or replaces keys of the body; the profile's keys are also sent.

        Raises:
            Refused: the server answered with an error, or not at all.
        """
        body: dict[str, Any] = {
            "model": self.profile.served_model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": 0.0, "top_p": 1.0, self.profile.max_tokens_field: 48, **self.profile.extra,
        }  # fmt: skip
        if self.profile.thinks is not None:
            body["chat_template_kwargs"] = {"enable_thinking": self.profile.thinks}
        body |= changes
        answer = self._send("POST", "/chat/completions", json.dumps(body).encode())
        if not isinstance(answer, dict) or not answer.get("choices"):
            raise Refused("the reply is not a chat completion")
        return answer

    def _send(self, method: str, path: str, body: bytes = b"") -> Any:
        request = TransportRequest(
            method=method, url=self.url + path, headers=list(self._headers.items()), body=body
        )
        try:
            reply = self._wire.exchange(request)
        except TooLarge:
            raise Refused("the reply is too long") from None
        except (Unreachable, LeadsElsewhere) as error:
            raise Refused(redact(str(error), self._secrets)) from None
        text = reply.body.decode("utf-8", "replace")
        if reply.status >= 400:
            said = server_words(text)[0]
            raise Refused(redact(f"HTTP {reply.status}: {said}", self._secrets))
        try:
            return json_value(text)
        except ValueError as error:
            raise Refused(redact(f"the reply is not JSON: {error}", self._secrets)) from None


class Refused(Exception):
    """The endpoint did not answer a probe; the text gives the reason in one line and contains no key."""

    def __init__(self, said: str) -> None:
        super().__init__(plain(" ".join(said.split()))[:500])


def check(profile: Profile, url: str, timeout: float = 120.0) -> list[Finding]:
    """Check everything that programs may ask of an endpoint.

    Args:
        profile: the request settings; the endpoint must know its model.
        url: one of its addresses.
        timeout: seconds per request.
    """
    endpoint = Endpoint(profile, url, timeout)
    models, findings = _models(endpoint)
    if findings[0].mark == "no" and "reachable" in findings[0].what:
        return findings
    try:
        first = endpoint.chat("Say yes.")
    except Refused as error:
        return [*findings, Finding("answers", "no", str(error), needed=True)]
    findings.append(Finding("answers", "yes", repr(_content(first)[:40]), needed=True))
    for probe in (_schema, _lengths, _pattern, _thinking, _logprobs, _soft, _letter, _n, _seed):
        try:
            findings.append(probe(endpoint))
        except Refused as error:
            findings.append(Finding(_NAMES[probe.__name__], "no", str(error), needed=probe is _schema))
    findings += [_usage(first), _context(endpoint, models)]
    return findings


def usable(findings: list[Finding]) -> bool:
    """Whether programs can use the endpoint with this profile."""
    return all(f.mark != "no" for f in findings if f.needed)


_NAMES = {
    "_schema": "JSON schema", "_lengths": "lengths of texts",
    "_pattern": "patterns (compact verdicts)", "_thinking": "thinking switch",
    "_logprobs": "log-probabilities", "_soft": "soft verdicts", "_letter": "one-token selection",
    "_n": "n", "_seed": "seed",
}  # fmt: skip


def _models(endpoint: Endpoint) -> tuple[list[dict[str, Any]], list[Finding]]:
    try:
        models = [m for m in endpoint.get("/models").get("data", []) if isinstance(m, dict)]
    except (Refused, AttributeError) as error:
        reachable: Mark = "unknown" if str(error).startswith("HTTP") else "no"
        return [], [Finding("reachable", reachable, f"{endpoint.url}/models: {error}", needed=True)]
    names = [str(m.get("id")) for m in models]
    findings = [Finding("reachable", "yes", endpoint.url, needed=True)]
    wanted = endpoint.profile.served_model
    known: Mark = "yes" if wanted in names else "no" if names else "unknown"
    findings.append(Finding("model", known, f"{wanted!r}; served: {', '.join(names[:8]) or 'not listed'}"))
    return models, findings


def _structured(endpoint: Endpoint, field: Mapping[str, Any]) -> dict[str, Any]:
    format_ = answer_format("Probe", {"word": str})
    format_["json_schema"]["schema"]["properties"]["word"] = dict(field)
    asked = {"response_format": format_} if endpoint.profile.sends_schema else {}
    reply = endpoint.chat("Write the single word banana, without JSON and without quotation marks.", **asked)
    text = _content(reply)
    try:
        return {"text": text, **json_object(text)}
    except ValueError:
        return {"text": text}


def _schema(endpoint: Endpoint) -> Finding:
    """The prompt asks for what the schema forbids, so the check passes only if the schema is enforced."""
    if not endpoint.profile.sends_schema:
        return Finding("JSON schema", "unknown", f"not sent (schema = {endpoint.profile.schema_mode!r})")
    found = _structured(endpoint, {"type": "string", "enum": ["alpha", "beta"]})
    if found.get("word") in ("alpha", "beta"):
        return Finding("JSON schema", "yes", "enforced", needed=True)
    return Finding("JSON schema", "no", f"ignored; it said {found['text'][:40]!r}", needed=True)


def _lengths(endpoint: Endpoint) -> Finding:
    name = _NAMES["_lengths"]
    if not endpoint.profile.sends_schema:
        return Finding(name, "unknown", "the profile sends no schema")
    try:
        found = _structured(endpoint, {"type": "string", "maxLength": 3})
    except Refused as error:
        if endpoint.profile.schema_mode == "portable":
            return Finding(name, "no", "refused; the profile leaves them out")
        return Finding(name, "no", f'{error}; use schema = "portable"', needed=True)
    if len(str(found.get("word", "banana"))) <= 3:
        return Finding(name, "yes", "enforced")
    return Finding(name, "no", "not enforced; answers that are too long are asked for again")


def _pattern(endpoint: Endpoint) -> Finding:
    name = _NAMES["_pattern"]
    if not endpoint.profile.sends_schema:
        return Finding(name, "unknown", 'the profile sends no schema; use verdicts = "spelled"')
    found = _structured(endpoint, {"type": "string", "pattern": "^[snx]{6}$"})
    if re.fullmatch("[snx]{6}", str(found.get("word", ""))):
        return Finding(name, "yes", "enforced")
    return Finding(name, "no", 'not enforced; use verdicts = "spelled"')


def _thinking(endpoint: Endpoint) -> Finding:
    name, thinks = "thinking switch", {}
    for on in (False, True):
        limit = {endpoint.profile.max_tokens_field: 96}
        reply = endpoint.chat("What is 17 + 25?", chat_template_kwargs={"enable_thinking": on}, **limit)
        message = reply["choices"][0].get("message") or {}
        reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
        thinks[on] = bool(reasoning.strip()) or bool(re.search(r"<think>\s*\S(?!/think>)", _content(reply)))
        if not on and reasoning and not _content(reply):
            said = "its reasoning parser takes the answer when thinking is off: serve without one"
            return Finding(name, "no", said, needed=endpoint.profile.thinks is False)
    if thinks[True] and not thinks[False]:
        return Finding(name, "yes", "thinks only when it is on")
    if thinks[False]:
        return Finding(name, "no", "thinks although it is off", needed=endpoint.profile.thinks is False)
    return Finding(name, "unknown", "accepted; the model does not think either way")


def _logprobs(endpoint: Endpoint) -> Finding:
    choice = endpoint.chat("Say yes.", logprobs=True, top_logprobs=2)["choices"][0]
    given = (choice.get("logprobs") or {}).get("content")
    return Finding(
        "log-probabilities", "yes" if given else "no", "per token" if given else "not in the reply"
    )


_SOFT_FAULTS = {
    "soft_no_logprobs": "no log-probabilities of its letters",
    "soft_thinking": "it thinks before its answer: switch thinking off",
    "soft_split_token": "several letters share a token",
    "soft_misread": "its tokens do not spell its answer",
}


def _soft(endpoint: Endpoint) -> Finding:
    """Whether each letter of a soft verdict has separate probabilities; otherwise its row uses hard verdicts
    and counts that.
    """
    name = _NAMES["_soft"]
    format_ = answer_format("Probe", {"verdicts": list[str]})
    item = {"type": "string", "pattern": "^[snx]( [snx]){5}$"}
    format_["json_schema"]["schema"]["properties"]["verdicts"] |= {
        "items": item, "minItems": 2, "maxItems": 2,
    }  # fmt: skip
    asked = {"response_format": format_} if endpoint.profile.sends_schema else {}
    prompt = (
        'Write this JSON and nothing else: {"verdicts": ["s n x s n x", "x n s x n s"]}. Any of the letters '
        "s, n, x may stand at any place."
    )
    reply = endpoint.chat(prompt, logprobs=True, top_logprobs=TOP, **asked)
    try:
        strings = [str(s).replace(" ", "").casefold() for s in json_object(_content(reply))["verdicts"]]
        if not strings or not all(re.fullmatch("[snx]{6}", s) for s in strings):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        return Finding(name, "unknown", f"it wrote no verdicts: {_content(reply)[:40]!r}")
    try:
        letter_chances(read_tokens(reply["choices"][0].get("logprobs")), "verdicts", strings, "snx")
    except Unreadable as e:
        return Finding(name, "no", f"{_SOFT_FAULTS[e.reason]}; hard verdicts stand in and are counted")
    return Finding(name, "yes", "every letter has probabilities of its own")


def _letter(endpoint: Endpoint) -> Finding:
    """Whether a reply's first token is the requested letter, with probabilities of other letters."""
    name = _NAMES["_letter"]
    prompt = "Which is a fruit? Answer with one letter and nothing else.\nA. stone\nB. apple\nC. river"
    limit = {endpoint.profile.max_tokens_field: 1}
    reply = endpoint.chat(prompt, logprobs=True, top_logprobs=TOP, **limit)
    tokens = read_tokens(reply["choices"][0].get("logprobs"))
    if not tokens:
        return Finding(name, "no", "no log-probabilities: only the letter that it says counts")
    chances = tokens[0].chances("ABC", fold=False)
    known = sum(p > 0 for p in chances.values())
    if not known:
        return Finding(name, "no", f"its first token is {tokens[0].text!r}, no letter")
    return Finding(name, "yes", f"probabilities of {known} of 3 letters at the first token")


def _n(endpoint: Endpoint) -> Finding:
    got = len(endpoint.chat("Say yes.", n=2, temperature=0.8)["choices"])
    return Finding("n", "yes" if got == 2 else "no", f"asked for 2, got {got} (abduce never needs it)")


def _seed(endpoint: Endpoint) -> Finding:
    def said(seed: int) -> str:
        return _content(endpoint.chat("Write five random words.", temperature=1.0, seed=seed))

    first, again, others = said(1), said(1), [said(2), said(3)]
    if first != again:
        return Finding("seed", "no", "the same seed gave two answers")
    if all(first == other for other in others):
        return Finding("seed", "unknown", "every seed gave the same answer")
    return Finding("seed", "yes", "the same seed gives the same answer")


def _usage(reply: Mapping[str, Any]) -> Finding:
    usage = reply.get("usage") or {}
    if "prompt_tokens" not in usage:
        return Finding("token counts", "no", "not reported: the meter will show 0")
    cached = "cached_tokens" in (usage.get("prompt_tokens_details") or {})
    return Finding("token counts", "yes", "cached tokens too" if cached else "cached tokens are not reported")


def _context(endpoint: Endpoint, models: list[dict[str, Any]]) -> Finding:
    entry = next((m for m in models if m.get("id") == endpoint.profile.served_model), {})
    meta = entry.get("meta") or {}
    length = entry.get("max_model_len") or entry.get("context_length") or meta.get("n_ctx")
    if length is None:
        try:
            props = Endpoint(endpoint.profile, endpoint.url.removesuffix("/v1"), 10).get("/props")
            length = (props.get("default_generation_settings") or {}).get("n_ctx")
        except (Refused, AttributeError):
            length = None
    if not isinstance(length, int):
        return Finding(
            "context length", "unknown", "not told; a prompt that is too long is shortened and sent again"
        )
    enough = length >= NEEDED_CONTEXT
    detail = f"{length:,} tokens" + (
        "" if enough else f"; the selector's prompts need up to {NEEDED_CONTEXT:,}"
    )
    return Finding("context length", "yes" if enough else "no", detail)


def _content(reply: Mapping[str, Any]) -> str:
    return str((reply["choices"][0].get("message") or {}).get("content") or "")
