"""Which failures are tried again, when, and for how long."""

from __future__ import annotations

import json

import pytest
from abduce.lm.faults import (
    Fault,
    Patience,
    advice_on_refusal,
    classify,
    describe,
    redact,
    server_words,
)
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("status", "message", "fault"),
    [
        (None, "connection refused", Fault.UNREACHABLE),
        (200, "the reply is not JSON", Fault.GARBLED),
        (429, "slow down", Fault.BUSY),
        (503, "loading", Fault.BUSY),
        (502, "bad gateway", Fault.UNREACHABLE),
        (504, "gateway timeout", Fault.STALLED),
        (500, "oops", Fault.SERVER),
        (400, "This model's maximum context length is 4096 tokens", Fault.CONTEXT),
        (400, "request (6327 tokens) exceeds the available context size (4096 tokens)", Fault.CONTEXT),
        (404, "The model `x` does not exist.", Fault.MODEL),
        (401, "Incorrect API key", Fault.REFUSED),
        (400, "unknown field", Fault.REFUSED),
        (404, "no such page", Fault.REFUSED),
    ],
)
def test_every_failure_has_a_name(status, message, fault):
    assert classify(status, message) is fault


def test_a_timeout_without_a_reply_is_a_stall():
    assert classify(None, "read timed out", timed_out=True) is Fault.STALLED


def test_codes_of_servers_name_the_context_and_the_model_too():
    assert classify(400, "no", code="exceed_context_size_error") is Fault.CONTEXT
    assert classify(404, "no", code="model_not_found") is Fault.MODEL


def full(**changes):
    return Patience(draw=lambda: 1.0, **changes)


def test_waiting_doubles_up_to_the_longest():
    waits = [full().wait(Fault.BUSY, n, 0, 0.0) for n in range(1, 8)]
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_jitter_takes_up_to_half_of_the_wait():
    assert Patience(draw=lambda: 0.0).wait(Fault.BUSY, 3, 0, 0.0) == 1.0


def test_retry_after_is_obeyed_where_the_time_allows_it():
    assert Patience(draw=lambda: 0.0).wait(Fault.BUSY, 1, 0, 0.0, retry_after=7.0) == 7.0
    assert Patience(seconds=5.0).wait(Fault.BUSY, 1, 0, 0.0, retry_after=7.0) is None


def test_a_server_that_answers_with_errors_is_asked_a_few_times_only():
    patience = full(tries=3)
    assert patience.wait(Fault.SERVER, 2, 2, 1.0) is not None
    assert patience.wait(Fault.SERVER, 3, 3, 1.0) is None
    assert patience.wait(Fault.SERVER, 9, 1, 1.0) is not None  # it was away the other times


def test_a_stalled_reply_gets_all_its_tries_however_long_they_take():
    patience = full(seconds=60.0)
    waits = [patience.wait(Fault.STALLED, n, n, 300.0 * n) for n in (1, 2, 3, 4)]
    assert waits == [0.5, 1.0, 2.0, None]


