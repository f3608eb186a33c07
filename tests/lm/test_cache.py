"""The response cache: what is kept, for whom, and what never is."""

from __future__ import annotations

import json
import sqlite3

import dspy
import pytest
from abduce.lm import load
from abduce.lm.cache import KeptReplies, cache_folder
from abduce.programs.calls import ask
from abduce.programs.running import in_thread
from abduce.programs.trace import Trace
from abduce.retrievers.errors import InputError
from openai_stub import Stub, completion

SAID = json.dumps({"answer": "yes"})


class Say(dspy.Signature):
    """Say a word."""

    value: str = dspy.InputField()
    answer: str = dspy.OutputField()


@pytest.fixture(autouse=True)
def _own_cache():
    before = dspy.cache
    yield
    dspy.cache = before


@pytest.fixture
def stub():
    with Stub() as server:
        server.then = SAID
        yield server


def put(table, folder, temperature=None, value="7", **more):
    trace = Trace()
    with load(table, cache_dir=folder, **more) as models, models.context():
        answer = in_thread(ask(dspy.Predict(Say), trace, "generator", temperature=temperature, value=value))
        return answer, trace, models.meter.total


def test_an_entry_that_was_changed_costs_a_request_and_no_fact(stub, tmp_path):
    table = {"kind": "vllm", "base_url": stub.url}
    put(table, tmp_path)
    for database in tmp_path.rglob("cache.db"):
        with sqlite3.connect(database) as connection:
            connection.execute(
                "UPDATE Cache SET value = CAST(replace(CAST(value AS TEXT), 'yes', 'yea') AS BLOB)"
            )
        connection.close()
    forget_memory()
    assert put(table, tmp_path)[0] == "yes"
    assert len(stub.bodies) == 2


def test_no_entry_is_ever_unpickled(stub, tmp_path):
    table = {"kind": "vllm", "base_url": stub.url}
    put(table, tmp_path)
    marker = tmp_path / "executed"
    evil = f"cposix\nsystem\n(S'touch {marker}'\ntR.".encode()
    for database in tmp_path.rglob("cache.db"):
        with sqlite3.connect(database) as connection:
            connection.execute("UPDATE Cache SET value = ?, mode = 4, filename = NULL", (evil,))
        connection.close()
    forget_memory()
    assert put(table, tmp_path)[0] == "yes"
    assert not marker.exists()


def forget_memory():
    dspy.cache.reset_memory_cache()


@pytest.mark.parametrize("temperature", [None, 0.8])
def test_the_second_time_the_cache_answers_and_nothing_is_counted_twice(stub, tmp_path, temperature):
    table = {"kind": "vllm", "base_url": stub.url}
    first, _, _ = put(table, tmp_path, temperature)
    forget_memory()
    second, trace, total = put(table, tmp_path, temperature)
    assert first == second == "yes"
    assert len(stub.bodies) == 1
    (call,) = trace.calls
    assert (call.ok, call.raw, call.cache_hit, call.requests) == (True, SAID, True, 0)
    assert (total.calls, total.requests, total.cache_hits) == (1, 0, 1)
    assert (total.prompt_tokens, total.completion_tokens) == (0, 0)


def test_no_cache_asks_every_time_and_writes_nothing(stub, tmp_path):
    for _ in range(2):
        put({"kind": "vllm", "base_url": stub.url}, tmp_path, cache=False)
    assert len(stub.bodies) == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "change",
    [
        {"thinking": True},
        {"model": "other"},
        {"extra": {"repetition_penalty": 1.2}},
        {"min_p": 0.1},
        {"schema": "object"},
        {"identity": "the one in the cellar"},
        {"max_tokens": 10},
    ],
)
def test_two_ways_of_asking_never_answer_for_each_other(stub, tmp_path, change):
    table = {"kind": "vllm", "base_url": stub.url}
    put(table, tmp_path)
    put({**table, **change}, tmp_path)
    assert len(stub.bodies) == 2


def test_two_servers_of_one_model_never_answer_for_each_other(stub, tmp_path):
    with Stub() as other:
        other.then = json.dumps({"answer": "no"})
        assert put({"kind": "vllm", "base_url": stub.url}, tmp_path)[0] == "yes"
        assert put({"kind": "vllm", "base_url": other.url}, tmp_path)[0] == "no"


def test_a_named_server_may_move(stub, tmp_path):
    with Stub() as other:
        put({"kind": "vllm", "base_url": stub.url, "identity": "ours"}, tmp_path)
        assert put({"kind": "vllm", "base_url": other.url, "identity": "ours"}, tmp_path)[0] == "yes"
        assert other.bodies == []


@pytest.mark.parametrize(
    "bad", ["not JSON", lambda body: completion(body, f"Or {SAID} or", finish_reason="length")]
)
def test_a_reply_that_was_no_use_is_never_served_again(stub, tmp_path, bad):
    table = {"kind": "vllm", "base_url": stub.url}
    stub.play(bad, bad)
    assert put(table, tmp_path)[0] is None
    forget_memory()
    assert put(table, tmp_path)[0] == "yes"
    assert len(stub.bodies) == 3


def test_samples_of_one_prompt_are_kept_apart_and_J1_is_a_prefix_of_J2(stub, tmp_path):
    table = {"kind": "vllm", "base_url": stub.url}
    with load(table, cache_dir=tmp_path) as models, models.context():
        for index in (0, 1, 0):
            in_thread(ask(dspy.Predict(Say), Trace(), "generator", index=index, temperature=0.8, value="7"))
    assert len(stub.bodies) == 2


def test_what_is_kept_is_plain_data_and_holds_no_key(stub, tmp_path, monkeypatch):
    monkeypatch.setenv("VLLM_API_KEY", "sk-secret-key")
    put({"kind": "vllm", "base_url": stub.url}, tmp_path)
    assert isinstance(dspy.cache, KeptReplies)
    assert all(b"sk-secret-key" not in f.read_bytes() for f in tmp_path.rglob("*") if f.is_file())


def test_the_folder_is_the_given_one_else_the_variables_else_the_users(tmp_path):
    assert cache_folder("x", {"ABDUCE_CACHE": "y"}).name == "x"
    assert cache_folder(None, {"ABDUCE_CACHE": "y"}).name == "y"
    assert cache_folder(None, {"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "abduce" / "lm"


def test_a_folder_that_cannot_be_used_is_one_line(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        load({"kind": "vllm"}, cache_dir=file)
    damaged = tmp_path / "damaged"
    for shard in range(16):
        (damaged / f"{shard:03d}").mkdir(parents=True)
        (damaged / f"{shard:03d}" / "cache.db").write_bytes(b"no database" * 500)
    with pytest.raises(InputError, match=r"cache of replies .* --no-cache"):
        load({"kind": "vllm"}, cache_dir=damaged)


def test_a_cache_that_is_damaged_during_a_run_costs_a_request_and_no_answer(stub, tmp_path, monkeypatch):
    table = {"kind": "vllm", "base_url": stub.url}
    put(table, tmp_path)
    forget_memory()

    def broken(*_, **__):
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(dspy.cache.disk_cache, "get", broken)
    answer, _, total = put(table, tmp_path)
    assert answer == "yes"
    assert (total.requests, total.cache_hits, len(stub.bodies)) == (1, 0, 2)
