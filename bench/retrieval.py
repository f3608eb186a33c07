"""BM25 with coverage and filter against BM25 alone in bm25s (numba), tantivy and rank_bm25.

Ratios are ours / theirs (theirs / ours for rank_bm25), each the quotient of the best of several rounds in
which the engines take turns. One thread is measured in processor time, so that a busy machine does not
count; two threads against one in wall time. Our time includes tokenising the query; theirs does not.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import _engines
from abduce.data.build.index import load_source
from abduce.retrievers.base import Where
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.collection import Collection
from abduce.retrievers.files import read_jsonl
from abduce.retrievers.tokenize import tok, tok_set

K = 200
BATCH = 1000
LONG = 100
ROUNDS = 3


def measure(data: Path) -> dict[str, Any]:
    """Everything of the ``retrieval`` section; see the module."""
    results: dict[str, Any] = {}
    icd, seconds = timed(lambda: load_source("clinical", data=data))
    results["icd_documents"] = len(icd)
    results["icd_load_seconds"] = round(seconds, 2)
    build_and_open(icd, results)
    cases = [row["text_en"] for _, row in read_jsonl(data / "clinical" / "contexts.jsonl.gz")]
    mentions = [row["mention"] for _, row in read_jsonl(data / "clinical" / "facts_test.jsonl.gz")]
    against(icd, mentions, cases, Where("diagnosis"), results, "")
    del icd
    passages = load_source("medical", data=data)
    questions = [row["question"] for _, row in read_jsonl(data / "qa" / "medqa_us_test.jsonl.gz")]
    short = [row["question"] for _, row in read_jsonl(data / "qa" / "mmlu_med_test.jsonl.gz")]
    against(passages, short, questions, None, results, "passages_")
    del passages
    return results


Clock = Callable[[], float]


def timed(work: Callable[[], Any], clock: Clock = time.perf_counter) -> tuple[Any, float]:
    start = clock()
    answer = work()
    return answer, clock() - start


def best(
    engines: Mapping[str, Callable[[], Any]], rounds: int = ROUNDS, clock: Clock = time.process_time
) -> dict[str, float]:
    """Best time of each engine; they take turns, so that a busy moment hits all of them."""
    times: dict[str, float] = {}
    for _ in range(rounds):
        for name, work in engines.items():
            times[name] = min(times.get(name, float("inf")), timed(work, clock)[1])
    return times


def against(
    collection: Collection[Any],
    short: Sequence[str],
    long: Sequence[str],
    where: Where | None,
    results: dict[str, Any],
    prefix: str,
) -> None:
    rng = random.Random(0)
    locus = rng.choices(list(short), k=BATCH)
    whole = rng.choices(list(long), k=LONG)
    documents = [tok(collection.document(item)) for item in collection]
    one, two = BM25Retriever(collection, threads=1), BM25Retriever(collection, threads=2)
    two._indexes = one._indexes
    two._vocabulary, two._tables = one.vocabulary, one._tables
    many = rng.choices(list(long), k=BATCH)
    filters = {n: None if where is None else [where] * n for n in (1, BATCH, LONG)}
    one.search(locus, K, filters[BATCH])  # enough that the compiled pass is loaded
    theirs = {
        "bm25s": _engines.bm25s_numba(documents, K),
        "tantivy": _engines.tantivy_ram(documents, K),
    }
    theirs_two = _engines.bm25s_numba(documents, K, threads=2)
    slow = _engines.rank_bm25_okapi(documents, K)
    locus_tokens = [sorted(tok_set(q)) for q in locus]
    whole_tokens = [sorted(tok_set(q)) for q in whole]
    for engine in (*theirs.values(), theirs_two):
        engine(locus_tokens[:2])
    single = best(
        {
            "ours": lambda: [one.search([q], K, filters[1]) for q in locus],
            **{n: lambda e=e: [e([q]) for q in locus_tokens] for n, e in theirs.items()},
        }
    )
    batch = best(
        {
            "ours": lambda: one.search(locus, K, filters[BATCH]),
            **{n: lambda e=e: e(locus_tokens) for n, e in theirs.items()},
        }
    )
    longer = best(
        {
            "ours": lambda: one.search(whole, K, filters[LONG]),
            **{n: lambda e=e: e(whole_tokens) for n, e in theirs.items()},
        }
    )
    wall = best(
        {
            "locus": lambda: one.search(locus, K, filters[BATCH]),
            "locus_two": lambda: two.search(locus, K, filters[BATCH]),
            "bm25s": lambda: theirs["bm25s"](locus_tokens),
            "bm25s_two": lambda: theirs_two(locus_tokens),
            "long": lambda: one.search(many, K, filters[BATCH]),
            "long_two": lambda: two.search(many, K, filters[BATCH]),
        },
        rounds=7,
        clock=time.perf_counter,
    )
    few = 10
    slowly = timed(lambda: slow(locus_tokens[:few]), time.process_time)[1] / few
    ratios = {
        "locus_vs_bm25s_numba": single["ours"] / single["bm25s"],
        "locus_batch_vs_bm25s_numba": batch["ours"] / batch["bm25s"],
        "locus_vs_tantivy": single["ours"] / single["tantivy"],
        "long_vs_bm25s_numba": longer["ours"] / longer["bm25s"],
        "long_vs_tantivy": longer["ours"] / longer["tantivy"],
        "locus_vs_rank_bm25": slowly / (single["ours"] / BATCH),
        "two_core_speedup": wall["locus"] / wall["locus_two"],
        "two_core_speedup_long": wall["long"] / wall["long_two"],
        "two_core_speedup_bm25s": wall["bm25s"] / wall["bm25s_two"],
    }
    results |= {prefix + name: round(value, 3) for name, value in ratios.items()}
    results[prefix + "microseconds_a_query"] = {
        **{f"single_{n}": round(t / BATCH * 1e6, 1) for n, t in single.items()},
        **{f"batch_{n}": round(t / BATCH * 1e6, 1) for n, t in batch.items()},
        **{f"long_{n}": round(t / LONG * 1e6, 1) for n, t in longer.items()},
        "single_rank_bm25": round(slowly * 1e6, 1),
    }


def build_and_open(collection: Collection[Any], results: dict[str, Any]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        retriever = BM25Retriever(collection)
        results["icd_build_seconds"] = round(timed(lambda: retriever.postings("diagnosis"))[1], 2)
        results["icd_save_seconds"] = round(timed(lambda: retriever.save(folder / "icd"))[1], 2)
        script = (
            "import json, sys, time\n"
            "from abduce.retrievers.bm25 import BM25Retriever\n"
            "from abduce.retrievers.base import Where\n"
            "start = time.perf_counter()\n"
            f"r = BM25Retriever.open({str(folder / 'icd')!r})\n"
            "opened = time.perf_counter() - start\n"
            "r.search(['hydatid cyst'], 5, [Where('diagnosis')])\n"
            "lines = open('/proc/self/status').read().splitlines()\n"
            "rss = next(int(x.split()[1]) for x in lines if x.startswith('VmRSS'))\n"
            "print(json.dumps([opened, rss / 1024]))\n"
        )
        runs = [json.loads(subprocess.check_output([sys.executable, "-c", script])) for _ in range(3)]
        results["icd_open_seconds"] = round(min(r[0] for r in runs), 3)
        results["icd_resident_mb"] = round(max(r[1] for r in runs))
        cold(folder / "icd", results)
    finally:
        shutil.rmtree(folder)


def cold(folder: Path, results: dict[str, Any]) -> None:
    """Processor seconds from the start of Python to the first ranking of an index, and to the loaded kernel
    without numba's cache, then with it."""
    first = (
        "from abduce.retrievers.bm25 import BM25Retriever\n"
        "from abduce.retrievers.base import Where\n"
        f"BM25Retriever.open({str(folder)!r}).search(['hydatid cyst'], 200, [Where('diagnosis')])\n"
    )
    kernel = "import abduce.retrievers._kernel\n"
    used = "import time; print(time.process_time())"
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "NUMBA_CACHE_DIR": cache}
        for name, script in (
            ("first_query_cold_seconds", first),
            ("kernel_cold_seconds", kernel),
            ("kernel_cached_seconds", kernel),
        ):
            said = subprocess.check_output([sys.executable, "-c", script + used], env=env)
            results[name] = round(float(said), 2)
