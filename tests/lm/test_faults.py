"""Which failures are tried again, when, and for how long."""

from __future__ import annotations

import pytest
from abduce.lm.faults import Fault, Patience, classify, describe, redact
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


def test_a_stalled_reply_is_asked_for_once_more_even_if_it_used_up_the_time():
    patience = full(seconds=60.0)
    assert patience.wait(Fault.STALLED, 1, 1, 300.0) == 0.0
    assert patience.wait(Fault.STALLED, 2, 2, 600.0) is None


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
