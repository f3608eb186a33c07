"""The version of the source that makes results: one hash of signatures, retrievers and programs.

Results are resumed only under the same code. A change in a command or a table throws nothing away; a change
in anything that a method is made of does.
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
    """The version, 16 hexadecimal digits, of the rooms above and of what stands outside the package.

    Args:
        parts: classes, functions, instances, modules or names of modules that make the results. Of one that
            is not abduce's, every source file of its top-level package counts; one without source
            (``__main__`` in a notebook, an extension) counts by its name.
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
    """The version of abduce's own methods, with DSPy's."""
    root = __name__.partition(".")[0]
    digest = hashlib.blake2b(f"dspy {version('dspy')}".encode(), digest_size=8)
    for room in ROOMS:
        for path in _sources(f"{root}.{room}", "*.py", "*.toml"):
            digest.update(f"{room}/{path.name}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources(module: str, *patterns: str) -> Iterator[Path]:
    """The source files of a package, or the one of a module; none where it has no source."""
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
