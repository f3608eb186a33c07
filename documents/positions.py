"""Blocks that a page puts at places of their own (``position: absolute``), as pieces with places."""

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
    r"(?:^|[;{\s])(left|top|bottom|width|height|text-align|font-size|position)\s*:\s*([^;]{1,60})",
    re.IGNORECASE,
)
_RULE = re.compile(r"\.([\w-]{1,80})\s*\{([^{}]{0,500})\}")
_SIZE = re.compile(r"\s*(-?\d{1,7}(?:\.\d{0,9})?)\s*(pt|px|em|rem|in|mm|cm|%)?", re.IGNORECASE)
_POINTS = {"pt": 1.0, "px": 0.75, "em": 10.0, "rem": 10.0, "in": 72.0, "mm": 2.835, "cm": 28.35, "%": 6.0}
_LETTER = 5.0
"""Points that a character takes, about."""

Style = dict[str, str]


def styles_of(sheet: str) -> dict[str, Style]:
    """What a style sheet says of places, by class."""
    found: dict[str, Style] = {}
    for name, rule in _RULE.findall(sheet):
        if len(found) >= MAX_CLASSES:
            break
        if said := _said(rule):
            found.setdefault(name, {}).update(said)
    return found


def _said(text: str) -> Style:
    return {name.lower(): value.strip().lower() for name, value in _PROPERTY.findall(text)}


def style_of(element: Any, classes: Mapping[str, Style]) -> Style:
    """What an element and its classes say of its place; empty where it is not put anywhere."""
    own = element.get("style") or ""
    named = element.get("class") if classes else None
    style: Style = {}
    for name in (named or "").split()[:20]:
        style |= classes.get(name, {})
    if "left" in own or "top" in own or "bottom" in own:
        style |= _said(own)
    placed = "left" in style and ("top" in style or "bottom" in style)
    return style if placed and style.get("position", "absolute") in ("absolute", "fixed") else {}


@dataclass
class Placed:
    """A positioned element that is open: where it stands, and whether others stand in it."""

    element: Any
    style: Style
    x: float
    y: float
    holds: bool = False

    @classmethod
    def inside(cls, element: Any, style: Style, around: Placed | None) -> Placed:
        """A positioned element, its place counted from the page's corner."""
        y = _points(style["top"]) if "top" in style else -_points(style["bottom"])
        return cls(
            element,
            style,
            _points(style["left"]) + (around.x if around else 0.0),
            y + (around.y if around else 0.0),
        )

    def piece(self) -> Piece | None:
        """Its text with its place."""
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
