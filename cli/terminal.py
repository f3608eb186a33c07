"""A console that texts of documents, models and file names cannot control."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich import console
from rich.segment import Segment

from ..signatures.outside import plain


class Console(console.Console):
    """A rich console that shows control characters and escape sequences of a text as U+FFFD. Its own styles
    and progress bars stay.
    """

    def render(self, renderable: Any, options: console.ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else plain(segment.text)
            yield segment if text == segment.text else Segment(text, segment.style, segment.control)
