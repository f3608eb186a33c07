"""The version of a program's source: a hash of every module that it is made of.

Results are resumed only under the same code. Hashing the whole project would throw results away for a
changed table; hashing one file would reuse them after a changed fusion. So the modules are found that
the program's own module imports, directly or not, inside abduce and inside the program's own package.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import version
from pathlib import Path
from typing import Any

LIBRARIES = ("dspy",)
"""Packages that count by their installed version, not by their source."""


def code_version(*parts: Any) -> str:
    """The version, 16 hexadecimal digits, of the source behind some objects; see :class:`Sources`."""
    return Sources().version(*parts)


class Sources:
    """Source files read so far; many versions are asked of one."""

    def __init__(self) -> None:
        self._modules = _Modules()
        self._read: dict[str, tuple[bytes, list[str]]] = {}

    def version(self, *parts: Any) -> str:
        """The version, 16 hexadecimal digits, of the source behind some objects.

        Args:
            parts: classes, functions, instances, modules, or the names of modules.

        Each part's module is followed through its imports, inside functions too, within abduce and within
        the part's own top-level package; the vocabularies are part of it. A module without source
        (``__main__`` in a notebook, an extension) counts by its name, one of :data:`LIBRARIES` by the
        library's version.
        """
        names = {_module_name(part) for part in parts}
        own = __name__.partition(".")[0]
        roots = {name.partition(".")[0] for name in names} - set(LIBRARIES) | {own}
        seen: dict[str, bytes] = {
            name: _installed(name).encode() for name in names if name.partition(".")[0] in LIBRARIES
        }
        queue = sorted(names)
        while queue:
            name = queue.pop()
            if name not in seen and name.partition(".")[0] in roots:
                seen[name], imports = self._module(name)
                queue.extend(imports)
        vocabularies = self._modules.source(f"{own}.signatures.vocabularies")
        if vocabularies is not None:
            seen |= {path.name: path.read_bytes() for path in vocabularies.parent.glob("*.toml")}
        digest = hashlib.blake2b(digest_size=8)
        for name in sorted(seen):
            digest.update(f"{name}\0{len(seen[name])}\0".encode())
            digest.update(seen[name])
        return digest.hexdigest()

    def _module(self, name: str) -> tuple[bytes, list[str]]:
        """A module's source and the names it imports."""
        if name not in self._read:
            path = self._modules.source(name)
            found = (
                (b"", []) if path is None else (path.read_bytes(), list(self._modules.imports(name, path)))
            )
            self._read[name] = found
        return self._read[name]


def _installed(name: str) -> str:
    return version(name.partition(".")[0])


def _module_name(part: Any) -> str:
    if isinstance(part, str):
        return part
    name = getattr(part, "__module__", None) or getattr(part, "__name__", None)
    return name if isinstance(name, str) else type(part).__module__


class _Modules:
    """Finds the files of modules without importing them."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    def source(self, name: str) -> Path | None:
        """A module's file; None where it has no source or there is no such module."""
        spec = self._spec(name)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            return None
        return Path(spec.origin)

    def _spec(self, name: str) -> ModuleSpec | None:
        if name not in self._specs:
            self._specs[name] = self._find(name)
        return self._specs[name]

    def _find(self, name: str) -> ModuleSpec | None:
        parent, _, _ = name.rpartition(".")
        if name == "__main__":
            return None
        if not parent:
            return importlib.util.find_spec(name)
        above = self._spec(parent)
        if above is None or above.submodule_search_locations is None:
            return None
        found = PathFinder.find_spec(name, list(above.submodule_search_locations))
        if found is None and "." not in parent:
            found = importlib.util.find_spec(name)  # an editable install maps each package by a finder
        return found

    def imports(self, name: str, path: Path) -> Iterator[str]:
        """The names a module imports, made absolute; ``from x import y`` gives x and, if a module, x.y."""
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    above = package.rsplit(".", node.level - 1)[0]
                    base = f"{above}.{base}" if base else above
                yield base
                yield from (
                    f"{base}.{alias.name}"
                    for alias in node.names
                    if self.source(f"{base}.{alias.name}") is not None
                )