@pytest.mark.parametrize("asked", [0.0, 0.01])
def test_a_server_that_asks_for_no_pause_gets_one(asked):
    assert full().wait(Fault.BUSY, 3, 0, 0.0, retry_after=asked) == 2.0


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5120"),
        (422, "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000"),
        (400, "The input (61709 tokens) is longer than the model's context length (40960 tokens)."),
        (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
        (400, "input length and `max_tokens` exceed context limit: 199759 + 21333 > 200000"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575)."),
        (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081"),
        (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        (400, "Please reduce the length of the messages or completion."),
        (400, "Range of input length should be [1, 30720]"),
        (400, "Your request exceeded model token limit: 8192"),
        (500, "Input is too long for requested model."),
        (500, "input is too large to process. increase the physical batch size"),
        (413, "Request Entity Too Large"),
    ],
)
def test_too_long_is_known_in_many_wordings(status, said):
    assert classify(status, said) is Fault.CONTEXT


@pytest.mark.parametrize(
    "said",
    [
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
        "Unsupported parameter: 'max_tokens' is not supported with this model.",
        "This response_format type is unavailable now",
        "temperature must be at most 1",
    ],
)
def test_what_a_shorter_prompt_would_not_help_is_not_called_too_long(said):
    assert classify(400, said) is Fault.REFUSED


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"error": {"message": "no", "code": "x"}}', ("no", "x")),
        ('{"error": "no", "error_type": "x"}', ("no", "x")),
        ('{"object": "error", "message": "no", "type": "x", "code": 400}', ("no", "x")),
        ('[{"error": {"message": "no", "code": 400}}]', ("no", "400")),
        ('{"detail": [{"loc": ["body"], "msg": "no", "type": "x"}]}', ("no", "x")),
        ('{"errors": ["no", {"message": "never"}]}', ("no; never", "")),
        ('"no"', ("no", "")),
        ("no  \n such page", ("no such page", "")),
        ("17", ("17", "")),
        ("null", ("null", "")),
        ("[" * 50_000, ("[" * 500, "")),
        ("", ("", "")),
    ],
)
def test_a_servers_words_are_found_in_any_shape(body, said):
    assert server_words(body) == said


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["error", "message", "detail", "code", "x"]), inner)
        ),
    )
)
def test_no_json_is_too_strange_for_a_servers_words(value):
    said, code = server_words(json.dumps(value))
    assert len(said) <= 500
    assert len(code) <= 100


@pytest.mark.parametrize(
    ("status", "said", "advice"),
    [
        (400, "This response_format type is unavailable now", 'schema = "off"'),
        (400, "'response_format.type' must be 'json_schema' or 'text'", '"strict"'),
        (400, "Use 'max_completion_tokens' instead.", 'max_tokens_field = "max_completion_tokens"'),
        (400, "Unrecognized request argument supplied: chat_template_kwargs", 'kind = "openai"'),
        (400, "Extra inputs are not permitted: seed", "seeds = false"),
        (400, "Unsupported value: 'temperature' does not support 0.0", "[lm] temperature"),
        (401, "no", "api_key_env"),
        (404, "404 page not found", "end in /v1"),
        (307, "the address leads to http://other/v1", "base_url"),
        (400, "I am a teapot", "lm check"),
    ],
)
def test_a_refusal_names_the_setting_that_helps(status, said, advice):
    assert advice in advice_on_refusal(status, said, "http://h")


@pytest.mark.parametrize("mode", ["off", "strict", "portable", "object"])
def test_what_was_refused_is_not_advised_again(mode):
    advice = advice_on_refusal(400, "response_format is not supported", "http://h/v1", mode)
    assert {m for m in ("off", "strict", "portable", "object") if f'"{m}"' in advice} == {
        "off",
        "strict",
        "portable",
        "object",
    } - {mode}


@pytest.mark.parametrize("fault", [Fault.CONTEXT, Fault.MODEL, Fault.REFUSED])
def test_what_cannot_pass_is_not_tried_again(fault):
    assert full().wait(fault, 1, 1, 0.0) is None


@given(draws=st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=60))
def test_a_server_away_for_two_minutes_is_waited_for_and_one_away_for_ever_is_not(draws):
    jitter = iter(draws * 60)
    patience, elapsed, attempt = Patience(draw=lambda: next(jitter)), 0.0, 0
    while True:
        attempt += 1
        wait = patience.wait(Fault.UNREACHABLE, attempt, 0, elapsed)
        if wait is None:
            break
        assert 0.0 < wait <= 10.0
        elapsed += wait
    assert 120.0 < elapsed <= 180.0
    assert attempt < 100


def test_the_last_word_names_the_fault_the_place_and_what_to_do():
    text = describe(Fault.MODEL, "no  such\nmodel", model="m", attempts=1, elapsed=0.0, at="http://h/v1")
    assert text.startswith("unknown_model at http://h/v1: no such model; ")
    assert "abduce lm check" in text


def test_redacting_takes_out_every_secret():
    assert redact("key sk-1 and sk-1", ("sk-1",)) == "key [key] and [key]"
