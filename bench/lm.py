"""The model layer: one FHS fact's critical path, processor time per fact, facts per second, prompt prefixes.

Everything runs against a stub OpenAI server in a process of its own (``tests/support/openai_stub.py``), on
table facts of the finance development split. The response cache is off. A fact is two generations, two
verifications and one selection over 200 candidates; ``calls_only`` figures leave out retrieval, fusion and
everything else that is not a model call. ``rows`` has calls, tokens and critical path of abduce's own rows
beside FHS (prompt tokens by the stub's count: a quarter of the characters).
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

STUB = Path(__file__).resolve().parent.parent / "tests" / "support" / "openai_stub.py"
LATENCY = 0.2
FACTS = 500
IN_FLIGHT = 1000


@contextmanager
def stub(latency: float) -> Iterator[str]:
    """The address of a stub server that answers after ``latency`` seconds."""
    words = [sys.executable, str(STUB), "--latency", str(latency)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(10)


def run(work: Callable[[Any], Any], facts: Sequence[Any], concurrency: int) -> tuple[float, float]:
    """Seconds on the clock and of this process's processors for ``work`` over all facts."""
    clock, processor = time.perf_counter(), time.process_time()
    if concurrency == 1:
        for fact in facts:
            work(fact)
    else:
        with ThreadPoolExecutor(concurrency) as pool:
            waiting = [pool.submit(contextvars.copy_context().run, work, fact) for fact in facts]
            for future in waiting:
                future.result()
    return time.perf_counter() - clock, time.process_time() - processor


def _on_loop(program: Any, facts: Sequence[Any]) -> float:
    """Milliseconds of processor time per fact with many of them in flight on one event loop."""
    many = list(itertools.islice(itertools.cycle(facts), IN_FLIGHT))

    async def go() -> None:
        await asyncio.gather(*(program.acall(fact=fact) for fact in many))

    processor = time.process_time()
    asyncio.run(go())
    return (time.process_time() - processor) / len(many) * 1000


def common(one: str, other: str) -> float:
    """The share of ``other`` that begins like ``one``."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in same) / len(other)


def measure(data: Path) -> dict[str, Any]:
    """Every figure of the section; ``data`` is a data folder with ``finance/``."""
    from abduce.data.domains import DOMAINS
    from abduce.data.folder import DataFolder
    from abduce.lm import load
    from abduce.programs.fhs import FHS
    from abduce.programs.select import Selector
    from abduce.retrievers.bm25 import BM25Retriever
    from abduce.signatures.dimensions import load_schema

    domain = DOMAINS["finance"]
    folder = DataFolder.find(str(data))
    split = "dev"
    facts = [e.inputs["fact"] for e in folder.facts(domain, split)]
    facts = [f for f in facts if f.modality == "table"][:FACTS]
    schema = load_schema(domain.schema)
    program = Selector(FHS(BM25Retriever(folder.taxonomy(domain)), schema, serializer=domain.serializer))
    figures: dict[str, Any] = {"facts": len(facts), "latency_ms": LATENCY * 1000}

    def use(fact: Any) -> Any:
        return program(fact=fact)

    with stub(0.0) as url, load({"kind": "vllm", "base_url": url}, cache=False) as models, models.context():
        traces = [use(fact).trace for fact in facts[:3]]
        assert [c.ok for trace in traces for c in trace.calls] == [True] * 15
        figures["client_cpu_ms_per_fact"] = round(run(use, facts, 1)[1] / len(facts) * 1000, 2)
        figures["calls_only_cpu_ms_per_fact"] = round(_calls_only(program, facts, 1), 2)
        figures["calls_only_cpu_ms_per_fact_32"] = round(_calls_only(program, facts, 32), 2)
    with (
        stub(LATENCY) as url,
        load({"kind": "vllm", "base_url": url}, cache=False) as models,
        models.context(),
    ):
        use(facts[0])
        paths = [run(use, [fact], 1)[0] for fact in facts[:15]]
        figures["critical_path_ms"] = round(statistics.median(paths) * 1000, 1)
        figures["critical_path_ratio"] = round(statistics.median(paths) / (3 * LATENCY), 3)
        for concurrency, n in ((1, 10), (8, 100), (32, len(facts)), (64, len(facts))):
            seconds, processor = run(use, facts[:n], concurrency)
            figures[f"facts_per_second_{concurrency}"] = round(n / seconds, 2)
            if concurrency == 32:
                figures["client_cpu_ms_per_fact_32"] = round(processor / n * 1000, 2)
        figures[f"loop_cpu_ms_per_fact_{IN_FLIGHT}"] = round(_on_loop(program, facts), 2)
        gc.collect()
        gc.freeze()  # as a service does once it is set up
        figures[f"loop_cpu_ms_per_fact_{IN_FLIGHT}_frozen"] = round(_on_loop(program, facts), 2)
        gc.unfreeze()
        total = models.meter.total
        assert (total.dropped, total.failed) == (0, 0)
    figures["rows"] = _rows(folder, domain, facts)
    return figures | _prefixes(facts, program, schema)


ROWS = ("FHS", "FHS soft verdicts", "FHS, one-token selector", "FHS, shared evidence", "FHS, table")
"""abduce's ways to make FHS finer or cheaper, beside it; each with a selector."""

