"""At least 1,000 hostile inputs over every reader: each is read or refused in one line, in time, in bounds."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import hostile_inputs
import pytest
from hostile_inputs import names

pytestmark = pytest.mark.hostile

SECONDS = 10.0
"""How long one input may take, in seconds of its process: a busy machine makes no input hostile."""

WAIT = 60.0
"""How long an answer is waited for; what waits for a pipe or a socket takes no time of its process."""

MEGABYTES = 1024
"""How much memory a process may have used, the libraries included."""

WORKERS = 2


class Worker:
    """A process of ``hostile_worker.py``; it is started again after an input that hung or ended it."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.lines: queue.Queue[str] = queue.Queue()

    def start(self) -> None:
        command = [sys.executable, str(Path(hostile_inputs.__file__).with_name("hostile_worker.py"))]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.lines = queue.Queue()
        threading.Thread(target=self._listen, args=(self.process, self.lines), daemon=True).start()
        assert json.loads(self.lines.get(timeout=120)) == {"ready": True}

    @staticmethod
    def _listen(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    def ask(self, case: tuple[str, str]) -> dict[str, Any]:
        if self.process is None:
            self.start()
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        try:
            placed = self.lines.get(timeout=120)
            if not placed:
                self.stop()
                return {"end": "the process ended while its input was made"}
            assert json.loads(placed) == {"placed": True}
            line = self.lines.get(timeout=WAIT)
        except queue.Empty:
            self.stop()
            return {"end": f"hangs over {WAIT:g} s"}
        if not line:
            self.stop()
            return {"end": "the process ended"}
        answer: dict[str, Any] = json.loads(line)
        if answer["seconds"] > SECONDS:
            answer |= {"end": f"took {answer['seconds']:.0f} s"}
        if answer["megabytes"] > MEGABYTES and answer["grew"]:  # not by making the input
            answer |= {"end": f"took {answer['megabytes']:,} MB"}
        if answer["megabytes"] > MEGABYTES // 2:
            self.stop()  # the highest mark of a process never falls: what follows starts afresh
        return answer

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = None


def run(cases: list[tuple[str, str]]) -> dict[tuple[str, str], dict[str, Any]]:
    """What came of each case, on a few processes."""
    todo: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
    for case in cases:
        todo.put(case)
    found: dict[tuple[str, str], dict[str, Any]] = {}

    def work() -> None:
        worker = Worker()
        try:
            while True:
                case = todo.get_nowait()
                found[case] = worker.ask(case)
        except queue.Empty:
            return
        finally:
            worker.stop()

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_every_input_is_read_or_refused_in_one_line() -> None:
    cases = list(names())
    assert len(set(cases)) == len(cases) >= 1_000
    began = time.monotonic()
    found = run(cases)
    assert len(found) == len(cases)
    wrong = {case: answer for case, answer in found.items() if answer["end"] not in ("read", "refused")}
    ends = [answer["end"] for answer in found.values()]
    print(
        f"\n{len(cases):,} inputs in {time.monotonic() - began:.0f} s: {ends.count('read'):,} read, "
        f"{ends.count('refused'):,} refused, {len(wrong):,} wrong"
    )
    assert not wrong, "\n".join(f"{case}: {answer}" for case, answer in list(wrong.items())[:40])


def test_the_sound_files_are_no_straw_men() -> None:
    """Most readers read their sound file: a damaged copy of it then reaches deep."""
    found = run([case for case in names() if case[1] == "damaged: 0"])
    read = [case for case, answer in found.items() if answer["end"] == "read"]
    assert len(read) >= 16, read
