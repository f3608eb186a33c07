"""Ids of concepts, with and without a namespace prefix."""

from __future__ import annotations

import re
from functools import lru_cache

_NAMESPACE = re.compile(r"^[A-Za-z][\w.-]*:(?=[A-Za-z])")


@lru_cache(maxsize=100_000)
def strip_namespace(id_: str) -> str:
    """``us-gaap:Assets`` becomes ``Assets``; an id without a prefix is unchanged."""
    return _NAMESPACE.sub("", id_)
