"""A failure in a line: what ends one item of a run."""

from __future__ import annotations

import traceback
from pathlib import Path


def describe(error: Exception) -> dict[str, str]:
    """An exception as ``type``, ``message`` (one line) and ``at`` (file and line where it was raised)."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f"{'/'.join(Path(frames[-1].filename).parts[-2:])}:{frames[-1].lineno}" if frames else ""
    return {"type": type(error).__name__, "message": " ".join(str(error).split())[:2000], "at": at}
