"""The version of the source behind results: one hash of signatures, retrievers and programs.

Results are reused only with the same code. A change in a command or table keeps them; a change in the code of
methods does not.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOMS = ("signatures", "retrievers", "programs")


def code_version(*parts: Any) -> str:
    """The version, 16 hexadecimal digits, of these packages and of code outside abduce.

    Args:
        parts: classes, functions, instances, modules or module names behind the results. If one is not
            abduce's, every source file of its top-level package counts; one without source (``__main__`` in a
            notebook, an extension) counts by name.
    """
    own = __name__.partition(".")[0]
    digest = hashlib.blake2b(own_version().encode(), digest_size=8)
    for name in sorted({_module(part).partition(".")[0] for part in parts} - {own, "dspy"}):
        digest.update(f"{name}\0".encode())
        for path in _sources(name):
            digest.update(path.read_bytes())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def own_version() -> str:
    """The version of abduce's methods and of DSPy."""
    root = __name__.partition(".")[0]
    digest = hashlib.blake2b(f"dspy {version('dspy')}".encode(), digest_size=8)
    for room in ROOMS:
        for path in _sources(f"{root}.{room}", "*.py", "*.toml"):
            digest.update(f"{room}/{path.name}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources(module: str, *patterns: str) -> Iterator[Path]:
    """The source files of a package or module; empty without source."""
    spec = None if module == "__main__" else importlib.util.find_spec(module)
    for folder in () if spec is None else spec.submodule_search_locations or ():
        for pattern in patterns or ("*.py",):
            yield from sorted(Path(folder).rglob(pattern))
    if spec is not None and spec.submodule_search_locations is None and spec.origin is not None:
        path = Path(spec.origin)
        if path.suffix == ".py":
            yield path


def _module(part: Any) -> str:
    if isinstance(part, str):
        return part
    name = getattr(part, "__module__", None) or getattr(part, "__name__", None)
    return name if isinstance(name, str) else type(part).__module__
