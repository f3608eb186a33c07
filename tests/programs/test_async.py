"""``acall`` gives what calling a program gives, with its calls at once; a cancelled one leaves nothing."""

from __future__ import annotations

import asyncio
import os
import threading

import dspy
import pytest
from abduce.lm import load
from abduce.programs.base import Program
from abduce.programs.methods import Parts, build_program
from abduce.programs.presets import PRESETS, spec_named
from abduce.programs.running import Part, at_once, blocking, called, in_thread
from abduce.programs.shared import Once
from abduce.retrievers.bm25 import BM25Retriever
from abduce.signatures.types import Fact, SourceContext
from openai_stub import Stub, content_for

GOLD = {"gold": "DebtCurrent"}
ROWS = sorted(name for name, spec in PRESETS.items() if spec.program not in ("precedents", "trained"))
ROWS = [n for n in ROWS if "precedents" not in n]


def facts(n):
    return [
        Fact(
            fact_id=f"f{i}",
            value=f"{i + 1},204",
            datatype="monetaryItemType",
            row_header=f"Debt due within {i + 1} years",
            column_header="2024",
            context=SourceContext(context_id=f"c{i // 2}", text="<table></table>", modality="table"),
        )
        for i in range(n)
    ]


@pytest.fixture
def stub():
    with Stub() as server:
        server.then = lambda body: content_for(body).replace("stub answer", "debt due within one year")
        yield server


@pytest.fixture
def served(stub):
    """A served model whose cache is off."""
    with load({"kind": "vllm", "base_url": stub.url}, cache=False) as models, models.context():
        yield models


def shown(prediction):
    trace = prediction.trace.toDict()
    for call in trace["calls"]:
        call.pop("seconds")
    trace.pop("seconds")
    trace["calls"].sort(key=lambda c: (c["stage"], c["index"]))
    return prediction.ranking.toDict(), trace


@pytest.mark.parametrize("name", ROWS)
def test_a_row_gives_the_same_both_ways(name, served, tiny, schema):
    some = facts(4)
    parts = Parts(lambda _: BM25Retriever(tiny), tiny, schema, facts=some)
    gold = GOLD if spec_named(name).needs_gold else {}
    program, again = (build_program(spec_named(name), parts) for _ in range(2))
    waited = [program(fact=fact, **gold) for fact in some]

    async def go():
        return await asyncio.gather(*(again.acall(fact=fact, **gold) for fact in some))

    assert [shown(p) for p in asyncio.run(go())] == [shown(p) for p in waited]


def test_the_calls_of_a_fact_are_in_flight_together_on_one_loop(stub, served, tiny, schema):
    stub.latency = 0.2
    program = build_program(
        spec_named("FHS").changed({"J": 3}), Parts(lambda _: BM25Retriever(tiny), tiny, schema)
    )
    asyncio.run(program.acall(fact=facts(1)[0]))
    assert stub.most_at_once == 3


def test_many_facts_on_one_loop_take_no_thread(stub, served, tiny, schema):
    stub.latency = 0.1
    program = build_program(spec_named("FHS"), Parts(lambda _: BM25Retriever(tiny), tiny, schema))

    async def go():
        before = threading.active_count()
        found = await asyncio.gather(*(program.acall(fact=fact) for fact in facts(60)))
        return before, threading.active_count(), found

    before, after, found = asyncio.run(go())
    assert before == after
    assert all(len(p.ranking) and not p.trace.lost_replies for p in found)
    assert stub.most_at_once > 8
    assert served.meter.total.calls == 240


def sockets():
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue  # the folder's own descriptor is closed by now
    return {name for name in found if name.startswith("socket")}


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open sockets in /proc")
def test_a_cancelled_fact_leaves_no_thread_and_no_socket(stub, served, tiny, schema):
    program = build_program(spec_named("FHS"), Parts(lambda _: BM25Retriever(tiny), tiny, schema))
    stub.then = "stall"

    async def go():
        threads, before = threading.active_count(), sockets()
        tasks = [asyncio.create_task(program.acall(fact=fact)) for fact in facts(20)]
        while len(stub.bodies) < 40:
            await asyncio.sleep(0.01)
        in_flight = sockets() - before
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        stub.stop()  # its own ends are in this process
        await asyncio.sleep(0.05)
        return threads, in_flight, ended, sockets(), threading.active_count()

    threads, in_flight, ended, after, left = asyncio.run(go())
    stub.start()
    assert len(in_flight) >= 40
    assert all(isinstance(one, asyncio.CancelledError) for one in ended)
    assert not after & in_flight
    assert left == threads
    assert served.meter.total.failed == 40


def test_a_fact_after_a_cancelled_one_is_answered(stub, served, tiny, schema):
    program = build_program(spec_named("FHS"), Parts(lambda _: BM25Retriever(tiny), tiny, schema))
    one, other = facts(2)

    async def go():
        stub.play(*["stall"] * 2)
        task = asyncio.create_task(program.acall(fact=one))
        while len(stub.bodies) < 2:
            await asyncio.sleep(0.01)
        task.cancel()
        return await program.acall(fact=other)

    assert not asyncio.run(go()).trace.lost_replies


def test_models_serve_many_loops_and_close_their_connections(stub, tiny, schema):
    program = build_program(spec_named("FHS"), Parts(lambda _: BM25Retriever(tiny), tiny, schema))
    with load({"kind": "vllm", "base_url": stub.url}, cache=False) as models:
        with models.context():
            for fact in facts(3):
                assert len(asyncio.run(program.acall(fact=fact)).ranking)
        wires = models.default.engine._loops._wires
        assert len(wires) == 1  # those of loops that have ended are closed
        pool = next(iter(wires.values()))._pool
        idle = [c for found in pool._idle.values() for c in found]
        assert idle
    assert all(c.closed for c in idle)


