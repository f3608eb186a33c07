"""What grows with its input, and how fast: concepts, precedents, facts; facts per second by actors.

Each size has a process of its own: processor seconds and resident bytes per item. ``ABDUCE_FULL=1``
takes the full sizes (up to 280,000 concepts, 1.6 million precedents, a million facts): half an hour.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

FULL = os.environ.get("ABDUCE_FULL") == "1"
CONCEPTS = (1, 4, 16) if FULL else (1, 2, 4)
PRECEDENTS = (100_000, 400_000, 1_600_000) if FULL else (25_000, 50_000, 100_000)
FACTS = (10_000, 100_000, 1_000_000) if FULL else (2_000, 4_000, 8_000)
ACTORS = (1, 2)

SHARED = """
import json, random, resource, sys, tempfile, time
from pathlib import Path
from abduce.data.facts import read_facts
data, size = Path(sys.argv[1]), int(sys.argv[2])
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
def said(n, seconds, memory, **more):
    print(json.dumps(dict(items=n, microseconds_per_item=round(seconds / n * 1e6, 1),
        bytes_per_item=round(memory / n), **more)))
def copies(n):
    facts = list(read_facts(data / "finance" / "facts_dev.jsonl.gz"))
    for i in range(n):
        of, turn = facts[i % len(facts)], i // len(facts)
        fact = of.inputs["fact"]
        context = fact.context.model_copy(update={"context_id": f"{fact.context.context_id}-{turn}"})
        changed = {"fact_id": f"{fact.fact_id}-{turn}", "company": f"{fact.company} {turn}",
            "filing_id": f"{fact.filing_id}-{turn}", "context": context}
        yield fact.model_copy(update=changed), of.gold
def write(path, n):
    with open(path, "w") as out:
        for fact, _ in copies(n):
            row = fact.model_dump(mode="json", exclude={"context"}, exclude_none=True)
            row |= {"context_id": fact.context.context_id, "source_context": fact.context.text}
            out.write(json.dumps(row) + "\\n")
"""
TAXONOMY = """
from abduce.data.build.index import load_source
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.taxonomy import Taxonomy
base = load_source("finance", data=data)
queries = [c.label for c in random.Random(0).sample(list(base), 100)]
BM25Retriever(base, threads=1).search(queries, 200)  # the compiled pass is loaded
grown = [c.model_copy(update={"id": f"{c.id}-{i}"}) for c in base for i in range(size)]
taxonomy = Taxonomy(grown, "grown", base.indexed)
before, start = resident(), time.process_time()
retriever = BM25Retriever(taxonomy, threads=1)
held = sum(a.nbytes for a in vars(retriever.postings(None)).values())
built, after = time.process_time() - start, resident()
start = time.process_time()
retriever.search(queries, 200)
asked = (time.process_time() - start) / len(queries)
said(len(taxonomy), built, max(after - before, 0), index_bytes_per_item=round(held / len(taxonomy)),
    milliseconds_per_query=round(asked * 1e3, 3))
"""
PRECEDENT = """
from abduce.retrievers.precedents.index import Precedents, Tagged
before, start = resident(), time.process_time()
index = Precedents(Tagged(*pair) for pair in copies(size))
built, after = time.process_time() - start, resident()
asked = [fact for fact, _ in copies(100)]
index.rank(asked[0])
start = time.process_time()
for fact in asked:
    index.rank(fact)
said(size, built, after - before, milliseconds_per_query=round((time.process_time() - start) * 10, 3))
"""
FACT = """
from abduce.tagging.tagger import Tagger
with tempfile.TemporaryDirectory() as folder, Tagger(program="locus", data=data) as tagger:
    path = Path(folder, "facts.jsonl")
    write(path, size)
    for _ in tagger.start([fact for fact, _ in copies(400)]):
        pass
    before, start = resident(), time.process_time()
    for tag in tagger.start(path):
        pass
    seconds = time.process_time() - start
    said(size, seconds, max(peak() - before, 0), facts_per_second=round(size / seconds))
"""
RAY = """
import shutil
from abduce.tagging.on_ray import tag_on_ray
actors = int(sys.argv[3])
with tempfile.TemporaryDirectory() as folder:
    settings = {"program": "locus", "data": str(data)}
    seconds = []
    for n in (8, 8, size):  # the first starts Ray, the second says what starting the actors takes
        write(Path(folder, "facts.jsonl"), n)
        start = time.perf_counter()
        out = f"{folder}/out{len(seconds)}"
        done = tag_on_ray(f"{folder}/facts.jsonl", out, settings, actors=actors)
        seconds.append(time.perf_counter() - start)
        assert (done.facts, done.failed) == (n, 0)
    steady = (size - 8) / max(seconds[2] - seconds[1], 1e-9)
    print(json.dumps(dict(actors=actors, facts=size, seconds=round(seconds[2], 1),
        facts_per_second=round(steady))))
"""


def measure(data: Path) -> dict[str, Any]:
    """Everything of the ``scale`` section; see the module."""
    found = {
        "concepts": [_run(TAXONOMY, data, n) for n in CONCEPTS],
        "precedents": [_run(PRECEDENT, data, n) for n in PRECEDENTS],
        "facts": [_run(FACT, data, n) for n in FACTS],
    }
    for name, rows in list(found.items()):
        small, large = rows[0], rows[-1]
        found[f"{name}_growth"] = {
            "items": round(large["items"] / small["items"], 1),
            **{
                part: round(large[part] / max(small[part], 1e-9), 2)
                for part in ("microseconds_per_item", "bytes_per_item")
            },
        }
    if importlib.util.find_spec("ray") is not None:
        found["facts_by_actors"] = [_run(RAY, data, FACTS[-1], n) for n in ACTORS]
    return found


def _run(script: str, data: Path, *given: int) -> dict[str, Any]:
    run = [sys.executable, "-c", SHARED + script, str(data), *map(str, given)]
    return dict(json.loads(subprocess.check_output(run).splitlines()[-1]))
