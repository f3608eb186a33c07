"""Compiled program states: JSON files, read and fingerprinted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...data.folder import file_fingerprint
from ...retrievers.errors import InputError


def state_fingerprint(path: Path) -> str:
    """A digest of a compiled state; another state never reuses results.

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
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise InputError(f"cannot be read: {e.strerror}", file=path) from e
    except ValueError as e:
        raise InputError(f"is not JSON: {e}", file=path) from e
    try:
        program.load_state(state)
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise InputError(str(e), file=path) from e
