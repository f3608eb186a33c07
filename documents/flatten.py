"""The visible text of an HTML element, with the places of inline-XBRL numbers in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import Any

from ..signatures.letters import tidy
from .grid import Mark

BLOCKS = frozenset(
    "address article aside blockquote body br caption center dd details div dl dt fieldset figure footer "
    "form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tbody td tfoot th thead title tr "
    "ul".split()
)
INVISIBLE = frozenset("script style head noscript template svg object iframe".split())
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_LENGTH = re.compile(
    r"(?P<name>padding-left|margin-left|text-indent|padding)\s*:\s*(?P<value>[^;]+)", re.IGNORECASE
)
_SIZE = re.compile(r"(-?\d+(?:\.\d+)?)\s*(pt|px|em|rem|in|%)?", re.IGNORECASE)
_POINTS = {"pt": 1.0, "px": 0.75, "em": 10.0, "rem": 10.0, "in": 72.0, "%": 2.0}


def name_of(element: Any) -> str:
    """The lower-case local name of an element; empty for comments and the like."""
    tag = element.tag
    return _local(tag) if isinstance(tag, str) else ""


@lru_cache(maxsize=1024)
def _local(tag: str) -> str:
    return tag.rpartition("}")[2].rpartition(":")[2].lower()


def attribute(element: Any, name: str) -> str:
    """An attribute by its name in any case (HTML parsers lower-case, XML parsers do not)."""
    value = element.get(name)
    return str(value if value is not None else element.get(name.lower()) or "")


def is_hidden(element: Any) -> bool:
    """Whether an element declares itself hidden."""
    style = element.get("style")
    return (style is not None and _hides(style)) or element.get("hidden") is not None


@lru_cache(maxsize=4096)
def _hides(style: str) -> bool:
    return _HIDDEN.search(style) is not None


def indent_of(element: Any) -> float:
    """The indent of a table cell's text, in points (padding, margin and text-indent)."""
    inner = (child for child in element if name_of(child) in ("div", "p"))
    return round(sum(_moves(style) for node in (element, *inner) if (style := node.get("style"))), 1)


@lru_cache(maxsize=4096)
def _moves(style: str) -> float:
    """The indent that a style gives its text, in points."""
    total = 0.0
    for match in _LENGTH.finditer(style):
        sizes = _SIZE.findall(match["value"])
        if match["name"].lower() == "padding":
            sizes = sizes[3:4] if len(sizes) == 4 else sizes[1:2]
        if sizes:
            total += float(sizes[0][0]) * _POINTS[sizes[0][1].lower() or "px"]
    return total


class Flat:
    """Collects text with white space collapsed.

    ``text`` is what a reader sees, ``plain`` the same without superscripts, ``marks`` the tagged numbers
    with their places in ``text``.
    """

    def __init__(self) -> None:
        self._text: list[str] = []
        self._starts: list[int] = []
        self._marked: set[Mark] = set()
        self._plain: list[str] = []
        self._length = 0
        self._gap = False
        self._plain_gap = False
        self.marks: list[Mark] = []
        self.lead = 0
        """Spaces that do not break before the first word: how far a page moves it in."""

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def plain(self) -> str:
        return "".join(self._plain).strip()

    def space(self) -> None:
        """A boundary: the next text is a separate word."""
        self._gap = self._plain_gap = True

    def add(self, raw: str | None, superscript: bool = False) -> None:
        if not raw:
            return
        if not raw.isascii():
            raw = tidy(raw)
            if not self._length:
                self.lead += sum(c in "\u00a0\u2002\u2003" for c in raw[: len(raw) - len(raw.lstrip())])
            if not raw:
                return
        words = raw.split()
        if raw[0].isspace():
            self._gap = self._plain_gap = True
        if not words:
            return
        text = " ".join(words)
        lead = " " if self._gap and self._length else ""
        self._text.append(lead + text)
        self._starts.append(self._length)
        self._length += len(lead) + len(text)
        if not superscript:
            self._plain.append((" " if self._plain_gap and self._plain else "") + text)
            self._plain_gap = False
        self._gap = False
        if raw[-1].isspace():
            self._gap = self._plain_gap = True

    def mark(self, element: Any, start: int) -> None:
        """Record that the text from ``start`` on was tagged."""
        end = self._length
        first = max(bisect_right(self._starts, start) - 1, 0)
        text = "".join(self._text[first:])[start - self._starts[first] :] if end > start else ""
        start += len(text) - len(text.lstrip())
        made = Mark(attribute(element, "name"), start, end, attribute(element, "unitRef"))
        if end > start and made not in self._marked:  # one number may be tagged alike for two periods
            self.marks.append(made)
            self._marked.add(made)

    @property
    def length(self) -> int:
        return self._length


def flatten(
    element: Any, into: Flat | None = None, skip_tables: bool = True, stop: Any | None = None
) -> Flat:
    """The visible text of an element, or of its content before ``stop``.

    Tables inside it are left out where ``skip_tables``.
    """
    flat = into or Flat()
    _walk(element, flat, skip_tables, stop)
    return flat


def _walk(root: Any, flat: Flat, skip_tables: bool, stop: Any | None) -> None:
    flat.add(root.text)
    stack: list[tuple[Any, Any, bool, int | None]] = [(root, iter(root), False, None)]
    while stack:
        parent, children, raised, start = stack[-1]
        child = next(children, None)
        if child is not None and child is stop:
            return
        if child is None:
            stack.pop()
            if start is not None:
                flat.mark(parent, start)
            if stack:
                if name_of(parent) in BLOCKS:
                    flat.space()
                flat.add(parent.tail, stack[-1][2])
            continue
        name = name_of(child)
        if not name or name in INVISIBLE or is_hidden(child) or (skip_tables and name == "table"):
            if name in BLOCKS:
                flat.space()
            flat.add(child.tail, raised)
            continue
        if name in BLOCKS:
            flat.space()
        style = (child.get("style") or "").replace(" ", "")
        lifted = raised or name == "sup" or "vertical-align:super" in style
        begins = flat.length if name == "nonfraction" else None
        flat.add(child.text, lifted)
        stack.append((child, iter(child), lifted, begins))


def spaced_text(element: Any) -> tuple[str, tuple[Mark, ...]]:
    """The text of an element with its spaces and line breaks, and the tagged numbers in it."""
    parts: list[str] = []
    marks: list[Mark] = []
    length = 0

    def add(text: str | None) -> None:
        nonlocal length
        if text:
            parts.append(text)
            length += len(text)

    def walk(node: Any) -> None:
        name = name_of(node)
        if not name or name in INVISIBLE or is_hidden(node):
            return
        start = length
        add("\n" if name == "br" else node.text)
        for child in node:
            walk(child)
            add(child.tail)
        if name == "nonfraction" and length > start:
            marks.append(Mark(attribute(node, "name"), start, length, attribute(node, "unitRef")))

    walk(element)
    return "".join(parts), tuple(marks)
