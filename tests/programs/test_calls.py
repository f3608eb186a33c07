"""Asking a model: retries, what is counted, whose model it is, and nothing silent."""

from __future__ import annotations

import json
import threading
from collections import Counter

import dspy
import pytest
from abduce.lm import load
from abduce.lm.meter import tally
from abduce.programs.calls import NoModel, ask, ask_about
from abduce.programs.running import fan_out, in_thread
from abduce.programs.serialize import Serializer
from abduce.programs.trace import Trace
from abduce.signatures.types import Fact, SourceContext
from openai_stub import Status, Stub, completion
from pydantic import BaseModel, Field


class Word(BaseModel):
    word: str = Field(max_length=20)


class Say(dspy.Signature):
    """Say a word about the text."""

    source_context: str = dspy.InputField()
    value: str = dspy.InputField()
    answer: Word = dspy.OutputField()


SAID = json.dumps({"answer": {"word": "yes"}})
INPUTS = {"source_context": "a table", "value": "7"}


@pytest.fixture
def stub():
    with Stub() as server:
        yield server


@pytest.fixture
def models(stub):
    with load({"kind": "vllm", "base_url": stub.url}, cache=False) as given, given.context():
        yield given


def put(trace=None, **changes):
    trace = trace or Trace()
    return in_thread(ask(dspy.Predict(Say), trace, "generator", **INPUTS, **changes)), trace


def test_an_answer_is_typed_and_its_call_recorded(stub, models):
    stub.play(lambda body: completion(body, SAID, usage={"prompt_tokens_details": {"cached_tokens": 9}}))
    answer, trace = put()
    assert answer == Word(word="yes")
    (call,) = trace.calls
    assert (call.stage, call.ok, call.raw, call.error) == ("generator", True, SAID, "")
    assert (call.requests, call.retries, call.cache_hit, call.dropped, call.failed) == (
        1,
        0,
        False,
        False,
        False,
    )
    assert call.prompt_tokens > 0
    assert call.completion_tokens > 0
    assert call.cached_tokens == 9
    assert call.seconds > 0


@pytest.mark.parametrize(
    "bad",
    [
        "not JSON",
        '{"answer": {"word": 5, "x',
        json.dumps({"answer": {"word": "x" * 30}}),
        lambda body: completion(body, "Perhaps " + SAID + " or", finish_reason="length"),
        lambda body: completion(body, None),
        f"<think>{SAID}",
    ],
)
def test_a_reply_that_is_no_use_is_asked_for_once_more(stub, models, bad):
    stub.play(bad, SAID)
    answer, trace = put(temperature=0.8)
    assert answer == Word(word="yes")
    assert [(c.ok, c.retry, c.dropped) for c in trace.calls] == [(False, False, False), (True, True, False)]
    assert trace.calls[0].error
    assert stub.bodies[0]["seed"] != stub.bodies[1]["seed"]
    assert trace.counters["dropped_replies"] == 0


def test_after_the_second_it_is_dropped_and_counted_never_made_up(stub, models):
    stub.play("no", "no", SAID)
    answer, trace = put()
    assert answer is None
    assert len(stub.bodies) == 2
    assert [c.dropped for c in trace.calls] == [False, True]
    assert trace.counters == Counter(llm_calls=2, dropped_replies=1)


def test_a_model_that_cannot_be_reached_raises_and_the_call_is_recorded(stub, models):
    stub.play(Status(401, {"error": {"message": "bad key"}}))
    trace = Trace()
    with pytest.raises(dspy.LMError, match="refused"):
        put(trace)
    (call,) = trace.calls
    assert (call.ok, call.failed, call.faults) == (False, True, ["refused"])
    assert models.meter.total.failed == 1


def test_faults_that_passed_are_told(stub, models):
    stub.play("reset", Status(503), SAID)
    _, trace = put()
    (call,) = trace.calls
    assert (call.ok, call.requests, call.retries) == (True, 3, 2)
    assert call.faults == ["unreachable", "busy"]


def test_a_greedy_call_has_no_seed_and_a_sample_has_its_own(stub, models):
    put()
    put(temperature=0.8, index=0)
    put(temperature=0.8, index=1)
    with dspy.context(seed=2):
        put(temperature=0.8, index=1)
    bodies = stub.bodies
    assert [b["temperature"] for b in bodies] == [0.0, 0.8, 0.8, 0.8]
    assert "seed" not in bodies[0]
    assert [b.get("seed") for b in bodies[1:]] == [1, 2, 2002]


def test_seeds_can_be_left_out(stub):
    with load({"kind": "vllm", "base_url": stub.url, "seeds": False}, cache=False) as given, given.context():
        put(temperature=0.8)
    assert "seed" not in stub.bodies[0]