@pytest.mark.parametrize(
    ("step", "faults"),
    [("close", ["unreachable"]), ("reset", ["unreachable"]), ("drip", ["stalled"]), ("endless", ["garbled"]),
     ("garbage", ["garbled"])],
)  # fmt: skip
def test_faults_on_a_loop_are_those_of_a_thread(step, faults, stub, tiny, schema):
    table = {"kind": "vllm", "base_url": stub.url, "timeout": 1.0, "deadline": 1.0, "tries": 2}
    program = build_program(
        spec_named("one-pass free-text"), Parts(lambda _: BM25Retriever(tiny), tiny, schema)
    )
    found = []
    with load(table, cache=False) as models, models.context():
        for go in (lambda p: p(fact=facts(1)[0]), lambda p: asyncio.run(p.acall(fact=facts(1)[0]))):
            stub.play(step)
            (call,) = go(program).trace.calls
            found.append((call.faults, call.retries, call.ok))
    assert found == [(faults, 1, True)] * 2


def test_the_cache_is_shared_by_both_ways(stub, tmp_path, tiny, schema):
    before = dspy.cache
    program = build_program(spec_named("FHS"), Parts(lambda _: BM25Retriever(tiny), tiny, schema))
    try:
        with load({"kind": "vllm", "base_url": stub.url}, cache_dir=tmp_path) as models, models.context():
            program(fact=facts(1)[0])
            asked = len(stub.bodies)
            prediction = asyncio.run(program.acall(fact=facts(1)[0]))
            assert [c.cache_hit for c in prediction.trace.calls] == [True] * 4
            asyncio.run(program.acall(fact=facts(2)[1]))
            more = len(stub.bodies)
            program(fact=facts(2)[1])
    finally:
        dspy.cache = before
    assert asked < more == len(stub.bodies)  # equal calls of one fact may or may not be one


class Own(Program):
    """A method of one's own that knows nothing of loops."""

    def forward(self, fact):
        assert blocking() or threading.current_thread() is not threading.main_thread()
        return self.answer(self.retriever.search([fact.row_header], 3)[0], self.start())


def test_a_method_of_ones_own_that_only_waits_can_be_awaited(tiny):
    program = Own(BM25Retriever(tiny))
    (fact,) = facts(1)

    async def go():
        return await program.acall(fact=fact)

    class Neither(Program):
        """A method without a body."""

    Own.forward = lambda self, fact: self.answer(self.retriever.search([fact.row_header], 3)[0], self.start())
    assert asyncio.run(go()).ranking.ids == program(fact=fact).ranking.ids
    with pytest.raises(NotImplementedError, match="neither aforward nor forward"):
        Neither(BM25Retriever(tiny))(fact=fact)


def test_a_part_that_only_waits_runs_in_a_thread_and_a_callable_where_it_is():
    where = []

    class Waits(dspy.Module):
        def forward(self, x):
            where.append(threading.current_thread() is threading.main_thread())
            return x

    async def go():
        return await called(Waits(), x=1), await called(lambda x: (where.append(True), x)[1], x=2)

    assert asyncio.run(go()) == (1, 2)
    assert where == [False, True]


def test_what_waits_for_a_loop_cannot_run_in_a_thread():
    class Sleeps(Part):
        async def aforward(self):
            await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="waits for an event loop"):
        Sleeps()()


def test_the_first_failure_in_order_is_raised_once_all_have_ended():
    ended = []

    async def one(i):
        if not blocking():
            await asyncio.sleep(0.01 * (3 - i))
        ended.append(i)
        if i:
            raise ValueError(str(i))
        return i

    for run in (asyncio.run, in_thread):
        ended.clear()
        with pytest.raises(ValueError, match="1"):
            run(at_once([lambda i=i: one(i) for i in range(3)]))
        assert sorted(ended) == [0, 1, 2]
        assert run(at_once([lambda: one(0)] * 2)) == [0, 0]


def test_who_waits_for_a_shared_value_computes_it_where_the_first_is_cancelled():
    once, made = Once(), []

    async def compute():
        made.append(1)
        await asyncio.sleep(0.2 if len(made) == 1 else 0)
        return len(made)

    async def go():
        first = asyncio.create_task(once.get("k", 3, compute))
        await asyncio.sleep(0.01)
        others = [asyncio.create_task(once.get("k", 3, compute)) for _ in range(2)]
        await asyncio.sleep(0.01)
        first.cancel()
        return await asyncio.gather(*others)

    assert asyncio.run(go()) == [2, 2]


def test_stages_tell_of_themselves_while_a_program_is_streamed(served, tiny, schema):
    program = build_program(
        spec_named("verifier on, selector on"), Parts(lambda _: BM25Retriever(tiny), tiny, schema)
    )
    streamed = dspy.streamify(program, is_async_program=True)
    (fact,) = facts(1)

    async def go(stream):
        return [part async for part in stream(fact=fact)]

    found = asyncio.run(go(streamed))
    messages = [p.message for p in found if isinstance(p, dspy.streaming.StatusMessage)]
    assert messages == [
        "writing hypotheses",
        "retrieving",
        "fusing rankings",
        "checking candidates",
        "selecting",
    ]
    assert isinstance(found[-1], dspy.Prediction)
    assert found[-1].ranking.ids == program(fact=fact).ranking.ids
    waits = asyncio.run(go(dspy.streamify(program)))  # in a thread
    assert [p.message for p in waits if isinstance(p, dspy.streaming.StatusMessage)] == messages
