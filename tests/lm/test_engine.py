"""The engine on a stub server: exact payloads, every fault, replicas, keys."""

from __future__ import annotations

import gzip
import threading
import time
from typing import Annotated

import dspy
import pytest
from abduce.lm import load
from abduce.lm.engine import Served, fault_of
from abduce.lm.faults import Fault, Patience
from abduce.lm.wire import MAX_REPLY
from abduce.programs.calls import ask
from abduce.programs.running import in_thread
from abduce.programs.trace import Trace
from dspy import lm15
from openai_stub import Status, Stub, completion
from pydantic import Field
from served_stub import Clock, request, served


class Word(dspy.Signature):
    """Say a word."""

    text: str = dspy.InputField()
    word: str = dspy.OutputField()


class Say(dspy.Signature):
    """Say a word."""

    text: str = dspy.InputField()
    answer: str = dspy.OutputField()


def test_the_payload_holds_exactly_what_was_stated(stub):
    table = {
        "kind": "vllm", "base_url": stub.url, "model": "stub-model", "top_k": 20, "min_p": 0.1,
        "extra": {"repetition_penalty": 1.1},
    }  # fmt: skip
    with load(table, cache=False) as models, models.context():
        dspy.Predict(Word)(text="a")
    body = stub.bodies[0]
    messages, format_ = body.pop("messages"), body.pop("response_format")
    assert body == {
        "model": "stub-model", "temperature": 0.0, "top_p": 1.0, "max_tokens": 2048, "top_k": 20,
        "min_p": 0.1, "repetition_penalty": 1.1, "chat_template_kwargs": {"enable_thinking": False},
    }  # fmt: skip
    assert [m["role"] for m in messages] == ["system", "user"]
    assert format_ == {
        "type": "json_schema",
        "json_schema": {
            "name": "WordAnswer",
            "strict": True,
            "schema": {
                "type": "object",
                "properties": {"word": {"type": "string"}},
                "required": ["word"],
                "additionalProperties": False,
            },
        },
    }


def test_a_plain_endpoint_is_sent_nothing_that_openai_does_not_know(stub):
    table = {
        "kind": "openai", "base_url": stub.url, "model": "stub-model", "schema": "object",
        "max_tokens_field": "max_completion_tokens",
    }  # fmt: skip
    with load(table, cache=False) as models, models.context():
        stub.play('{"word": "yes"}')
        assert dspy.Predict(Word)(text="a").word == "yes"
    body = stub.bodies[0]
    body.pop("messages")
    assert body == {
        "model": "stub-model", "temperature": 0.0, "top_p": 1.0, "max_completion_tokens": 2048,
        "response_format": {"type": "json_object"},
    }  # fmt: skip


def test_a_portable_schema_leaves_out_lengths_of_texts_and_nothing_else(stub):
    class Short(dspy.Signature):
        """Say a word."""

        text: str = dspy.InputField()
        word: Annotated[str, Field(max_length=5, pattern="^[a-z]+$")] = dspy.OutputField()
        many: Annotated[list[int], Field(max_length=3)] = dspy.OutputField()

    stub.play('{"word": "toolong", "many": [1]}')
    table = {"kind": "openai", "base_url": stub.url, "model": "m", "schema": "portable"}
    with load(table, cache=False) as models, models.context(), pytest.raises(dspy.AdapterParseError):
        dspy.Predict(Short)(text="a")
    sent = stub.bodies[0]["response_format"]["json_schema"]["schema"]["properties"]
    assert sent["word"] == {"type": "string", "pattern": "^[a-z]+$"}
    assert sent["many"] == {"type": "array", "items": {"type": "integer"}, "maxItems": 3}


def test_without_a_schema_none_is_sent(stub):
    table = {"kind": "vllm", "base_url": stub.url, "schema": "off"}
    stub.play('{"word": "yes"}')
    with load(table, cache=False) as models, models.context():
        assert dspy.Predict(Word)(text="a").word == "yes"
    assert "response_format" not in stub.bodies[0]


@pytest.mark.parametrize(
    "fault",
    [
        "reset", "close", "empty", "garbage", Status(500), Status(503), Status(502), Status(504),
        Status(429, {"error": {"message": "slow down"}}),
        lambda body: {"id": "x", "object": "chat.completion"},
        lambda body: {"choices": "none"},
    ],
)  # fmt: skip
def test_what_may_pass_is_tried_again_and_costs_nothing(stub, fault):
    stub.play(fault, fault, "yes")
    assert served(stub.url).complete(request()).text == "yes"
    assert len(stub.bodies) == 3
    assert stub.bodies[0] == stub.bodies[2]


def test_a_stalled_reply_is_given_up_after_the_time_out_and_asked_for_again(stub):
    stub.play("stall", "yes")
    assert served(stub.url, timeout=0.3).complete(request()).text == "yes"
    stub.play("stall", "stall")
    with pytest.raises(lm15.LM15Error) as caught:
        served(stub.url, timeout=0.3, patience=Patience(tries=2)).complete(request())
    assert "raise [lm] timeout" in str(caught.value)
    assert "lm15" not in str(caught.value)  # nor advice of the library's, which nobody could follow


