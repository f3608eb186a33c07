"""Whether a value is a number; a number can only have the concepts of numbers."""

from __future__ import annotations

import re

from ..documents.numbers import is_placeholder

_WORDS = frozenset(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand "
    "million billion and no none nil half third quarter".split()
)
_PARTS = re.compile(r"[^\W\d_]+")


def is_number(value: str) -> bool:
    """Whether a value is a number: it has a digit, is a dash or "nil", or is a number in words."""
    if any(c.isdigit() for c in value) or is_placeholder(value):
        return True
    words = _PARTS.findall(value.lower())
    return all(word in _WORDS for word in words)
