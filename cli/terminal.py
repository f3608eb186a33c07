"""What goes to a terminal: texts of documents, models and file names cannot steer it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich import console
from rich.segment import Segment

from ..signatures.outside import plain


class Console(console.Console):
    """A rich console on which control characters and escape sequences of a text are shown as U+FFFD; what it
    draws itself (styles, progress bars) stays."""

    def render(self, renderable: Any, options: console.ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else plain(segment.text)
            yield segment if text == segment.text else Segment(text, segment.style, segment.control)
