"""Sums over calls."""

from __future__ import annotations

from abduce.lm.meter import Meter, tally
from abduce.programs.trace import Call
from hypothesis import given
from hypothesis import strategies as st

CALLS = [
    Call(
        "generator", True, prompt_tokens=100, completion_tokens=10, cached_tokens=60, requests=1, seconds=0.5
    ),
    Call("generator", False, requests=3, retries=2, faults=["busy", "unreachable"], prompt_tokens=100),
    Call("generator", True, retry=True, requests=1, prompt_tokens=100, completion_tokens=20),
    Call("verifier", True, cache_hit=True),
    Call("verifier", False, failed=True, requests=1, faults=["refused"]),
    Call("verifier", False, retry=True, dropped=True, requests=1),
]


def test_by_hand():
    meter = Meter()
    for call in CALLS:
        meter.add(call)
    generator, verifier = meter.stages["generator"], meter.stages["verifier"]
    assert (generator.calls, generator.requests, generator.retries) == (2, 5, 3)
    assert (generator.prompt_tokens, generator.completion_tokens, generator.cached_tokens) == (300, 30, 60)
    assert generator.seconds == 0.5
    assert (verifier.calls, verifier.requests, verifier.cache_hits) == (2, 2, 1)
    assert (verifier.failed, verifier.dropped) == (1, 1)
    assert meter.total.faults == {"busy": 1, "unreachable": 1, "refused": 1}
    assert meter.as_dict()["total"]["requests"] == 7
    assert list(meter.as_dict()["stages"]) == ["generator", "verifier"]


def test_the_stages_are_a_copy():
    meter = Meter()
    meter.add(CALLS[0])
    meter.stages["generator"].calls = 99
    assert meter.total.calls == 1


@given(split=st.integers(0, len(CALLS)))
def test_the_sum_of_the_parts_is_the_whole(split):
    whole, parts = tally(CALLS), tally(CALLS[:split])
    parts.add(tally(CALLS[split:]))
    assert parts == whole
