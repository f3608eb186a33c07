"""Absolutely positioned blocks of a page (``position: absolute``), as pieces with positions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .flatten import flatten
from .placed import Piece

MAX_CLASSES = 20_000
"""Classes of a style sheet that are looked at."""

_PROPERTY = re.compile(
    r"(?:^|[;{\s])(left|right|top|bottom|width|height|text-align|font-size|position|transform)\s*:\s*([^;]{1,80})",
    re.IGNORECASE,
)
_RULE = re.compile(r"([^{}]{1,500})\{([^{}]{0,500})\}")
_NAME = re.compile(r"[.#]?[A-Za-z_][\w-]{0,80}")
_MOVED = re.compile(
    r"translate(?P<axis>[xy]?)(?:3d)?\(\s*(?P<a>[^,)]{1,20})(?:,\s*(?P<b>[^,)]{1,20}))?"
    r"|matrix\((?:[^,)]{1,20},\s*){4}(?P<x>[^,)]{1,20}),\s*(?P<y>[^,)]{1,20})\)"
)
_SIZE = re.compile(r"\s*(-?\d{1,7}(?:\.\d{0,9})?)\s*(pt|px|em|rem|in|mm|cm|%)?", re.IGNORECASE)
_POINTS = {"pt": 1.0, "px": 0.75, "em": 10.0, "rem": 10.0, "in": 72.0, "mm": 2.835, "cm": 28.35, "%": 6.0}
_LETTER = 5.0
"""Points that a character takes, about."""

PAGE = 612.0
"""Points across a page that does not say its width."""

Style = dict[str, str]

INLINE = frozenset(("span", "a", "b", "i", "em", "strong", "font"))
"""Elements that a page may put at places of their own, as it may blocks, where they say so."""


def styles_of(sheet: str) -> dict[str, Style]:
    """The positions in a style sheet, by class (``.a``), id (``#a``) and element name."""
    found: dict[str, Style] = {}
    for selectors, rule in _RULE.findall(sheet):
        if len(found) >= MAX_CLASSES:
            break
        if said := _said(rule):
            for selector in selectors.split(","):
                if names := _NAME.findall(selector.strip().rpartition(" ")[2]):
                    found.setdefault(names[-1], {}).update(said)
    return found


def _said(text: str) -> Style:
    return {name.lower(): value.strip().lower() for name, value in _PROPERTY.findall(text)}


def style_of(element: Any, name: str, classes: Mapping[str, Style]) -> Style:
    """The position of an element called ``name``, from its classes and its id; empty if it has none."""
    own = element.get("style") or ""
    style: Style = {}
    if classes:
        named = [f".{c}" for c in (element.get("class") or "").split()[:20]]
        for key in (name, *named, f"#{element.get('id')}"):
            style |= classes.get(key, {})
    if any(word in own for word in _PLACES):
        style |= _said(own)
    moved = "translate" in style.get("transform", "") or "matrix" in style.get("transform", "")
    across, down = ("left" in style or "right" in style), ("top" in style or "bottom" in style)
    default = "absolute" if name not in INLINE else ""
    placed = (across and down) or moved
    return style if placed and style.get("position", default) in ("absolute", "fixed") else {}


_PLACES = ("left", "right", "top", "bottom", "transform")


@dataclass
class Placed:
    """An open positioned element: its position, and whether it contains others."""

    element: Any
    style: Style
    x: float
    y: float
    holds: bool = False

    @classmethod
    def inside(cls, element: Any, style: Style, around: Placed | None) -> Placed:
        """A positioned element, with its position relative to the page's corner."""
        x, y = _points(style.get("left", "")), _points(style.get("top", ""))
        if "top" not in style:
            y = -_points(style.get("bottom", ""))
        if "left" not in style and "right" in style:
            wide = (around and _points(around.style.get("width", ""))) or PAGE
            x = wide - _points(style["right"]) - _points(style.get("width", ""))
        if match := _MOVED.search(style.get("transform", "")):
            axis = match["axis"]
            x += _points(match["x"] or (match["a"] if axis != "y" else "") or "")
            y += _points(match["y"] or (match["a"] if axis == "y" else match["b"]) or "")
        return cls(element, style, x + (around.x if around else 0.0), y + (around.y if around else 0.0))

    def piece(self) -> Piece | None:
        """Its text with its position."""
        flat = flatten(self.element)
        if not flat.text:
            return None
        size = _points(self.style.get("font-size", "")) or 10.0
        wide = _points(self.style.get("width", ""))
        letters = len(flat.text) * _LETTER * size / 10.0
        x0, x1 = self.x, self.x + (wide or letters)
        piece = Piece(flat.text, x0, x1, self.y, self.y + size, tuple(flat.marks), flat.plain)
        if not piece.cell.figure or letters >= wide:
            return piece
        side = self.style.get("text-align", "")
        if side in ("right", "end"):
            x0 = x1 - letters
        elif side in ("left", "start"):
            x1 = x0 + letters
        return Piece(flat.text, x0, x1, self.y, self.y + size, tuple(flat.marks), flat.plain)


def _points(text: str) -> float:
    match = _SIZE.match(text)
    return float(match[1]) * _POINTS[(match[2] or "px").lower()] if match else 0.0
