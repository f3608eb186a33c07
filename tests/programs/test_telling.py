"""Spans of OpenTelemetry where it is configured, and nothing where it is not."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import dspy
import pytest
from abduce.lm import load
from abduce.programs import FHS
from abduce.programs.telling import span
from abduce.retrievers.bm25 import BM25Retriever
from openai_stub import Stub

trace = pytest.importorskip("opentelemetry.trace")
sdk = pytest.importorskip("opentelemetry.sdk.trace")
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402


@pytest.fixture
def spans(monkeypatch):
    """Spans that were made, under a tracer provider of this test's own."""
    exporter, provider = InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return exporter.get_finished_spans


@pytest.mark.parametrize("awaited", [False, True])
def test_stages_and_calls_are_spans(spans, awaited, tiny, schema, table_fact):
    program = FHS(BM25Retriever(tiny), schema)
    with (
        Stub() as stub,
        load({"kind": "vllm", "base_url": stub.url}, cache=False) as models,
        models.context(),
    ):
        stub.play(*["{"] * 2)  # the first two replies are no use
        with models.context():
            prediction = asyncio.run(program.acall(fact=table_fact)) if awaited else program(fact=table_fact)
    found = spans()
    by_name = {}
    for one in found:
        by_name.setdefault(one.name, []).append(one)
    stages = {"abduce.generate", "abduce.retrieve", "abduce.fuse"}
    assert stages <= by_name.keys()
    (generate,), (retrieve,) = by_name["abduce.generate"], by_name["abduce.retrieve"]
    assert retrieve.attributes["abduce.queries"] == len(prediction.trace.queries)
    assert retrieve.attributes["abduce.K"] == 200
    assert retrieve.attributes["abduce.found"] == sum(len(r) for r in prediction.trace.rankings)
    calls = by_name["abduce.call"]
    assert len(calls) == len(prediction.trace.calls)
    assert sum(c.attributes["abduce.prompt_tokens"] for c in calls) == models.meter.total.prompt_tokens > 0
    assert sorted(c.attributes["abduce.ok"] for c in calls) == sorted(c.ok for c in prediction.trace.calls)
    assert {c.attributes["abduce.stage"] for c in calls} <= {"generator", "verifier"}
    inside = [c for c in calls if c.attributes["abduce.stage"] == "generator"]
    assert all(c.parent.span_id == generate.context.span_id for c in inside)


def test_a_failed_call_is_an_error_in_its_span(spans, tiny, schema, table_fact):
    program = FHS(BM25Retriever(tiny), schema)
    table = {"kind": "vllm", "base_url": "http://127.0.0.1:9/v1", "tries": 1, "patience": 0.0}
    with load(table, cache=False) as models, models.context(), pytest.raises(dspy.LMError):
        program(fact=table_fact)
    calls = [s for s in spans() if s.name == "abduce.call"]
    assert all(s.status.status_code is trace.StatusCode.ERROR for s in calls)


def test_nothing_is_made_where_no_provider_is_set(monkeypatch):
    monkeypatch.setattr(trace, "get_tracer_provider", trace.ProxyTracerProvider)
    with span("stage", n=1) as current:
        assert current is None


def test_opentelemetry_is_never_imported():
    script = (
        "import sys; from abduce.programs.trace import Trace\n"
        "with Trace().timed('retrieve') as span: assert span is None\n"
        "print([m for m in sys.modules if m.startswith('opentelemetry')])"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "[]\n"
