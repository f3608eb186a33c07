"""Several servers of one model: which one a request goes to."""

from __future__ import annotations

import threading

from abduce.lm.engine import Replica, Replicas
from abduce.lm.faults import Fault
from openai_stub import Stub
from served_stub import Clock, request, served


def test_a_dead_replica_is_left_for_another_at_once(stub):
    clock = Clock()
    with Stub() as other:
        stub.stop()
        engine = served(stub.url, other.url, clock=clock)
        for i in range(20):
            assert engine.complete(request(f"prompt {i}")).text
        assert clock.slept == []
        assert len(other.bodies) == 20


def test_requests_that_begin_alike_prefer_one_replica_and_the_others_get_their_share():
    with Stub() as one, Stub() as two:
        engine = served(one.url, two.url)
        for i in range(40):
            table = f"table {i // 4} " + "x" * 600
            engine.complete(request(table + f" locus {i}"))
        counts = sorted((len(one.bodies), len(two.bodies)))
        assert sum(counts) == 40
        assert counts[0] >= 4
        tables = [{b["messages"][-1]["content"][:9] for b in stub.bodies} for stub in (one, two)]
        assert not tables[0] & tables[1]


def test_a_replica_that_is_much_busier_loses_its_preference():
    replicas = Replicas([Replica("a", None), Replica("b", None)])
    taken = [replicas.take("same prefix").url for _ in range(40)]
    assert abs(taken.count("a") - taken.count("b")) <= 10


def test_a_replica_that_failed_is_left_alone_and_comes_back():
    clock = Clock()
    replicas = Replicas([Replica("a", None), Replica("b", None)], clock=clock)
    first = replicas.take("p")
    replicas.release(first, Fault.UNREACHABLE)
    other = replicas.take("p")
    assert other is not first
    replicas.release(other, None)
    clock.now = 60.0
    assert replicas.take("p") is first


def test_no_more_connections_are_open_than_allowed():
    with Stub(latency=0.05) as stub:
        engine = served(stub.url, max_connections=3)
        threads = [threading.Thread(target=engine.complete, args=(request(str(i)),)) for i in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert len(stub.bodies) == 12
        assert stub.most_at_once <= 3
