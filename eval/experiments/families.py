"""Which family an experiment file belongs to, told without importing any program."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path


def qa_file(name: str) -> Path | None:
    """The path of an experiment of the RAG family (``family = "qa"``), by path or bundled name; else None."""
    return _file_of("qa", name)


def ir_file(name: str) -> Path | None:
    """The path of a retrieval experiment (``family = "retrieval"``), by path or bundled name; else None."""
    return _file_of("retrieval", name)


def _file_of(family: str, name: str) -> Path | None:
    """A file that is missing or not TOML is left to whoever reads it."""
    path = Path(name)
    if not name.endswith(".toml"):
        path = Path(str(resources.files(__package__) / f"{name}.toml"))
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8")).get("family")
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        return None
    return path if found == family else None
