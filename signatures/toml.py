"""TOML files by name, and the complaints about them in one plain line."""

from __future__ import annotations

import re
import tomllib
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .outside import Unreadable, regular_text

if TYPE_CHECKING:
    from pydantic import ValidationError

UNKNOWN = "no such setting"

MAX_PARTS = 64
"""Parts of a dotted key."""


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text.

    Raises:
        ValueError: it is not TOML, or has keys of too many parts (each would cost the ones before it).
    """
    if any(re.split("[=#\\]]", line, maxsplit=1)[0].count(".") > MAX_PARTS for line in text.splitlines()):
        raise ValueError(f"is not read: a key has more than {MAX_PARTS} parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise ValueError(f"is not TOML: {e}") from e
    except RecursionError:
        raise ValueError("is not TOML: it is nested too deeply") from None


def problem(error: ValidationError) -> tuple[str, str]:
    """The field (dotted; empty: the whole) and the message of pydantic's first complaint.

    A validator of ours that checks several fields names the field itself: ``"value: is empty"``.
    """
    first = error.errors(include_input=False, include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return field, UNKNOWN
    message = str(first["msg"]).removeprefix("Value error, ")
    head, colon, rest = message.partition(": ")
    if not field and colon and head.isidentifier():
        return head, rest
    return field, message


def one_line(error: ValidationError) -> str:
    """The field and the message of pydantic's first complaint."""
    field, message = problem(error)
    if message == UNKNOWN:
        return f"no setting {field!r}"
    return f"{field}: {message}" if field else message


def named_text(name: str, folder: Traversable, what: str) -> str:
    """The text of a bundled TOML file by its name, or of any by its path (it ends in ``.toml``).

    Args:
        name: ``us-gaap``, or a path.
        folder: where the bundled files are.
        what: what such a file is called ("schema").

    Raises:
        ValueError: there is none.
    """
    path = Path(name)
    if path.suffix == ".toml":
        try:
            return regular_text(path)
        except Unreadable as e:
            if str(e).startswith("no such file"):
                raise ValueError(f"no {what} file {name}") from None
            raise ValueError(f"the {what} file {name} {e}") from None
    found = folder / f"{name}.toml"
    if not found.is_file():
        known = sorted(p.name.removesuffix(".toml") for p in folder.iterdir() if p.name.endswith(".toml"))
        raise ValueError(f"no {what} {name!r}; there are {', '.join(known)}")
    return found.read_text(encoding="utf-8")