def test_a_machine_that_is_off_is_away_and_one_that_is_silent_stalls():
    assert fault_of(lm15.TransportError("timed out connecting to h:8000")) is Fault.UNREACHABLE
    assert fault_of(lm15.TransportError("read timed out waiting for headers")) is Fault.STALLED
    assert fault_of(lm15.TransportError("server closed connection")) is Fault.UNREACHABLE


@pytest.mark.parametrize("form", ["drip", "endless"])
def test_a_reply_without_an_end_is_given_up_and_asked_for_again(stub, form):
    stub.play(form, "yes")
    assert served(stub.url, deadline=0.5).complete(request()).text == "yes"
    assert len(stub.bodies) == 2


def test_a_reply_packed_twice_or_unpacked_to_more_than_the_limit_is_refused(stub):
    packed = gzip.compress(b" " * (MAX_REPLY + 1))
    engine = served(stub.url, patience=Patience(tries=1))
    for coding, body in (("gzip", packed), ("gzip, gzip", gzip.compress(packed))):
        stub.play(Status(200, body, {"Content-Encoding": coding}))
        with pytest.raises(lm15.ProviderError, match="too long"):
            engine.complete(request())


def test_a_redirect_is_followed_on_the_same_host_with_the_key_and_the_body(stub, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret")
    stub.play(Status(307, {}, {"Location": "/new/v1/chat/completions"}), "yes")
    assert served(stub.url, key_variable="MY_KEY").complete(request()).text == "yes"
    assert stub.bodies[0] == stub.bodies[1]
    assert stub.headers[1]["authorization"] == "Bearer sk-secret"


def test_a_redirect_to_another_host_is_told_and_nothing_is_sent_there(stub):
    with Stub() as other:
        stub.play(Status(307, {}, {"Location": f"{other.url}/chat/completions?token=secret"}))
        with pytest.raises(lm15.InvalidRequestError, match=r"leads to http://127.*base_url") as caught:
            served(stub.url).complete(request())
        assert "secret" not in str(caught.value)
        assert other.bodies == []
    assert len(stub.bodies) == 1


def test_redirects_in_a_circle_end(stub):
    stub.then = Status(308, {}, {"Location": "/v1/chat/completions"})
    with pytest.raises(lm15.InvalidRequestError, match="leads to"):
        served(stub.url).complete(request())
    assert len(stub.bodies) == 4


SAID = '{"word": "yes"}'


@pytest.mark.parametrize(
    "message",
    [
        {"reasoning_content": SAID},
        {"reasoning": f"```json\n{SAID}\n```"},
        {"tool_calls": [{"id": "1", "type": "function", "function": {"name": "w", "arguments": SAID}}]},
    ],
)
def test_an_object_beside_the_empty_content_is_the_answer(stub, message):
    stub.play(lambda body: completion(body, None, message=message))
    with load({"kind": "vllm", "base_url": stub.url}, cache=False) as models, models.context():
        assert dspy.Predict(Word)(text="a").word == "yes"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"message": {"reasoning_content": f"perhaps {SAID}, but"}}, "reasoning_content"),
        ({"message": {"reasoning_content": SAID}, "finish_reason": "length"}, "reasoning_content"),
        ({"message": {"refusal": "I will not"}}, "refuses: I will not"),
        ({"finish_reason": "content_filter"}, "filter"),
    ],
)
def test_where_the_words_of_an_empty_reply_are_is_told(stub, changes, why):
    stub.then = lambda body: completion(body, None, **changes)
    trace = Trace()
    with load({"kind": "vllm", "base_url": stub.url}, cache=False) as models, models.context():
        assert in_thread(ask(dspy.Predict(Say), trace, "generator", text="a")) is None
    assert why in trace.calls[-1].error


def test_an_error_inside_a_choice_is_tried_again(stub):
    def failed(body):
        reply = completion(body, "", finish_reason="error")
        reply["choices"][0]["error"] = {"message": "upstream", "code": 502}
        return reply

    stub.play(failed, "yes")
    assert served(stub.url).complete(request()).text == "yes"
    stub.then = failed
    with pytest.raises(lm15.ProviderError, match="upstream"):
        served(stub.url).complete(request())


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000, b"{" * 1000, b"null", b"17", b'"text"', b"[]", b"\xff\xfe", b'{"choices": [17]}',
        b'{"choices": [{"message": {"content": 5}}]}', b'{"choices": [{"message": []}]}', b"NaN",
        b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": "many"}}',
        b'{"choices": [{"message": {"tool_calls": [{"function": {}}]}}]}',
        b'{"choices": [{"message": {"tool_calls": 5}}]}', b'{"error": []}', b'{"choices": {"0": 1}}',
    ],
)  # fmt: skip
def test_no_body_is_too_strange(stub, body):
    stub.play(Status(200, body), "yes")
    reply = served(stub.url).complete(request())
    assert reply.text in ("yes", "x", "")