ROW_FACTS = 100
"""Facts that the calls of a row are counted over: the first of the split."""


def _rows(folder: Any, domain: Any, facts: Sequence[Any]) -> dict[str, dict[str, float]]:
    """Calls, tokens and critical path of some rows.

    Calls and tokens are means per fact. The critical path is the median wall time until a fact is answered
    that comes first of its table: of a row that does a group or a table at once, until all of it is done.
    """
    from abduce.data.parts import make_parts
    from abduce.lm import load
    from abduce.programs.methods import build_program
    from abduce.programs.presets import PRESETS

    facts = list(facts[:ROW_FACTS])
    parts = replace(make_parts(folder.taxonomy(domain), domain, {"kind": "bm25"}), facts=facts)
    firsts = list({f.context.context_id: f for f in reversed(facts)}.values())[-9:]
    found: dict[str, dict[str, float]] = {}
    for name in ROWS:
        spec = PRESETS[name]
        spec = spec if spec.selector else spec.changed({"selector": True})
        with stub(0.0) as url, load({"kind": "vllm", "base_url": url}, cache=False) as models:
            with models.context():
                program = build_program(spec, parts)
                for fact in facts:
                    program(fact=fact)
            total = models.meter.total
            found[name] = {
                "calls_per_fact": round(total.calls / len(facts), 2),
                "prompt_tokens_per_fact": round(total.prompt_tokens / len(facts)),
                "completion_tokens_per_fact": round(total.completion_tokens / len(facts), 1),
            }
        with (
            stub(LATENCY) as url,
            load({"kind": "vllm", "base_url": url}, cache=False) as models,
            models.context(),
        ):
            program = build_program(spec, parts)
            paths = [run(lambda fact, p=program: p(fact=fact), [fact], 1)[0] for fact in firsts]
        found[name]["critical_path_ms"] = round(statistics.median(paths) * 1000)
    return found


def _calls_only(program: Any, facts: Sequence[Any], concurrency: int) -> float:
    """Milliseconds of processor time for the five calls of a fact, with one fact's window and ranking."""
    from abduce.programs.calls import ask_about
    from abduce.programs.running import in_thread
    from abduce.programs.trace import Trace

    method = program.program
    first = method(fact=facts[0])
    window, ranking = first.trace.judged[0].window, first.ranking
    readings = first.trace.hypotheses
    shown = method.candidates.show(ranking.ids)

    def calls(fact: Any) -> None:
        trace = Trace()
        method.generator(fact=fact, J=2, temperature=0.8, trace=trace)
        for index, reading in enumerate(readings):
            method.verifier(fact=fact, hypothesis=reading, candidates=window, trace=trace, index=index)
        asked = {"candidates": shown}
        in_thread(
            ask_about(program.select, trace, "selector", fact, method.serializer, budget=10**6, inputs=asked)
        )

    return run(calls, facts, concurrency)[1] / len(facts) * 1000


def _prefixes(facts: Sequence[Any], program: Any, schema: Any) -> dict[str, float]:
    """Least and mean share of characters that prompts have in common with the one before."""
    from abduce.programs.adapter import StrictJSON
    from abduce.programs.verify import show_hypothesis
    from abduce.signatures.fhs import generator_signature, verifier_signature
    from abduce.signatures.types import Hypothesis

    adapter, method = StrictJSON(), program.program

    def prompt(signature: Any, fact: Any, **more: str) -> str:
        inputs = {**method.serializer.evidence(fact), **more}
        shown = {name: inputs[name] for name in signature.input_fields}
        return "".join(m["content"] for m in adapter.format(signature, [], shown))

    generator, verifier = generator_signature(schema), verifier_signature(schema, 10)
    pairs = [(a, b) for a, b in itertools.pairwise(facts) if a.context.context_id == b.context.context_id]
    generation = [common(prompt(generator, a), prompt(generator, b)) for a, b in pairs]
    readings = [
        Hypothesis(values={"Family": "cash", "Role": "balance"}),
        Hypothesis(values={"Event": "issue"}),
    ]
    verification = []
    for fact in facts[::10]:
        window = method.candidates.show(method.retriever.search([method.serializer.locus(fact)], 10)[0].ids)
        one, other = (
            prompt(verifier, fact, candidates=window, hypothesis=show_hypothesis(r, schema)) for r in readings
        )
        verification.append(common(one, other))
    return {
        "prefix_share_generation": round(statistics.mean(generation), 4),
        "prefix_share_generation_least": round(min(generation), 4),
        "prefix_share_verification": round(statistics.mean(verification), 4),
        "prefix_share_verification_least": round(min(verification), 4),
    }
