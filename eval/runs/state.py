"""Compiled program states: JSON files, read and fingerprinted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...data.folder import file_fingerprint
from ...retrievers.errors import InputError
from ...retrievers.outside import read_json

MAX_STATE = 64 * 2**20
"""Bytes of a state; demonstrations with their contexts are the larger part."""


def state_fingerprint(path: Path) -> str:
    """A digest of a compiled state; results of another state are never reused.

    Raises:
        InputError: the file is not there.
    """
    if not path.is_file():
        raise InputError("no such program state", file=path)
    return file_fingerprint(path)


def load_state(program: Any, path: Path) -> None:
    """Load a compiled state into a program.

    Raises:
        InputError: the file is missing, not JSON, or was made for another program or signature.
    """
    state = read_json(path, MAX_STATE)
    if not isinstance(state, dict):
        raise InputError("is no program state: not a JSON object", file=path)
    try:
        program.load_state(state)
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise InputError(str(e), file=path) from e
