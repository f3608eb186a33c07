"""Header chains as texts: their parts, parted by ``|``, within limits."""

from __future__ import annotations

MAX_PARTS = 12
"""Parts of a header chain; the innermost are kept."""

MAX_PART = 600
"""Characters of one part of a header chain; a longer text is cut."""

MAX_HEADER = 1200
"""Characters of all parts of a chain; outer parts beyond it are left out."""


def join_chain(parts: tuple[str, ...]) -> str:
    """A chain as one text, within the limits."""
    kept: list[str] = []
    length = 0
    for part in reversed(parts[-MAX_PARTS:]):
        length += len(part)
        if kept and length > MAX_HEADER:
            break
        kept.append(part)
    return " | ".join(reversed(kept))


def clean_part(text: str) -> str:
    """One part of a chain: its words in one line, without the mark between parts."""
    return " ".join(text[: 2 * MAX_PART].split()).replace("|", "/")[:MAX_PART].rstrip()
