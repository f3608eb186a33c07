"""What a user must know beside the results."""

from __future__ import annotations


def print_note(line: str) -> None:
    """Print a note on stderr, in one line."""
    from rich.console import Console

    Console(stderr=True).print(f"note: {line}", markup=False, highlight=False, soft_wrap=True)
