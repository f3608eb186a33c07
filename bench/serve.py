"""``abduce serve``: 8 clients that ask one after the other, on a server of two processes, without a model.

A client sends tables of 16 facts, or single facts; a fact's milliseconds are those of its request over the
facts in it.
"""

from __future__ import annotations

import http.client
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import orjson
from abduce.data.domains import FINANCE
from abduce.data.folder import DataFolder

CLIENTS, PROCESSES = 8, 2
REQUESTS = {1: 30, 16: 6}
"""Facts in a request to requests of one client."""


def measure(data: Path) -> dict[str, Any]:
    """``data`` is not needed: the facts come with abduce."""
    found: dict[str, Any] = {"clients": CLIENTS, "processes": PROCESSES}
    for row in ("locus", "trained (others)"):
        for size, requests in REQUESTS.items():
            name = f"{row}, {size} a request"
            found |= {f"{name}: {k}": v for k, v in _measured(row, size, requests).items()}
    return found


def _measured(row: str, size: int, requests: int) -> dict[str, float]:
    facts = [e.inputs["fact"] for e in DataFolder.of_package().facts(FINANCE, "dev")]
    lines = []
    for fact in facts:
        context = fact.context
        line = fact.model_dump(mode="json", exclude={"context"}, exclude_none=True)
        lines.append(line | {"context_id": context.context_id, "source_context": context.text})
    bodies = [orjson.dumps({"facts": lines[i : i + size]}) for i in range(0, len(lines) - size, size)]
    command = [sys.executable, "-m", "abduce.cli.main", "serve", "--port", "0", "--corpus", ""]
    command += ["--program", row, "--workers", str(PROCESSES)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ})
    assert server.stderr is not None
    try:
        port = next(int(m[1]) for line in server.stderr if (m := re.search(r"http://\S+:(\d+)", line)))
        _ask(port, bodies[:40], [])  # both processes are warm
        times: list[list[float]] = [[] for _ in range(CLIENTS)]
        clients = [
            threading.Thread(target=_ask, args=(port, (bodies[c:] + bodies)[:requests], times[c]))
            for c in range(CLIENTS)
        ]
        began = time.perf_counter()
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        whole = time.perf_counter() - began
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
    each = sorted(1000 * t / size for one in times for t in one)
    return {
        "ms_a_fact_p50": round(statistics.median(each), 2),
        "ms_a_fact_p95": round(each[int(0.95 * len(each))], 2),
        "facts_a_second": round(CLIENTS * requests * size / whole, 1),
    }


def _ask(port: int, bodies: list[bytes], times: list[float]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for body in bodies:
        began = time.perf_counter()
        connection.request("POST", "/tag", body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        said = reply.read()
        if reply.status != 200:
            raise RuntimeError(said.decode())
        times.append(time.perf_counter() - began)
    connection.close()
