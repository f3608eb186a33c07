"""The child process of :class:`abduce.lm.llama.LlamaServer`; it ends when its input closes.

It is run by path, so it imports nothing else of abduce.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def serve(told: dict[str, Any]) -> None:
    """Serve a GGUF file until standard input closes, which happens when the parent ends."""
    import xllamacpp as llama

    params = llama.CommonParams()
    params.model.path = told["path"]
    params.model_alias = {told["name"]}
    params.hostnames, params.port = ["127.0.0.1"], told["port"]
    params.n_parallel = told["slots"]
    params.n_ctx = told["context"] * told["slots"]
    if told["threads"]:
        params.cpuparams.n_threads = told["threads"]
        params.cpuparams_batch.n_threads = told["threads"]
    server = llama.Server(params)
    print("serving on", server.listening_address, flush=True)
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
