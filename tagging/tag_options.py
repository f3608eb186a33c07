"""What may be asked for beside the facts when they are tagged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict


class TagOptions(TypedDict, total=False):
    """The keyword arguments of :meth:`~abduce.tagging.tagger.Tagger.tag`, which says what they mean."""

    contexts: str | Path | None
    skip_bad: bool
    gold: bool
    traces: bool
    decided: str | Path | Mapping[str, str] | None
    company: str | None
