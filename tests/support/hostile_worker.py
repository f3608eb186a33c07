"""A process that gives hostile inputs to readers and tells what came of each.

It reads lines of JSON (reader, input) and answers each with one: ``read`` or ``refused``, or what went wrong. An
audit hook notes every connection, every program that is started and every file that is written elsewhere than
in the case's own folder. What was noted, and how much memory was used, stands in the answer.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from hostile_inputs import place
from hostile_readers import BY_NAME

_STARTS = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "pty.spawn",
    "ctypes.dlopen.evil",
)
_CHANGES = (
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.symlink",
    "os.link",
    "shutil.rmtree",
    "os.chmod",
)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


WARM = (
    "abduce.data.corpora", "abduce.eval.experiments.files", "abduce.eval.runs.run", "abduce.eval.runs.state",
    "abduce.tagging.precedents", "openpyxl", "lxml.html",
)  # fmt: skip
"""Imported before anything is watched: what an import does is not the input's doing."""


class Watch:
    """What the process did that it should not."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.seen: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event == "socket.connect" or event == "socket.getaddrinfo":
            self.seen.append(f"{event} {arguments[1:]}")
        elif event.startswith(_STARTS):
            self.seen.append(f"{event} {arguments[:2]}")
        elif event == "open" and isinstance(arguments[0], str | bytes) and arguments[2] & _WRITES:
            self._written("open", arguments[0])
        elif event in _CHANGES:
            for path in arguments[:2]:
                if isinstance(path, str | bytes | os.PathLike):
                    self._written(event, path)

    def _written(self, event: str, path: Any) -> None:
        assert self.folder is not None
        full = os.path.abspath(os.fsdecode(path))
        if not full.startswith((self.folder, "/dev/null")) and "__pycache__" not in full:
            self.seen.append(f"{event} {full}")


def judge(name: str, case: str, watch: Watch, placed: Callable[[], None]) -> dict[str, Any]:
    """Give one input to one reader; ``placed`` is called once the input is made."""
    from abduce.retrievers.errors import InputError

    reader = BY_NAME[name]
    folder = Path(tempfile.mkdtemp(prefix="abduce-hostile-"))
    home = os.getcwd()
    answer: dict[str, Any] = {}
    try:
        path = place(reader, case, folder)
        made = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        placed()
        watch.folder, watch.seen = str(folder), []
        began = time.process_time()
        try:
            reader.read(path)
            answer["end"] = "read"
        except (InputError, ValueError) as error:
            said = str(error)
            answer["end"] = "refused"
            if (
                not (reader.plain or isinstance(error, InputError))
                or type(error).__name__ == "UnicodeDecodeError"
            ):
                answer |= {"end": "traceback", "said": traceback.format_exc()[-1500:]}
            elif "\n" in said or "\x1b" in said or len(said) > 4_000:
                answer |= {"end": "not a line", "said": said[:500]}
        except BaseException:  # noqa: BLE001 - whatever it is, it is told
            answer |= {"end": "traceback", "said": traceback.format_exc()[-1500:]}
        watch.folder = None
        answer["seconds"] = time.process_time() - began
        answer["grew"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > made
        if watch.seen:
            answer |= {"end": "did more", "said": "; ".join(watch.seen)[:500]}
    finally:
        watch.folder = None
        os.chdir(home)
        shutil.rmtree(folder, ignore_errors=True)
    answer["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return answer


def main() -> None:
    watch = Watch()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing but answers on the pipe
    for module in WARM:
        importlib.import_module(module)
    sys.addaudithook(watch)
    print(json.dumps({"ready": True}), file=out, flush=True)

    def tell(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=out, flush=True)

    for line in sys.stdin:
        name, case = json.loads(line)
        tell(judge(name, case, watch, lambda: tell({"placed": True})))


if __name__ == "__main__":
    main()