@pytest.mark.parametrize(
    ("table", "asked", "sent"),
    [
        ({}, None, 0.0),
        ({}, 0.8, 0.8),
        ({"temperature": 0.3}, None, 0.3),
        ({"temperature": 0.3}, 0.8, 0.8),
        ({"generator": {"temperature": 0.5}}, None, 0.5),
        ({"generator": {"temperature": 0.5}}, 0.8, 0.5),
        ({"generator": {"temperature": 0.5}}, 0.0, 0.0),
        ({"verifier": {"temperature": 0.5}}, 0.8, 0.8),
    ],
)
def test_whose_temperature_is_sent(stub, table, asked, sent):
    with load({"kind": "vllm", "base_url": stub.url, **table}, cache=False) as given, given.context():
        put(temperature=asked)
    assert stub.bodies[0]["temperature"] == sent


def test_each_stage_is_asked_of_its_own_model_and_a_predictors_own_wins(stub):
    table = {
        "kind": "vllm", "base_url": stub.url, "model": "big",
        "verifier": {"model": "small", "max_tokens": 77, "top_p": 0.5},
    }  # fmt: skip
    with load(table, cache=False) as given, given.context():
        predictor = dspy.Predict(Say)
        for stage in ("generator", "verifier"):
            in_thread(ask(predictor, Trace(), stage, **INPUTS))
        predictor.set_lm(given.for_stage("verifier"))
        in_thread(ask(predictor, Trace(), "generator", **INPUTS))
    assert [b["model"] for b in stub.bodies] == ["big", "small", "small"]
    assert (stub.bodies[1]["max_tokens"], stub.bodies[1]["top_p"]) == (77, 0.5)


def test_without_a_model_a_program_refuses_and_says_what_to_do():
    with load({"kind": "none"}) as given, given.context(), pytest.raises(NoModel, match=r"\[lm\] table"):
        put()


def test_a_plain_dspy_model_is_metered_too_and_decoded_explicitly():
    lm = dspy.utils.DummyLM([{"answer": {"word": "yes"}}], adapter=dspy.JSONAdapter())
    with dspy.context(lm=lm):
        answer, trace = put(temperature=0.8)
    assert answer == Word(word="yes")
    assert (trace.calls[0].ok, trace.calls[0].requests) == (True, 1)
    sent = lm.history[-1]["kwargs"]
    assert (sent["temperature"], sent["top_p"]) == (0.8, 1.0)  # max_tokens is the model's own


def test_an_outer_usage_tracker_still_counts(stub, models):
    with dspy.track_usage() as tracker:
        put()
    (usage,) = tracker.get_total_tokens().values()
    assert usage["prompt_tokens"] == models.meter.total.prompt_tokens


def test_the_meter_is_exact_under_threads(stub, models):
    def work():
        return put(temperature=0.8)[1]

    traces = []
    lock = threading.Lock()

    def run(context):
        trace = context.run(work)
        with lock:
            traces.append(trace)

    import contextvars

    threads = [threading.Thread(target=run, args=(contextvars.copy_context(),)) for _ in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    total = models.meter.stages["generator"]
    assert total.calls == total.requests == len(stub.bodies) == 60
    by_trace = [tally(t.calls) for t in traces]
    assert sum(t.prompt_tokens for t in by_trace) == total.prompt_tokens > 0
    assert total.dropped == total.failed == total.retries == 0


def test_a_context_that_is_too_long_is_shortened_step_by_step(stub, models):
    lengths = []

    def small_server(body):
        text = body["messages"][-1]["content"]
        lengths.append(text.count("w"))
        if text.count("w") > 2600:
            return Status(400, {"error": {"message": "maximum context length is 4096 tokens"}})
        return SAID

    stub.then = small_server
    fact = Fact(fact_id="f", value="7", context=SourceContext(context_id="c", text="w" * 20_000))
    trace = Trace()
    answer = in_thread(ask_about(dspy.Predict(Say), trace, "generator", fact, Serializer()))
    assert answer == Word(word="yes")
    assert [n // 100 * 100 for n in lengths] == [11900, 7900, 4900, 2400]
    assert trace.counters["context_backoffs"] == 3
    assert [c.failed for c in trace.calls] == [True, True, True, False]


def test_a_context_too_long_even_then_is_that_facts_error(stub, models):
    stub.then = Status(400, {"error": {"message": "maximum context length is 10 tokens"}})
    fact = Fact(fact_id="f", value="7", context=SourceContext(context_id="c", text="short"))
    with pytest.raises(dspy.ContextWindowExceededError, match="context_too_long"):
        in_thread(ask_about(dspy.Predict(Say), Trace(), "generator", fact, Serializer()))


def test_fan_out_keeps_order_and_context_and_raises_the_first_failure_after_all_ended():
    ended = []

    def thunk(i):
        def run():
            seen = dspy.settings.get("mark")
            ended.append(i)
            if i in (1, 3):
                raise ValueError(f"thunk {i}")
            return i, seen

        return run

    with dspy.context(mark="here"):
        assert fan_out([thunk(0), thunk(2), thunk(4)]) == [(0, "here"), (2, "here"), (4, "here")]
        ended.clear()
        with pytest.raises(ValueError, match="thunk 1"):
            fan_out([thunk(i) for i in range(5)])
    assert sorted(ended) == [0, 1, 2, 3, 4]


def test_fan_out_runs_at_the_same_time():
    barrier = threading.Barrier(4, timeout=20)
    assert fan_out([barrier.wait] * 4)
