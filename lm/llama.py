"""A llama.cpp server (xllamacpp) in a child process, on a GGUF file."""

from __future__ import annotations

import atexit
import http.client
import importlib.util
import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ..retrievers.errors import InputError, MissingExtra
from .profiles import Profile


class LlamaServer:
    """Starts the server, waits until it is healthy, stops it at exit.

    The child ends when its parent ends for any reason: it reads from a pipe that closes with the parent.

    Args:
        path: a GGUF file.
        context: context tokens per slot.
        slots: requests answered at the same time.
        threads: CPU threads; None: one per core.
        wait: seconds for loading the model.
    """

    def __init__(
        self, path: str | Path, *, context: int = 32768, slots: int = 2, threads: int | None = None,
        name: str | None = None, port: int | None = None, wait: float = 300.0,
    ) -> None:  # fmt: skip
        self.path = Path(path)
        if not self.path.is_file():
            raise InputError("no such GGUF file", file=self.path, field="lm.path")
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtra("xllamacpp", "local")
        self.context, self.slots, self.threads = context, slots, threads
        self.name = name or self.path.stem
        self.port = port or _free_port()
        self.wait = wait
        self._process: subprocess.Popen[bytes] | None = None
        self._log: Any = None

    @classmethod
    def of(cls, profile: Profile) -> LlamaServer:
        assert profile.path is not None
        return cls(
            profile.path, context=profile.context, slots=profile.slots, threads=profile.threads,
            name=profile.served_model,
        )  # fmt: skip

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        return None if self._process is None else self._process.pid

    def __enter__(self) -> LlamaServer:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start and wait.

        Raises:
            InputError: the server ended or was not healthy in time; the text has the end of its log.
        """
        told = {
            "path": str(self.path), "port": self.port, "context": self.context, "slots": self.slots,
            "threads": self.threads, "name": self.name,
        }  # fmt: skip
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in stop
        # A session of its own: Ctrl-C reaches the parent alone, which then stops the child.
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("llama_child.py")), json.dumps(told)],
            stdin=subprocess.PIPE, stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        atexit.register(self.stop)
        try:
            self._wait_until_healthy()
        except BaseException:
            self.stop()
            raise

    def _wait_until_healthy(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + self.wait
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise InputError(f"the llama.cpp server ended at once: {self._tail()}", file=self.path)
            if _healthy(self.port):
                return
            time.sleep(0.1)
        raise InputError(f"no llama.cpp server after {self.wait:.0f} s: {self._tail()}", file=self.path)

    def _tail(self) -> str:
        self._log.seek(0)
        return str(self._log.read()[-600:].decode("utf-8", "replace"))

    def stop(self) -> None:
        """End the child; safe to call twice."""
        process, self._process = self._process, None
        atexit.unregister(self.stop)
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)
        self._log.close()


def _healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