def test_closing_ends_a_stalled_reply_at_once(stub):
    stub.then = "stall"
    engine = Served("m", (stub.url,), timeout=300.0)
    failed = []

    def ask_it():
        with pytest.raises(lm15.LM15Error) as caught:
            engine.complete(request())
        failed.append(caught.value)

    thread = threading.Thread(target=ask_it)
    thread.start()
    while not stub.bodies:
        time.sleep(0.01)
    engine.close()
    thread.join(10)
    assert not thread.is_alive()
    assert len(failed) == 1


def test_retry_after_is_obeyed(stub):
    clock = Clock()
    stub.play(Status(429, {}, {"Retry-After": "7"}), "yes")
    patience = Patience(draw=lambda: 0.0)
    assert served(stub.url, clock=clock, patience=patience).complete(request()).text == "yes"
    assert clock.slept == [7.0]


def test_a_refused_connection_is_waited_for_while_the_server_is_away_two_minutes(stub):
    clock = Clock()
    stub.stop()

    def sleep(seconds):
        clock.sleep(seconds)
        if clock.now >= 120 and stub._server is None:
            stub.start()

    engine = Served("m", (stub.url,), clock=clock, sleep=sleep, patience=Patience(draw=lambda: 1.0))
    assert engine.complete(request()).text
    assert clock.now >= 120


def test_a_server_away_for_good_is_given_up_in_three_minutes_with_one_clear_error(stub):
    clock = Clock()
    stub.stop()
    with pytest.raises(lm15.TransportError, match=r"unreachable at http://127.*is the server running\?"):
        served(stub.url, clock=clock).complete(request())
    assert 120 < clock.now <= 180


def test_an_error_of_the_servers_own_is_tried_four_times(stub):
    stub.then = Status(500, {"error": {"message": "boom"}})
    with pytest.raises(lm15.ServerError, match=r"server_error at .* \(4 tries in .*boom"):
        served(stub.url).complete(request())
    assert len(stub.bodies) == 4


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Status(400, {"error": {"message": "maximum context length is 10 tokens"}}), lm15.ContextLengthError),
        (
            Status(400, {"object": "error", "message": "maximum context length is 10 tokens", "code": 400}),
            lm15.ContextLengthError,
        ),
        (Status(404, {"error": {"message": "The model `m` does not exist."}}), lm15.UnsupportedModelError),
        (Status(401, {"error": {"message": "bad key"}}), lm15.AuthError),
        (Status(400, {"error": {"message": "bad schema"}}), lm15.InvalidRequestError),
    ],
)
def test_what_cannot_pass_fails_at_once(stub, reply, error):
    stub.play(reply)
    with pytest.raises(error):
        served(stub.url).complete(request())
    assert len(stub.bodies) == 1


def test_the_key_comes_from_the_environment_goes_to_the_server_and_nowhere_else(stub, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret")
    stub.play(Status(401, {"error": {"message": "Incorrect API key provided: sk-secret"}}))
    engine = served(stub.url, key_variable="MY_KEY")
    with pytest.raises(lm15.AuthError) as caught:
        engine.complete(request())
    assert stub.headers[0]["authorization"] == "Bearer sk-secret"
    said = [
        str(caught.value),
        repr(caught.value),
        caught.value.message,
        repr(engine),
        str(engine.dump_state()),
    ]
    assert all("sk-secret" not in text for text in said)
    assert caught.value.__cause__ is None
    assert "[key]" in str(caught.value)


def test_a_saved_engine_comes_back_without_its_key(stub, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret")
    state = served(stub.url, key_variable="MY_KEY", thinking=True).dump_state()
    again = Served.load_state(state)
    assert again.dump_state() == state
    assert again.complete(request()).text
    assert stub.headers[0]["authorization"] == "Bearer sk-secret"
    assert stub.bodies[0]["chat_template_kwargs"] == {"enable_thinking": True}


def test_closing_ends_waiting_at_once(stub):
    stub.stop()
    engine = Served("m", (stub.url,), patience=Patience(first=60.0, longest=60.0))
    failed = []

    def ask():
        with pytest.raises(lm15.LM15Error) as caught:
            engine.complete(request())
        failed.append(caught.value)

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(0.2)
    engine.close()
    thread.join(10)
    assert not thread.is_alive()
    assert len(failed) == 1


def test_thinking_is_kept_apart_from_the_answer(stub):
    stub.play(lambda body: completion(body, '{"word": "yes"}', message={"reasoning_content": "hm"}))
    with load({"kind": "vllm", "base_url": stub.url}, cache=False) as models, models.context():
        assert dspy.Predict(Word)(text="a").word == "yes"
