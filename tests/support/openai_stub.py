"""A small OpenAI-compatible server for tests and benchmarks: answers any JSON schema, plays any fault.

In a test: ``with Stub() as stub: stub.play("reset", "answer")``. For a benchmark it runs as a process of
its own: ``python openai_stub.py --latency 0.2`` prints its address and serves until its input closes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Answer = Callable[[dict[str, Any]], Any]


def instance(schema: Any, root: Any = None) -> Any:
    """The smallest value that a JSON schema allows, as a strict server would be forced to write one."""
    root = schema if root is None else root
    if "$ref" in schema:
        node = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            node = node[part]
        return instance(node, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return instance(schema["anyOf"][0], root)
    kind = schema.get("type")
    if kind == "object":
        return {name: instance(part, root) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [instance(schema["items"], root) for _ in range(schema.get("minItems", 1))]
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    if kind == "boolean":
        return True
    pattern = schema.get("pattern", "")
    if letters := re.fullmatch(r"\^\[(\w)\w*\]\{(\d+)\}\$", pattern):
        return letters[1] * int(letters[2])
    if spaced := re.fullmatch(r"\^\[(\w)\w*\]\( \[\w+\]\)\{(\d+)\}\$", pattern):
        return " ".join(spaced[1] * (1 + int(spaced[2])))
    return ("stub answer" + "x" * schema.get("minLength", 0))[: schema.get("maxLength", 1000)]


def content_for(body: Mapping[str, Any]) -> str:
    """What the stub says to a request: an instance of its schema, else a short JSON object."""
    if body.get("max_tokens") == 1:
        return "A"
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        return json.dumps(instance(wanted["json_schema"]["schema"]))
    return json.dumps({"answer": "stub answer"})


def logprobs(content: str) -> list[dict[str, Any]]:
    """Tokens of a reply: a space and what follows it is one, and a single letter is not sure of itself (.5 as
    it stands, .3 for ``n``, .2 for ``x``)."""
    entries = []
    for token in re.findall(r" ?[A-Za-z0-9]+|.", content, re.DOTALL):
        options, letter = {token: 1.0}, token.strip()
        if len(letter) == 1 and letter.isalpha():
            options = {token: 0.5, token.replace(letter, "n"): 0.3, token.replace(letter, "x"): 0.2}
        tops = [{"token": t, "logprob": math.log(p)} for t, p in options.items()]
        entries.append({"token": token, "logprob": math.log(options[token]), "top_logprobs": tops})
    return entries


def completion(body: Mapping[str, Any], content: str | None, **changes: Any) -> dict[str, Any]:
    """A chat completion; ``changes`` may set ``finish_reason``, ``usage`` or parts of ``message``."""
    prompt = sum(len(str(m.get("content"))) for m in body.get("messages", [])) // 4
    usage = {"prompt_tokens": prompt, "completion_tokens": len(content or "") // 4 + 1}
    usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
    message = {"role": "assistant", "content": content, **changes.get("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": changes.get("finish_reason", "stop")}
    if body.get("logprobs") and content:
        choice["logprobs"] = {"content": changes.get("logprobs") or logprobs(content)}
    return {
        "id": "chatcmpl-stub", "object": "chat.completion", "created": 0, "model": body.get("model", ""),
        "choices": [choice],
        "usage": {**usage, **changes.get("usage", {})},
    }  # fmt: skip


@dataclass
class Status:
    """A reply with this status, body and headers."""

    status: int
    body: Any = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


class Stub:
    """The server, in a thread of its own. ``bodies`` and ``headers`` hold what was asked, in order.

    ``play(...)`` sets what the next requests meet: ``"answer"``; ``"reset"`` (the connection breaks in
    the middle of the body), ``"close"`` (before a reply), ``"stall"``,
    ``"drip"`` (a byte now and then, for ever), ``"endless"`` (a body without an end), ``"empty"``,
    ``"garbage"``, a text (the reply's content), a :class:`Status`, or a function of the body that returns
    one of these or a whole completion. When the script is over, every request meets ``then`` (by default
    ``"answer"``).
    """

    def __init__(self, latency: float = 0.0, port: int = 0) -> None:
        self.latency = latency
        self.port = port
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.script: deque[Any] = deque()
        self.then: Any = "answer"
        self.models: list[dict[str, Any]] = [{"id": "stub-model", "max_model_len": 4096}]
        self.most_at_once = 0
        self._now = 0
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.AbstractServer | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def play(self, *steps: Any) -> Stub:
        self.script = deque(steps)
        return self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Stub:
        self._thread.start()
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

        async def end() -> None:
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    def start(self) -> None:
        """Listen (again): a server that comes back keeps its port."""

        async def listen() -> None:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
            self.port = self._server.sockets[0].getsockname()[1]

        asyncio.run_coroutine_threadsafe(listen(), self._loop).result(5)

    def stop(self) -> None:
        """Die: stop listening and break every connection."""

        async def close() -> None:
            if self._server is not None:
                self._server.close()
                self._server = None
            for writer in list(self._writers):
                writer.transport.abort()

        asyncio.run_coroutine_threadsafe(close(), self._loop).result(5)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                line, *rows = head.split("\r\n")
                headers = {k.strip().lower(): v.strip() for k, _, v in (r.partition(":") for r in rows) if k}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self._now += 1
                self.most_at_once = max(self.most_at_once, self._now)
                try:
                    going_on = await self._reply(line.split(" ")[:2], headers, body, writer)
                finally:
                    self._now -= 1
                if not going_on:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _reply(
        self, what: list[str], headers: dict[str, str], raw: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        if what[0] == "GET":
            known = what[1].endswith("/models")
            return await self._send(writer, 200 if known else 404, {"data": self.models} if known else {})
        body = json.loads(raw)
        self.bodies.append(body)
        self.headers.append(headers)
        step = self.script.popleft() if self.script else self.then
        if self.latency:
            await asyncio.sleep(self.latency)
        if callable(step):
            step = step(body)
        if step == "stall":
            await asyncio.sleep(3600)
        if step == "close":
            writer.transport.abort()
            return False
        if step == "reset":
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{"id":')
            await writer.drain()
            writer.transport.abort()
            return False
        if step in ("drip", "endless"):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
            while not writer.is_closing():
                writer.write(b" " if step == "drip" else b"[" * 65536)
                await writer.drain()
                await asyncio.sleep(0.02 if step == "drip" else 0)
            return False
        if isinstance(step, Status):
            return await self._send(writer, step.status, step.body, step.headers)
        if step in ("empty", "garbage"):
            return await self._send(writer, 200, b"" if step == "empty" else b"<html>gateway</html>")
        if isinstance(step, dict):
            return await self._send(writer, 200, step)
        content = content_for(body) if step == "answer" else step
        n = int(body.get("n") or 1)
        reply = completion(body, content)
        reply["choices"] = [{**reply["choices"][0], "index": i} for i in range(n)]
        return await self._send(writer, 200, reply)

    async def _send(
        self, writer: asyncio.StreamWriter, status: int, body: Any, headers: Mapping[str, str] | None = None
    ) -> bool:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        rows = {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})}
        head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{k}: {v}\r\n" for k, v in rows.items()) + "\r\n"
        writer.write(head.encode("latin-1") + data)
        await writer.drain()
        return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every reply")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    with Stub(given.latency, given.port) as stub:
        print(stub.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
