"""A server that is made to harm: whatever it answers, a call ends in time with an answer, none, or one error."""

from __future__ import annotations

import gzip
import json
import resource
import time
from typing import Any

import dspy
import pytest
from abduce.lm import load
from abduce.programs.calls import ask
from abduce.programs.running import in_thread
from abduce.programs.trace import Trace
from openai_stub import Status, Stub, completion

pytestmark = pytest.mark.hostile

SAID = json.dumps({"answer": "yes"})
MEGA = 1 << 20


class Say(dspy.Signature):
    """Say a word."""

    text: str = dspy.InputField()
    answer: str = dspy.OutputField()


def said(content: Any, **changes: Any) -> Any:
    return lambda body: completion(body, content, **changes)


REPLIES: dict[str, Any] = {
    "drip": "drip", "endless": "endless", "stall": "stall", "close": "close", "reset": "reset", "empty": "empty",
    "garbage": "garbage",
    "nested body": Status(200, b"[" * 500_000),
    "nested content": said('{"answer":' * 200_000),
    "braces": said("{" * 500_000),
    "open strings": said('{"a' * 300_000),
    "escapes": said('{"\\' * 300_000),
    "thinking": said("<think>" * 200_000),
    "thinking that never ends": said("<think>" + SAID),
    "a draft in thinking": said("[THINK]" + SAID + "[/THINK]"),
    "20 MB": said("x" * (20 * MEGA)),
    "packed": Status(200, gzip.compress(b" " * (200 * MEGA)), {"Content-Encoding": "gzip"}),
    "packed twice": Status(200, gzip.compress(gzip.compress(bytes(50 * MEGA))), {"Content-Encoding": "gzip, gzip"}),
    "not packed": Status(200, b"x", {"Content-Encoding": "gzip"}),
    "unknown coding": Status(200, b"x", {"Content-Encoding": "br"}),
    "redirect elsewhere": Status(307, {}, {"Location": "http://192.0.2.1/v1"}),
    "redirect to a file": Status(307, {}, {"Location": "file:///etc/passwd"}),
    "redirect in a circle": Status(308, {}, {"Location": "/v1/chat/completions"}),
    "redirect to nowhere": Status(301, {}),
    "bad redirect": Status(302, {}, {"Location": "http://[::1"}),
    "error, nested": Status(400, b"[" * 200_000),
    "error, list": Status(400, b'[{"error": {"message": "no"}}]'),
    "error, number": Status(400, b"7"),
    "error, bytes": Status(400, bytes(range(256)) * 100),
    "error, escape": Status(400, b'{"error": "\\u001b[2J"}'),
    "error, huge": Status(500, b"x" * (30 * MEGA)),
    "busy, at once": Status(429, {}, {"Retry-After": "0"}),
    "busy, in the past": Status(429, {}, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
    "busy, for ever": Status(429, {}, {"Retry-After": "1e300"}),
    "busy, nonsense": Status(503, {}, {"Retry-After": "soon"}),
    "null": said(None), "number": said(7), "list": said([1, {"type": "text", "text": 7}]), "object": said({"a": 1}),
    "a tool call": said(None, message={"tool_calls": [{"function": {"name": "x", "arguments": "[" * 100_000}}]}),
    "reasoning": said(None, message={"reasoning_content": "perhaps " + SAID}),
    "usage": said(SAID, usage={"prompt_tokens": "many", "completion_tokens": -1, "total_tokens": 1e400}),
    "choices": Status(200, b'{"choices": [[], 7, null]}'),
    "no choices": Status(200, b'{"choices": []}'),
    "status 999": Status(999, b"?"),
    "bad length": Status(200, b"x", {"Content-Length": "-5"}),
    "surrogates": said('{"answer": "\\ud800"}'),
    "NaN": said('{"answer": NaN}'),
    "a long number": said('{"answer": ' + "9" * 10_000 + "}"),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLIES)
def test_a_call_ends_in_time_and_in_one_of_three_ways(name: str) -> None:
    trace = Trace()
    with Stub() as stub:
        stub.then = REPLIES[name]
        table = {
            "kind": "vllm",
            "base_url": stub.url,
            "timeout": 0.5,
            "deadline": 1.0,
            "tries": 2,
            "patience": 2.0,
        }
        began = time.monotonic()
        with load(table, cache=False) as models, models.context():
            try:
                answer = in_thread(ask(dspy.Predict(Say), trace, "generator", text="a"))
                assert answer is None or isinstance(answer, str)
            except dspy.LMError as error:
                text = str(error)
                assert "\n" not in text
                assert "\x1b" not in text
                assert len(text) < 1_500
        assert time.monotonic() - began < 10.0
    assert all(len(call.raw) < 40_000 for call in trace.calls)
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024 < 1_500
    )  # the server's own copies included
