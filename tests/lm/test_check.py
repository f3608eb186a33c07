"""What a check finds on servers that honour everything, little, or nothing."""

from __future__ import annotations

import json
import re

import pytest
from abduce.lm.check import check, usable
from abduce.lm.profiles import ModelProfiles
from openai_stub import Status, Stub, completion, content_for


@pytest.fixture
def stub():
    with Stub() as server:
        server.models = [{"id": "Qwen/Qwen3-32B", "max_model_len": 40960}]
        yield server


def profile(**table):
    return ModelProfiles.read({"kind": "vllm", **table}).default.profile


def found(stub, **table):
    findings = check(profile(**table), stub.url, timeout=5)
    return {f.what: (f.mark, f.detail) for f in findings}, usable(findings)


def able(body):
    """A server that does everything it is asked."""
    thinks = body.get("chat_template_kwargs", {}).get("enable_thinking")
    text = content_for(body)
    if body["temperature"] == 1.0:
        text = f"words of seed {body['seed']}"
    reply = completion(
        body, text, message={"reasoning_content": "hm"} if thinks else {},
        usage={"prompt_tokens_details": {"cached_tokens": 0}},
    )  # fmt: skip
    choice = reply["choices"][0]
    if body["max_tokens"] == 1:
        tops = [{"token": "B", "logprob": -0.2}, {"token": " A", "logprob": -2.0}]
        choice["logprobs"] = {"content": [{"token": "B", "logprob": -0.2, "top_logprobs": tops}]}
    reply["choices"] = [choice] * body.get("n", 1)
    return reply


def test_a_server_that_honours_everything(stub):
    stub.then = able
    marks, fit = found(stub)
    assert fit
    assert {what for what, (mark, _) in marks.items() if mark != "yes"} == set()
    assert set(marks) == {
        "reachable", "model", "answers", "JSON schema", "lengths of texts", "patterns (compact verdicts)",
        "thinking switch", "log-probabilities", "soft verdicts", "one-token selection", "n", "seed",
        "token counts", "context length",
    }  # fmt: skip


def without_logprobs(body):
    reply = able(body)
    for choice in reply["choices"]:
        choice.pop("logprobs", None)
    return reply


def thinking_aloud(body):
    return (
        completion(body, "<think>s or n?</think>" + content_for(body)) if body.get("logprobs") else able(body)
    )


def merging(body):
    """Two letters and the space between them are one token."""
    text = content_for(body)
    tokens = [{"token": t, "logprob": -0.1} for t in re.findall(r"s s|.", text)]
    return completion(body, text, logprobs=tokens) if body.get("logprobs") else able(body)


@pytest.mark.parametrize(
    ("server", "says"),
    [
        (without_logprobs, "no log-probabilities"),
        (thinking_aloud, "switch thinking off"),
        (merging, "several letters share a token"),
    ],
)
def test_what_soft_verdicts_would_fall_back_for_is_found(stub, server, says):
    stub.then = server
    mark, detail = found(stub)[0]["soft verdicts"]
    assert mark == "no"
    assert says in detail
    assert "counted" in detail


def test_a_server_that_ignores_what_it_is_asked(stub):
    stub.then = lambda body: completion(body, "banana") | {"usage": None}
    marks, fit = found(stub)
    assert not fit
    assert {what for what, (mark, _) in marks.items() if mark == "no"} == {
        "JSON schema", "lengths of texts", "patterns (compact verdicts)", "n", "one-token selection",
        "token counts",
    }  # fmt: skip


def test_a_reasoning_parser_that_takes_the_answer_away_is_found_and_explained(stub):
    def broken(body):
        if "17" in body["messages"][0]["content"]:
            return completion(body, "", message={"reasoning_content": "42"})
        return able(body)

    stub.then = broken
    marks, fit = found(stub)
    assert not fit
    assert "reasoning parser" in marks["thinking switch"][1]


def test_thinking_that_cannot_be_switched_off(stub):
    stub.then = lambda body: (
        "<think>let me see</think>42" if "17" in json.dumps(body["messages"]) else content_for(body)
    )
    marks, fit = found(stub)
    assert marks["thinking switch"][0] == "no"
    assert not fit


def test_one_probe_refused_is_one_no(stub):
    stub.then = lambda body: Status(400, {"error": {"message": "no n"}}) if "n" in body else able(body)
    marks, fit = found(stub)
    assert marks["n"] == ("no", "HTTP 400: no n")
    assert fit


def test_a_cloud_that_refuses_lengths_is_asked_without_them(stub):
    def strict_cloud(body):
        if "maxLength" in json.dumps(body.get("response_format", "")):
            return Status(400, {"error": {"message": "'maxLength' is not permitted"}})
        return able(body)

    stub.then = strict_cloud
    marks, fit = found(stub)
    assert not fit
    assert 'schema = "portable"' in marks["lengths of texts"][1]
    marks, fit = found(stub, schema="portable")
    assert fit
    assert marks["JSON schema"][0] == "yes"


def test_a_wrong_model_and_a_short_context_are_named(stub):
    stub.models = [{"id": "other", "max_model_len": 2048}]
    stub.then = able
    marks, _ = found(stub)
    assert marks["model"] == ("no", "'Qwen/Qwen3-32B'; served: other")
    stub.models = [{"id": "Qwen/Qwen3-32B", "max_model_len": 2048}]
    assert found(stub)[0]["context length"][0] == "no"


def test_nobody_there():
    findings = check(profile(), "http://127.0.0.1:9/v1", timeout=1)
    assert not usable(findings)
    assert len(findings) == 1


def test_the_key_is_sent_and_never_told(stub, monkeypatch):
    monkeypatch.setenv("VLLM_API_KEY", "sk-secret")
    stub.then = Status(401, {"error": {"message": "bad key sk-secret"}})
    findings = check(profile(), stub.url, timeout=5)
    assert not usable(findings)
    assert stub.headers[0]["authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in str(findings)
